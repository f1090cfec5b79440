//! `Server`: a cluster of a test's own, on a free port of the loopback interface, in a temporary folder. It can be
//! stopped, killed, started again, and have a standby.

use super::install::Install;
use super::sql::Sql;
use std::fmt::Write;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Below the ports that the kernel gives to outgoing connections: a client that keeps asking for a server that is down
/// would at last be given the very port, talk to itself, and keep the server out.
const PORTS: std::ops::Range<u16> = 20_000..32_000;
const PASSWORD: &str = "freehold";
const PAUSE: Duration = Duration::from_millis(20);
/// A minute, in pauses.
const PATIENCE: u32 = 3_000;

/// Stops the server and removes its folder when its input ends, however the test ended.
const GUARD: &str = r#"
read -r _
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -e "$1/data/postmaster.pid" ] || break
    sleep 0.1
done
[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null
rm -rf "$1"
"#;

/// How a server is stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// Clients are thrown out, transactions rolled back, everything written.
    Fast,
    /// At once, as in a crash: the next start recovers from the log.
    Immediate,
}

/// A server. Stopped and removed when it is dropped, and also when the test's process dies.
#[derive(Debug)]
pub struct Server {
    install: Install,
    folder: PathBuf,
    port: u16,
    postmaster: Option<Child>,
    guard: Child,
}

impl Server {
    /// Starts a new and empty one.
    ///
    /// # Panics
    ///
    /// When PostgreSQL is not installed, or does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// The same, with settings as in `postgresql.conf`.
    ///
    /// # Panics
    ///
    /// When PostgreSQL is not installed, or does not start.
    #[must_use]
    pub fn with(settings: &[(&str, &str)]) -> Self {
        let mut server = Self::stopped();
        let (data, password) = (server.data(), server.folder.join("password"));
        fs::write(&password, PASSWORD).expect("a file is written");
        server.install.give(&password);
        let (data, password) = (text(&data), text(&password));
        // Not SCRAM: it costs a client that is not optimised a tenth of a second a connection.
        let how = ["--auth=password", "--encoding=UTF8", "--no-locale", "--no-sync", "--username=postgres"];
        server.install.run("initdb", &[&how[..], &["--pwfile", password, "--pgdata", data]].concat());
        server.configure(&[
            ("listen_addresses", "127.0.0.1"),
            ("unix_socket_directories", ""),
            ("max_connections", "300"),
        ]);
        server.configure(settings);
        server.start_again();
        server
    }

    /// A folder without a cluster, and what removes it.
    fn stopped() -> Self {
        let install = Install::find();
        let folder =
            tempfile::Builder::new().prefix("freehold-postgres-").tempdir().expect("a temporary folder").keep();
        install.give(&folder);
        let guard = Command::new("sh")
            .args(["-c", GUARD, "guard", text(&folder)])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Not killed with the test by Ctrl-C.
            .process_group(0)
            .spawn()
            .expect("there is a shell");
        Self { install, folder, port: free_port(), postmaster: None, guard }
    }

    /// A standby of this server, which streams from it. From now on this server's commits wait for it.
    ///
    /// # Panics
    ///
    /// When it can't be set up within a minute.
    #[must_use]
    pub fn standby(&self) -> Self {
        let mut standby = Self::stopped();
        let (data, source) = (standby.data(), self.url("postgres"));
        let how = ["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"];
        standby.install.run("pg_basebackup", &[&how[..], &["--dbname", &source, "--pgdata", text(&data)]].concat());
        standby.start_again();
        let sql = Sql::connect(&source);
        sql.run("alter system set synchronous_standby_names = '*'");
        sql.run("select pg_reload_conf()");
        let is_waited_for = || sql.value("select count(*) from pg_stat_replication where sync_state = 'sync'") == "1";
        self.wait("the standby to be waited for", is_waited_for);
        standby
    }

    /// Makes a standby the primary, and waits until it is.
    ///
    /// # Panics
    ///
    /// When it isn't within a minute.
    pub fn promote(&self) {
        self.install.run("pg_ctl", &["promote", "--wait", "--timeout=60", "--pgdata", text(&self.data())]);
    }

