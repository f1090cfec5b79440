//! `SqliteStore`: a store in one SQLite file. The handle and its queues are here; the rest is in the files below.
//!
//! One thread writes, in groups (`writer`), a few read beside it (`reader`). Both have connections of their own, and no
//! async runtime is needed. Several processes may use one file: whatever a write depends on is read under the write
//! lock. Tables for people: `schema.sql` (S7).

/// The parts of a stream's identity in the order in which its unique index has them, and what else a statement takes.
macro_rules! stream_params {
    ($stream:expr $(, $more:expr)*) => {
        (&*$stream.id, &*$stream.aggregate.name, &*$stream.aggregate.context, &*$stream.tenant $(, $more)*)
    };
}

/// The parts of a key in the order of its primary key, its holder, and what else a statement takes.
macro_rules! key_params {
    ($key:expr) => {
        (&*$key.key, &*$key.namespace, &*$key.scope, &*$key.context)
    };
    ($key:expr, $holder:expr $(, $more:expr)*) => {
        (
            &*$key.key, &*$key.namespace, &*$key.scope, &*$key.context,
            &*$holder.id, &*$holder.tenant, &*$holder.aggregate.name $(, $more)*
        )
    };
}

mod connection;
mod errors;
mod files;
mod job;
mod log;
mod namespaces;
mod options;
mod reader;
mod rekey;
mod reservations;
mod schema;
#[cfg(test)]
mod tests;
mod work;
mod writer;

pub use self::options::SqliteOptions;

use self::errors::Site;
use self::job::{Answer, Job};
use self::reader::Read;
use super::{
    Append, AppendReply, Check, Checked, CommitRecord, GiveUp, KeyReading, Load, LoadedStream, NamespaceRecord,
    Registered, Rekey, RekeyReply, Reserve, ReserveReply, Settle, Settled, SnapshotRecord, Store, StoreError,
    StoreErrorKind, StoreReply,
};
use crate::ids::StreamId;
use crate::reservation::KeyId;
use crossbeam_channel::Sender;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::mpsc;

/// A store in one SQLite file: the embedded default. Nothing to install, nothing to run.
///
/// Commits are on the disk before they are answered (WAL, `synchronous=FULL`, one sync for a whole group of them).
/// Several processes of one machine may open the same file. The handle is cheap to clone.
///
/// When the last handle is dropped, its threads finish what is queued, close the file and end; nobody waits for that.
/// [`close`](Self::close) waits, and so does `Domain::close` for the writes. Once the last process has closed it, the store
/// is one file; until then the files with `-wal` and `-shm` at the end of their names belong to it. Copy a running store
/// with SQLite's own backup, from another process: a process that opens the file by other means as well, if only to copy
/// it, loses SQLite's locks on it when it closes it again, which is how POSIX has it.
#[derive(Clone)]
pub struct SqliteStore {
    shared: Arc<Shared>,
}

struct Shared {
    site: Site,
    writes: Sender<Job>,
    reads: Sender<Read>,
    queue_max: usize,
    /// Closed once the file is.
    ended: mpsc::Receiver<()>,
}

