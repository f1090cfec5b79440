//! `SqliteOptions`: what can be chosen, how the file is opened, and how the threads start.

use super::connection;
use super::errors::{Site, Trouble};
use super::files::Files;
use super::job::Job;
use super::reader::{Read, Reader};
use super::writer::Writer;
use super::{Shared, SqliteStore};
use crate::clock::{Clock, SystemClock};
use crate::limits::STORE_QUEUE_MAX;
use crate::store::{StoreError, StoreErrorKind};
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::sync::{mpsc, oneshot};

/// How many threads read, unless told otherwise.
const READERS_DEFAULT: usize = 2;
/// The most threads that may read.
const READERS_MAX: usize = 64;
/// How many writes are committed together at most, unless told otherwise. Measured: more is slower again.
const GROUP_DEFAULT: usize = 256;
/// The most that may be; a group without end would never be answered.
const GROUP_MAX: usize = 4_096;
/// How many pages the write-ahead log has, unless told otherwise, before they are moved to the file: 32 MiB.
const WAL_AUTOCHECKPOINT_DEFAULT: u32 = 8_000;

/// How a [`SqliteStore`] is opened.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use freehold::store::StoreErrorKind;
/// use freehold::store::sqlite::SqliteStore;
///
/// let missing = std::env::temp_dir().join("freehold-doc-missing.db");
/// let error = SqliteStore::options().create(false).open(missing).await.unwrap_err();
/// assert_eq!(error.kind(), StoreErrorKind::Unusable);
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "options open nothing by themselves"]
pub struct SqliteOptions {
    clock: Arc<dyn Clock>,
    create: bool,
    readers: usize,
    queue_max: usize,
    group_max: usize,
    wal_autocheckpoint: u32,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            create: true,
            readers: READERS_DEFAULT,
            queue_max: STORE_QUEUE_MAX,
            group_max: GROUP_DEFAULT,
            wal_autocheckpoint: WAL_AUTOCHECKPOINT_DEFAULT,
        }
    }
}

impl SqliteOptions {
    /// The clock that judges expiry (R7). Processes that share a file should agree on the time. The machine's by default.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Whether to create the file when there is none, which is the default.
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// How many threads read, 1 to 64; 2 by default.
    pub fn readers(mut self, readers: usize) -> Self {
        self.readers = readers.clamp(1, READERS_MAX);
        self
    }

    /// How many writes, and how many reads, may wait before more are refused as overload (S6); 16,384 by default.
    pub fn queue_limit(mut self, jobs: usize) -> Self {
        self.queue_max = jobs;
        self
    }

    /// How many writes are committed together at most, 1 to 4,096; 256 by default.
    pub fn group_limit(mut self, jobs: usize) -> Self {
        self.group_max = jobs.clamp(1, GROUP_MAX);
        self
    }

    /// How many pages of 4 KiB the write-ahead log holds before they are moved to the file; 8,000 by default.
    pub fn wal_autocheckpoint(mut self, pages: u32) -> Self {
        self.wal_autocheckpoint = pages.clamp(1, i32::MAX.cast_unsigned());
        self
    }

    /// Opens the store at `path`.
    ///
    /// # Errors
    ///
    /// As [`SqliteStore::open`]; with `create(false)` also [`Unusable`](StoreErrorKind::Unusable) when there is none.
    ///
    /// # Cancel safety
    ///
    /// As [`SqliteStore::open`].
    pub async fn open(self, path: impl AsRef<Path>) -> Result<SqliteStore, StoreError> {
        let path = path.as_ref().to_owned();
        let (opened, reply) = oneshot::channel();
        let start = move || self.run(&path, opened);
        if let Err(error) = thread::Builder::new().name("freehold-sqlite-writer".to_owned()).spawn(start) {
            return Err(no_thread(&error));
        }
        let lost = |_| {
            let message = "the store's thread ended while it opened the file; look for its panic, and try again";
            Err(StoreError::not_done(StoreErrorKind::Unavailable, message))
        };
        reply.await.unwrap_or_else(lost)
    }

    /// The writer's thread: opens everything, hands out the store, and writes until its last handle is gone. It closes
    /// last, after the readers: whoever closes while another connection is open leaves the log beside the file.
    fn run(self, path: &Path, opened: oneshot::Sender<Result<SqliteStore, StoreError>>) {
        let (sender, queue) = unbounded();
        // Dropped last of all, when the file is closed.
        let (alive, ended) = mpsc::channel(1);
        match self.start(path, sender, ended) {
            Ok((store, mut writer, readers)) => {
                // When nobody waits for it any more, the store is dropped here, and the queue ends at once.
                let _ = opened.send(Ok(store));
                writer.run(&queue);
                join_all(readers);
                writer.close();
            }
            Err(error) => {
                let _ = opened.send(Err(error));
            }
        }
        drop(alive);
    }

    fn start(
        &self,
        path: &Path,
        sender: Sender<Job>,
        ended: mpsc::Receiver<()>,
    ) -> Result<(SqliteStore, Writer, Vec<JoinHandle<()>>), StoreError> {
        let nameless = Site::new(path.to_owned());
        let site = connection::site(path, self.create).map_err(|trouble| trouble.not_done(&nameless))?;
        let explain = |trouble: Trouble| trouble.not_done(&site);
        let now = self.clock.now();
        let connection = connection::open_writer(&site, self.create, self.wal_autocheckpoint, now).map_err(explain)?;
        let files = Arc::new(Files::of(&site).map_err(explain)?);
        let (reads, read_queue) = unbounded();
        let mut readers = Vec::new();
        for _ in 0..self.readers {
            let started = connection::open_reader(&site).map_err(explain).and_then(|connection| {
                let (files, clock) = (Arc::clone(&files), Arc::clone(&self.clock));
                let reader = Reader { connection, site: site.clone(), files, clock };
                start_reader(reader, read_queue.clone()).map_err(|error| no_thread(&error))
            });
            match started {
                Ok(reader) => readers.push(reader),
                Err(error) => {
                    drop(reads);
                    join_all(readers);
                    return Err(error);
                }
            }
        }
        let writer = Writer::new(connection, site.clone(), files, self.clock.clone(), self.group_max);
        let shared = Shared { site, writes: sender, reads, queue_max: self.queue_max, ended };
        Ok((SqliteStore { shared: Arc::new(shared) }, writer, readers))
    }
}

fn start_reader(reader: Reader, queue: Receiver<Read>) -> std::io::Result<JoinHandle<()>> {
    thread::Builder::new().name("freehold-sqlite-reader".to_owned()).spawn(move || reader.run(&queue))
}

/// Waits until the readers have ended and closed their connections.
fn join_all(readers: Vec<JoinHandle<()>>) {
    for reader in readers {
        // One that panicked has ended as well.
        let _ = reader.join();
    }
}

fn no_thread(error: &std::io::Error) -> StoreError {
    let message =
        format!("the system gave no thread for the store ({error}); raise the limit of threads, or free some");
    StoreError::not_done(StoreErrorKind::Unavailable, message)
}