    /// The URL of one of its databases, for its superuser.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres:{PASSWORD}@127.0.0.1:{}/{database}", self.port)
    }

    /// Its port on 127.0.0.1.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Whether it was started, and not stopped since.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        self.postmaster.is_some()
    }

    /// Stops it.
    ///
    /// # Panics
    ///
    /// When it is not running, or does not stop within a minute.
    pub fn stop(&mut self, how: Stop) {
        let mut postmaster = self.postmaster.take().expect("it is running");
        signal(if how == Stop::Fast { "INT" } else { "QUIT" }, &[postmaster.id()]);
        self.wait("the server to stop", || postmaster.try_wait().expect("it is our child").is_some());
    }

    /// Kills it and all its processes with SIGKILL, as a machine that loses its power does.
    ///
    /// # Panics
    ///
    /// When it is not running.
    pub fn kill(&mut self) {
        let mut postmaster = self.postmaster.take().expect("it is running");
        // One more that it starts meanwhile might wait for ever for a lock of the dead, and keep the next server out.
        signal("STOP", &[postmaster.id()]);
        self.wait("the server to stand still", || state(postmaster.id()).is_some_and(|(state, _)| state == 'T'));
        let mut processes = vec![postmaster.id()];
        processes.extend(children(postmaster.id()));
        signal("KILL", &processes);
        postmaster.wait().expect("it is our child");
    }

    /// Starts it after it was stopped or killed, on the same port.
    ///
    /// # Panics
    ///
    /// When it is running, or does not start within a minute.
    pub fn start_again(&mut self) {
        assert!(self.postmaster.is_none(), "it is running");
        // What was killed may linger for a moment, and a port that was free a moment ago may not be.
        for _ in 0..50 {
            let mut postmaster = self.launch();
            if self.comes_up(&mut postmaster) {
                self.postmaster = Some(postmaster);
                return;
            }
            if self.log().contains("could not bind") && !self.has_run() {
                self.port = free_port();
            }
            thread::sleep(10 * PAUSE);
        }
        panic!("the server does not start; its log ends with\n{}", self.log());
    }

    fn launch(&self) -> Child {
        let log = File::options().create(true).append(true).open(self.log_file()).expect("a log can be written");
        let errors = log.try_clone().expect("a file can be had twice");
        let (data, port) = (self.data(), self.port.to_string());
        let mut command = self.install.program("postgres");
        command.args(["-D", text(&data), "-p", &port]).stdin(Stdio::null()).stdout(log).stderr(errors);
        // Not killed with the test by Ctrl-C; the guard stops it in order.
        command.process_group(0).spawn().expect("the server's program starts")
    }

    /// Waits until it takes connections; false when it has ended instead.
    fn comes_up(&self, postmaster: &mut Child) -> bool {
        let mut has_ended = false;
        self.wait("the server to start", || {
            has_ended = postmaster.try_wait().expect("it is our child").is_some();
            has_ended || self.is_ready(postmaster.id())
        });
        !has_ended
    }

    /// What `pg_ctl` looks at: the last line of the server's own file says whether it takes connections.
    fn is_ready(&self, pid: u32) -> bool {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        let lines: Vec<&str> = file.lines().map(str::trim).collect();
        lines.first().is_some_and(|line| *line == pid.to_string())
            && lines.get(7).is_some_and(|status| ["ready", "standby"].contains(status))
    }

    fn has_run(&self) -> bool {
        self.log().contains("is ready to accept")
    }

    fn configure(&self, settings: &[(&str, &str)]) {
        let file = self.data().join("postgresql.conf");
        let mut text = fs::read_to_string(&file).expect("initdb has written it");
        for (name, value) in settings {
            writeln!(text, "\n{name} = '{value}'").expect("a string takes everything");
        }
        fs::write(&file, text).expect("a file is written");
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn log_file(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// The end of the server's log.
    #[must_use]
    pub fn log(&self) -> String {
        let log = fs::read(self.log_file()).unwrap_or_default();
        String::from_utf8_lossy(&log[log.len().saturating_sub(4_000)..]).into_owned()
    }

    #[track_caller]
    fn wait(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        for _ in 0..PATIENCE {
            if is_so() {
                return;
            }
            thread::sleep(PAUSE);
        }
        panic!("waited in vain for {what}; the server's log ends with\n{}", self.log());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        if let Some(mut postmaster) = self.postmaster.take() {
            drop(postmaster.wait());
        }
        drop(self.guard.wait());
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a temporary folder's name is text")
}

fn free_port() -> u16 {
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    std::iter::repeat_with(|| fastrand::u16(PORTS)).take(1_000).find(is_free).expect("a port is free")
}

/// Sends a signal by the shell's own `kill`, which is everywhere. To what has ended already, it does nothing.
fn signal(name: &str, processes: &[u32]) {
    let processes: Vec<String> = processes.iter().map(u32::to_string).collect();
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"signal=$1; shift; for pid; do kill -s "$signal" "$pid" 2>/dev/null; done; :"#, "kill", name]);
    assert!(shell.args(processes).status().expect("there is a shell").success(), "the shell fails");
}

/// The processes that `parent` has started.
fn children(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("this is Linux").flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id| state(*id).is_some_and(|(_, by)| by == parent)).collect()
}

/// The state of a process, as a letter, and its parent.
fn state(process: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // They follow the name, which may hold anything.
    let mut words = stat.rsplit_once(')')?.1.split_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}