impl SqliteStore {
    /// Opens the store at `path`, and creates it when there is none yet.
    ///
    /// Works in any async runtime or none: the file is opened by the store's own thread.
    ///
    /// # Errors
    ///
    /// A [`StoreError`] that names the file and says what to do. Its kind is
    /// [`Unusable`](StoreErrorKind::Unusable) for a path that can't be one, a missing directory, a read-only file,
    /// directory or mount, a file with a second hard link, or a full disk,
    /// [`Incompatible`](StoreErrorKind::Incompatible) for a file that is not Freehold's or needs a newer release (S5),
    /// [`Corrupt`](StoreErrorKind::Corrupt) for a damaged one, and
    /// [`Unavailable`](StoreErrorKind::Unavailable) when another process keeps it locked and there is something to write:
    /// the file is new, or its schema older. Otherwise opening and reading need no lock.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: when the future is dropped, the opening goes on by itself and is closed again. A new file may stay.
    ///
    /// # Examples
    ///
    /// ```
    /// use freehold::store::Store;
    /// use freehold::store::sqlite::SqliteStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), freehold::store::StoreError> {
    /// let path = std::env::temp_dir().join(format!("freehold-doc-{}.db", std::process::id()));
    /// let store = SqliteStore::open(&path).await?;
    /// assert!(store.commits(0, 10).await?.is_empty());
    /// store.close().await?;
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::options().open(path).await
    }

    /// Options, for all that can be chosen.
    pub fn options() -> SqliteOptions {
        SqliteOptions::default()
    }

    /// The file, as an absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.shared.site.path()
    }

    /// Waits for the writes that were handed over before and, when this is the last handle, until the file is closed.
    ///
    /// A domain has a handle of its own: drop the domains first. What the write-ahead log holds is in the file then, and
    /// the log is gone unless another process has the store open.
    ///
    /// # Errors
    ///
    /// [`Closed`](StoreErrorKind::Closed) when the writer has ended before.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future closes the handle all the same, without waiting.
    pub async fn close(self) -> Result<(), StoreError> {
        self.drain().await?;
        if let Some(shared) = Arc::into_inner(self.shared) {
            let Shared { writes, reads, mut ended, .. } = shared;
            drop((writes, reads));
            // Nothing is ever sent: it answers when the writer, which ends last, has let go of its end.
            let _ = ended.recv().await;
        }
        Ok(())
    }

    /// Hands a write over, now. One that may be refused is refused when too much is waiting (S6).
    fn write<T: Send + 'static>(&self, may_refuse: bool, job: impl FnOnce(Answer<T>) -> Job) -> StoreReply<T> {
        let queue = &self.shared.writes;
        if may_refuse && queue.len() >= self.shared.queue_max {
            return self.overloaded("writes");
        }
        let (answer, reply) = Answer::pair();
        match queue.send(job(answer)) {
            Ok(()) => reply,
            Err(_) => self.ended(),
        }
    }

    fn read<T: Send + 'static>(&self, read: impl FnOnce(Answer<T>) -> Read) -> StoreReply<T> {
        let queue = &self.shared.reads;
        if queue.len() >= self.shared.queue_max {
            return self.overloaded("reads");
        }
        let (answer, reply) = Answer::pair();
        match queue.send(read(answer)) {
            Ok(()) => reply,
            Err(_) => self.ended(),
        }
    }

    fn overloaded<T>(&self, what: &str) -> StoreReply<T> {
        let (file, most) = (self.path().display(), self.shared.queue_max);
        let message = format!("{most} {what} are waiting for {file} already; send fewer at once, or try again later");
        StoreReply::ready(Err(StoreError::not_done(StoreErrorKind::Overloaded, message)))
    }

    fn ended<T>(&self) -> StoreReply<T> {
        let message = format!("the threads of the store {} have ended; open it again", self.path().display());
        StoreReply::ready(Err(StoreError::not_done(StoreErrorKind::Closed, message)))
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl Store for SqliteStore {
    fn register(&self, namespaces: Vec<NamespaceRecord>) -> StoreReply<Vec<Registered>> {
        self.write(true, |answer| Job::Register(namespaces, answer))
    }

    fn load(&self, load: Load) -> StoreReply<LoadedStream> {
        self.read(|answer| Read::Load(load, answer))
    }

    fn check(&self, check: Check) -> StoreReply<Checked> {
        match check.request {
            // It may leave a mark.
            Some(_) => self.write(true, |answer| Job::Check(check, answer)),
            None => self.read(|answer| Read::Check(check, answer)),
        }
    }

    fn reserve(&self, reserve: Reserve) -> StoreReply<ReserveReply> {
        self.write(true, |answer| Job::Reserve(reserve, answer))
    }

    fn give_up(&self, give_up: GiveUp) -> StoreReply<()> {
        self.write(false, |answer| Job::GiveUp(give_up, answer))
    }

    fn append(&self, append: Append) -> StoreReply<AppendReply> {
        self.write(true, |answer| Job::Append(Box::new(append), answer))
    }

    fn settle(&self, settle: Settle) -> StoreReply<Settled> {
        self.write(false, |answer| Job::Settle(settle, answer))
    }

    fn save_snapshot(&self, snapshot: SnapshotRecord) -> StoreReply<()> {
        self.write(true, |answer| Job::SaveSnapshot(snapshot, answer))
    }

    fn commits(&self, after: u64, limit: usize) -> StoreReply<Vec<CommitRecord>> {
        self.read(|answer| Read::Commits { after, limit, answer })
    }

    fn reservation(&self, key: KeyId) -> StoreReply<KeyReading> {
        self.read(|answer| Read::Reservation(key, answer))
    }

    fn held_by(&self, holder: StreamId) -> StoreReply<Vec<KeyId>> {
        self.read(|answer| Read::HeldBy(holder, answer))
    }

    fn rekey(&self, rekey: Rekey) -> StoreReply<RekeyReply> {
        self.write(true, |answer| Job::Rekey(Box::new(rekey), answer))
    }

    fn sweep(&self) -> StoreReply<u64> {
        self.write(true, Job::Sweep)
    }

    fn drain(&self) -> StoreReply<()> {
        self.write(false, Job::Drain)
    }
}
