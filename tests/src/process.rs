//! `Process`: a child of a test that talks in lines and may be killed at any moment.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::{self, JoinHandle};

/// A child process. Killed when it is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    reader: Option<JoinHandle<()>>,
}

impl Process {
    /// Starts one; `on_line` is given each line of its output, in a thread of its own.
    ///
    /// # Panics
    ///
    /// When it can't be started.
    #[must_use]
    pub fn start(program: &str, arguments: &[&str], mut on_line: impl FnMut(String) + Send + 'static) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{program} does not start: {error}"));
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("its output is piped"));
        let read = move || BufReader::new(output).lines().map_while(Result::ok).for_each(&mut on_line);
        Self { child, input, reader: Some(thread::spawn(read)) }
    }

    /// Sends it a line.
    ///
    /// # Panics
    ///
    /// When it has ended.
    pub fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("open until the end");
        input.write_all(format!("{line}\n").as_bytes()).expect("the process reads its input");
    }

    /// Waits until it has ended by itself, and every line was handed on.
    ///
    /// # Panics
    ///
    /// When it failed.
    pub fn wait(mut self) {
        let status = self.child.wait().expect("it is our child");
        self.read_on();
        assert!(status.success(), "a process failed: {status}");
    }

    /// Kills it with SIGKILL; after that every line that it got out was handed on.
    pub fn kill(self) {
        drop(self);
    }

    fn read_on(&mut self) {
        let ended = self.reader.take().map(JoinHandle::join);
        assert!(thread::panicking() || ended.is_none_or(|ended| ended.is_ok()), "a reader panicked");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended already can't be killed, which is as well.
        drop(self.child.kill());
        drop(self.child.wait());
        self.read_on();
    }
}
