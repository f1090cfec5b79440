//! A store of one's own, complete and small: Freehold on [redb](https://docs.rs/redb), an ordered map in a file.
//!
//! It shows what a back end has to do, and passes the conformance suite (`tests/conformance.rs`). Read this file first: how
//! calls are handed over. Then `work`: what each does in its transaction. `stored` is how records are written as JSON.

mod stored;
mod work;

use freehold::reservation::KeyId;
use freehold::store::{
    Append, AppendReply, Check, Checked, CommitRecord, GiveUp, KeyReading, Load, LoadedStream, NamespaceRecord,
    Registered, Rekey, RekeyReply, Reserve, ReserveReply, Settle, Settled, SnapshotRecord,
};
use freehold::{Clock, Store, StoreError, StoreErrorKind, StoreReply, StreamId};
use redb::{Database, Durability};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, mpsc};
use tokio::sync::oneshot;
use work::Work;

/// A store in a redb file. Cheap to clone; clones share the file.
#[derive(Clone)]
pub struct RedbStore {
    queue: mpsc::Sender<Job>,
    clock: Arc<dyn Clock>,
}

/// What must be on the disk before it is answered (S4).
const DURABLE: Durability = Durability::Immediate;
/// What may be lost in a power cut: leases, which the append looks at again (R8), snapshots, and what only reads.
const LAZY: Durability = Durability::None;

/// A call, as the store's thread makes it.
type Job = Box<dyn FnOnce(&Database) + Send>;

impl RedbStore {
    /// Opens the file, or creates it; `clock` judges expiry.
    ///
    /// # Errors
    ///
    /// A file that can't be opened, or is open already: redb lets one process in at a time.
    pub fn open(path: impl AsRef<Path>, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let database = Database::create(path).map_err(|error| not_done(&error.into()))?;
        let (queue, jobs) = mpsc::channel::<Job>();
        // One thread makes all calls, in the order in which they were handed over. It ends with the last handle.
        std::thread::spawn(move || {
            for job in jobs {
                // A clock or a normaliser of the user's may panic: that call is undone, and the others go on.
                let _panicked = catch_unwind(AssertUnwindSafe(|| job(&database)));
            }
        });
        Ok(Self { queue, clock })
    }

    /// Hands a call over. From here on it is made, whoever still waits for the reply: that is the heart of the contract.
    fn call<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Work<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreReply<T> {
        let (answer, reply) = oneshot::channel();
        let clock = Arc::clone(&self.clock);
        let job: Job = Box::new(move |database| {
            let _nobody_may_wait = answer.send(in_transaction(database, &*clock, durability, work));
        });
        if self.queue.send(job).is_err() {
            let message = "the store's thread has ended; open the store again";
            return StoreReply::ready(Err(StoreError::not_done(StoreErrorKind::Closed, message)));
        }
        StoreReply::waiting(async move {
            let lost =
                |_| Err(StoreError::unknown(StoreErrorKind::Closed, "the store's thread panicked; open it again"));
            reply.await.unwrap_or_else(lost)
        })
    }
}

/// One transaction a call. What fails before the commit surely did nothing; a commit that failed is unknown (S4, R9).
fn in_transaction<T>(
    database: &Database,
    clock: &dyn Clock,
    durability: Durability,
    work: impl FnOnce(&Work<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut transaction = database.begin_write().map_err(|error| not_done(&error.into()))?;
    transaction.set_durability(durability).map_err(|error| not_done(&error.into()))?;
    // The present is read once, under the lock (R7).
    let done = work(&Work { transaction: &transaction, now: clock.now() });
    match done {
        Ok(answer) => transaction.commit().map(|()| answer).map_err(|error| unknown(&error.into())),
        Err(error) => {
            // Dropped, it is undone.
            drop(transaction);
            Err(error)
        }
    }
}

/// Trouble with the file, in words that show nothing of what is in it.
fn not_done(error: &redb::Error) -> StoreError {
    let kind = match error {
        redb::Error::Corrupted(_) => StoreErrorKind::Corrupt,
        redb::Error::Io(_) | redb::Error::DatabaseAlreadyOpen => StoreErrorKind::Unavailable,
        _ => StoreErrorKind::Unusable,
    };
    StoreError::not_done(kind, format!("the redb file can't be used: {error}"))
}

fn unknown(error: &redb::Error) -> StoreError {
    StoreError::unknown(StoreErrorKind::Unavailable, format!("a commit to the redb file failed: {error}"))
}

impl fmt::Debug for RedbStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RedbStore")
    }
}

impl Store for RedbStore {
    fn register(&self, namespaces: Vec<NamespaceRecord>) -> StoreReply<Vec<Registered>> {
        self.call(DURABLE, move |work| work.register(&namespaces))
    }

    fn load(&self, load: Load) -> StoreReply<LoadedStream> {
        self.call(LAZY, move |work| work.load(&load))
    }

    fn check(&self, check: Check) -> StoreReply<Checked> {
        // It may leave a mark, which has to last (C4).
        let durability = if check.request.is_some() { DURABLE } else { LAZY };
        self.call(durability, move |work| work.check(&check))
    }

    fn reserve(&self, reserve: Reserve) -> StoreReply<ReserveReply> {
        self.call(LAZY, move |work| work.reserve(&reserve))
    }

    fn give_up(&self, give_up: GiveUp) -> StoreReply<()> {
        self.call(LAZY, move |work| work.give_up(&give_up.holder, give_up.token, &give_up.keys))
    }

    fn append(&self, append: Append) -> StoreReply<AppendReply> {
        // A stale namespace is an error that has something to commit: the attempt's leases are given up (R5).
        let reply = self.call(DURABLE, move |work| work.append(append));
        StoreReply::waiting(async move { reply.await? })
    }

    fn settle(&self, settle: Settle) -> StoreReply<Settled> {
        self.call(DURABLE, move |work| work.settle(&settle))
    }

    fn save_snapshot(&self, snapshot: SnapshotRecord) -> StoreReply<()> {
        self.call(LAZY, move |work| work.save_snapshot(&snapshot))
    }

    fn commits(&self, after_position: u64, limit: usize) -> StoreReply<Vec<CommitRecord>> {
        self.call(LAZY, move |work| work.commits(after_position, limit))
    }

    fn reservation(&self, key: KeyId) -> StoreReply<KeyReading> {
        self.call(LAZY, move |work| work.reading(&key))
    }

    fn held_by(&self, holder: StreamId) -> StoreReply<Vec<KeyId>> {
        self.call(LAZY, move |work| work.held_by(&holder))
    }

    fn rekey(&self, rekey: Rekey) -> StoreReply<RekeyReply> {
        self.call(DURABLE, move |work| work.rekey(&rekey))
    }

    fn sweep(&self) -> StoreReply<u64> {
        #[expect(clippy::redundant_closure_for_method_calls, reason = "the method alone would be of one lifetime only")]
        self.call(LAZY, |work| work.sweep())
    }

    fn drain(&self) -> StoreReply<()> {
        // One thread, one queue: when this one's turn comes, the calls before it are over.
        self.call(DURABLE, |_| Ok(()))
    }
}
