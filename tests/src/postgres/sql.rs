//! `Sql`: a connection whose calls block, for what a test asks of a server behind the back of the store.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// A row, as text; null is empty.
pub type Row = Vec<String>;

type Answer = Result<Vec<Row>, String>;

/// A connection with a thread and a runtime of its own, so that it can be used wherever the caller is.
#[derive(Debug)]
pub struct Sql {
    jobs: Option<mpsc::Sender<(String, mpsc::Sender<Answer>)>>,
    thread: Option<JoinHandle<()>>,
}

impl Sql {
    /// Connects, once.
    ///
    /// # Errors
    ///
    /// What the driver says, for the reader of a test.
    ///
    /// # Panics
    ///
    /// When no thread can be started.
    pub fn try_connect(url: &str) -> Result<Self, String> {
        let (jobs, received) = mpsc::channel();
        let (ready, is_ready) = mpsc::channel();
        let url = url.to_owned();
        let thread = thread::spawn(move || serve(&url, &ready, &received));
        let sql = Self { jobs: Some(jobs), thread: Some(thread) };
        is_ready.recv().expect("the thread says how it went").map(|()| sql)
    }

    /// The same, of a server that is there.
    ///
    /// # Panics
    ///
    /// When it is not.
    #[must_use]
    pub fn connect(url: &str) -> Self {
        Self::try_connect(url).unwrap_or_else(|error| panic!("{url}: {error}"))
    }

    /// The rows of a statement, or of several; several are one transaction.
    ///
    /// # Errors
    ///
    /// What the server says, for the reader of a test.
    ///
    /// # Panics
    ///
    /// When the thread has died.
    pub fn try_rows(&self, statement: &str) -> Answer {
        let (reply, answer) = mpsc::channel();
        let jobs = self.jobs.as_ref().expect("open until it is dropped");
        jobs.send((statement.to_owned(), reply)).expect("the thread lives as long as this");
        answer.recv().expect("every statement is answered")
    }

    /// Runs a statement that is right, or several.
    ///
    /// # Panics
    ///
    /// When it fails.
    pub fn run(&self, statement: &str) {
        drop(self.rows(statement));
    }

    /// The rows of a statement that is right.
    ///
    /// # Panics
    ///
    /// When it fails.
    #[must_use]
    pub fn rows(&self, statement: &str) -> Vec<Row> {
        let start: String = statement.chars().take(2_000).collect();
        self.try_rows(statement).unwrap_or_else(|error| panic!("{error}\nin {start}"))
    }

    /// The one value of a statement.
    ///
    /// # Panics
    ///
    /// When it fails, or has no value.
    #[must_use]
    pub fn value(&self, statement: &str) -> String {
        let row = self.rows(statement).into_iter().next();
        row.and_then(|row| row.into_iter().next()).unwrap_or_else(|| panic!("no value: {statement}"))
    }
}

/// Waits until the connection is closed, so that the next statement of the test finds no trace of it.
impl Drop for Sql {
    fn drop(&mut self) {
        self.jobs = None;
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || ended.is_none_or(|ended| ended.is_ok()), "the thread of a connection panicked");
    }
}

fn serve(url: &str, ready: &mpsc::Sender<Result<(), String>>, jobs: &mpsc::Receiver<(String, mpsc::Sender<Answer>)>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    let (client, connection) = match runtime.block_on(tokio_postgres::connect(url, NoTls)) {
        Ok(connected) => connected,
        Err(error) => return drop(ready.send(Err(describe(&error)))),
    };
    let driver = runtime.spawn(connection);
    // Whoever asked may be gone; then nobody wants to know.
    drop(ready.send(Ok(())));
    for (statement, reply) in jobs {
        let answer = runtime.block_on(client.simple_query(&statement));
        drop(reply.send(answer.map(rows).map_err(|error| describe(&error))));
    }
    drop(client);
    drop(runtime.block_on(driver));
}

fn rows(messages: Vec<SimpleQueryMessage>) -> Vec<Row> {
    let row = |message| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|column| row.get(column).unwrap_or_default().to_owned()).collect())
        }
        _ => None,
    };
    messages.into_iter().filter_map(row).collect()
}

/// With the server's own words, which the driver keeps in its source.
fn describe(error: &tokio_postgres::Error) -> String {
    error
        .as_db_error()
        .map_or_else(|| format!("{error:?}"), |said| format!("{}: {}", said.code().code(), said.message()))
}
