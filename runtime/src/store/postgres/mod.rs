//! The store on PostgreSQL, 13 or newer: many processes, many machines, one log.
//!
//! Appends that wait leave together, as one statement in one transaction, and so do reserves, and checks. A function in
//! the database takes every lock of the group in one order, writes, and says of each call what became of it; the
//! constraints are the judge (S2). Its verdicts are those of [`lifecycle`](crate::reservation::lifecycle), written once more in SQL, for a
//! verdict in the client would cost a round trip under locks; the conformance suite and the simulation compare the two.
//!
//! | file | what lives there |
//! | --- | --- |
//! | `options`, `address`, `tls` | how a store is set up, and where its server is |
//! | `session` | connections, time limits, calls |
//! | `schema`, `schema/*.sql` | migrations; the tables and functions |
//! | `statements` | every statement, with its types |
//! | `lane`, `ledger`, `workers` | what waits, in which order, and who works |
//! | `append`, `leases`, `checks`, `settling`, `namespaces`, `log` | the calls |
//! | `keys`, `values`, `rows` | values to parameters, rows to records |
//! | `errors` | trouble, in words |

mod address;
mod append;
mod checks;
mod errors;
mod keys;
mod lane;
mod leases;
mod ledger;
mod log;
mod namespaces;
mod options;
mod rows;
mod schema;
mod session;
mod settling;
mod statements;
#[cfg(test)]
mod tests;
mod tls;
mod values;
mod workers;

pub use options::PostgresOptions;

use super::{
    Append, AppendReply, Check, Checked, CommitRecord, GiveUp, KeyReading, Load, LoadedStream, NamespaceRecord,
    Registered, Rekey, RekeyReply, Reserve, ReserveReply, Settle, Settled, SnapshotRecord, Store, StoreError,
    StoreErrorKind, StoreReply,
};
use crate::ids::{StreamId, Token};
use crate::reservation::KeyId;
use append::AppendJob;
use checks::CheckJob;
use errors::{Site, Trouble};
use lane::{Answer, Job, Lane};
use leases::LeaseJob;
use ledger::{Before, Entry, Ledger};
use session::{Pools, Sessions};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Notify;

/// A store on PostgreSQL. Cheap to clone; clones share connections.
///
/// ```no_run
/// use freehold::{Domain, PostgresStore};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let store = PostgresStore::open("postgres://shop:secret@localhost/shop").await?;
/// let domain = Domain::builder().store(store).build().await?;
/// # Ok(())
/// # }
/// ```
///
/// # Guarantees
///
/// - What was answered as committed is on the server's disk, and on its synchronous standby where it has one:
///   `synchronous_commit` is raised from `off` for appends, and otherwise left as the database has it.
/// - Expiry is judged by the server's clock alone (R7).
/// - An unknown outcome is settled by a durable write under the request's lock (R9).
/// - What is reported as committed, also as a replay or after settling, the synchronous standby has; a state that is loaded
///   may be ahead of it for a moment.
/// - It is correct at `read committed`, which its functions insist on.
///
/// Don't cancel a commit that waits for a synchronous standby with `pg_cancel_backend`: PostgreSQL then reports it as
/// committed although the standby may not have it.
#[derive(Clone)]
pub struct PostgresStore {
    shared: Arc<Shared>,
}

/// Closes the lanes when the last handle is gone: what waits is still done.
struct Shared {
    core: Arc<Core>,
}

/// What the store's tasks work with.
struct Core {
    sessions: Pools,
    ledger: Ledger,
    appends: Arc<Lane<AppendJob>>,
    leases: Arc<Lane<LeaseJob>>,
    checks: Arc<Lane<CheckJob>>,
    /// Whether nothing more is taken.
    is_closing: AtomicBool,
    runtime: Handle,
    horizon_timeout: Duration,
    closed: Notify,
}

impl Core {
    fn site(&self) -> &Site {
        &self.sessions.lanes.site
    }

    /// Takes nothing more, does what was handed over, also what waits for its attempt's call before it, and ends the tasks.
    async fn wind_up(&self) {
        self.is_closing.store(true, Ordering::Release);
        self.ledger.all_over().await;
        self.appends.close();
        self.leases.close();
        self.checks.close();
        // Kept for the sweep, should it be at work just now.
        self.closed.notify_one();
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let core = Arc::clone(&self.core);
        self.core.runtime.spawn(async move { core.wind_up().await });
    }
}

impl PostgresStore {
    /// Opens the store at `url` with the default options, in the schema `freehold`. See [`PostgresOptions::open`].
    ///
    /// # Errors
    ///
    /// As [`PostgresOptions::open`].
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        Self::options().open(url).await
    }

    /// The options to open a store with.
    #[must_use]
    pub fn options() -> PostgresOptions {
        PostgresOptions::default()
    }

    fn of(core: Arc<Core>) -> Self {
        Self { shared: Arc::new(Shared { core }) }
    }

    /// Closes the store for all its handles: what was handed over is done, what comes later is refused, and the connections
    /// are closed.
    ///
    /// # Errors
    ///
    /// None so far; calls that fail tell their own callers.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropped, it leaves the store open or closing.
    pub async fn close(self) -> Result<(), StoreError> {
        let core = &self.shared.core;
        core.wind_up().await;
        let Pools { lanes, readers, others, .. } = &core.sessions;
        [lanes, readers, others].into_iter().for_each(Sessions::close);
        Ok(())
    }

    /// Puts a job into its lane, after the attempt's call before it.
    fn enqueue<J: Job>(&self, lane: &Arc<Lane<J>>, before: Option<Before>, job: J) {
        let Some(before) = before else { return lane.push(job) };
        let lane = Arc::clone(lane);
        self.shared.core.runtime.spawn(async move {
            let _is_over = before.await;
            lane.push(job);
        });
    }

    /// Refuses what comes after the close, or while too much waits (S6).
    fn refusal<J: Job>(&self, lane: &Lane<J>) -> Option<StoreError> {
        self.closed().or_else(|| {
            let site = self.shared.core.site();
            let message = format!("{site}: too many calls are waiting already; send fewer at once, or try again later");
            lane.is_full().then(|| StoreError::not_done(StoreErrorKind::Overloaded, message))
        })
    }

    fn closed(&self) -> Option<StoreError> {
        let core = &self.shared.core;
        let message = || format!("{}: the store was closed; open it again", core.site());
        core.is_closing.load(Ordering::Acquire).then(|| StoreError::not_done(StoreErrorKind::Closed, message()))
    }

    /// A read, made by whoever polls the reply: it has no effect that could be lost.
    fn read<T, F>(&self, read: impl FnOnce(Arc<Core>) -> F + Send + 'static) -> StoreReply<T>
    where
        F: Future<Output = Result<T, Trouble>> + Send + 'static,
        T: Send + 'static,
    {
        let core = Arc::clone(&self.shared.core);
        StoreReply::waiting(
            async move { read(Arc::clone(&core)).await.map_err(|trouble| log::of_read(&core, &trouble)) },
        )
    }

    /// A write outside the lanes, made by a task of its own: it goes on when the reply is dropped (C8).
    fn write<T, F>(&self, token: Option<Token>, write: impl FnOnce(Arc<Core>) -> F + Send + 'static) -> StoreReply<T>
    where
        F: Future<Output = Result<T, Trouble>> + Send + 'static,
        T: Send + 'static,
    {
        if let Some(closed) = self.closed() {
            return StoreReply::ready(Err(closed));
        }
        let core = Arc::clone(&self.shared.core);
        let (entry, before) = core.ledger.enter(token);
        let (answer, reply) = Answer::pair();
        core.runtime.clone().spawn(async move {
            let _under_way: Entry = entry;
            if let Some(before) = before {
                let _is_over = before.await;
            }
            answer.give(write(Arc::clone(&core)).await.map_err(|trouble| trouble.explained(core.site())));
        });
        reply
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("site", &self.shared.core.site().to_string()).finish_non_exhaustive()
    }
}

impl Store for PostgresStore {
    fn register(&self, namespaces: Vec<NamespaceRecord>) -> StoreReply<Vec<Registered>> {
        self.write(None, |core| async move { namespaces::register(&core, &namespaces).await })
    }

    fn load(&self, load: Load) -> StoreReply<LoadedStream> {
        self.read(|core| async move { log::load(&core, &load).await })
    }

    fn check(&self, check: Check) -> StoreReply<Checked> {
        let Check { stream, request: Some(request) } = check else {
            return self.read(|core| async move { checks::version(&core, &check).await });
        };
        if let Some(refusal) = self.refusal(&self.shared.core.checks) {
            return StoreReply::ready(Err(refusal));
        }
        let (entry, before) = self.shared.core.ledger.enter(None);
        let (answer, reply) = Answer::pair();
        let texts = [("aggregate id", &*stream.id), ("tenant", &stream.tenant), ("request id", request.as_str())];
        let plain = texts.into_iter().try_for_each(|(what, text)| values::plain(what, text));
        match plain {
            Ok(()) => {
                let job = CheckJob::new(stream, request, answer, entry);
                self.enqueue(&self.shared.core.checks, before, job);
            }
            Err(error) => answer.give(Err(error)),
        }
        reply
    }

    fn reserve(&self, reserve: Reserve) -> StoreReply<ReserveReply> {
        if let Some(refusal) = self.refusal(&self.shared.core.leases) {
            return StoreReply::ready(Err(refusal));
        }
        let (entry, before) = self.shared.core.ledger.enter(reserve.keys.first().map(|asked| asked.token));
        let (answer, reply) = Answer::pair();
        match reserve.keys.iter().try_for_each(|asked| values::plain("key", &asked.key.key)) {
            Ok(()) => self.enqueue(&self.shared.core.leases, before, LeaseJob::reserve(reserve, answer, entry)),
            Err(error) => answer.give(Err(error)),
        }
        reply
    }

    fn give_up(&self, give_up: GiveUp) -> StoreReply<()> {
        // Never refused while the store is open: it makes room.
        if let Some(closed) = self.closed() {
            return StoreReply::ready(Err(closed));
        }
        let (entry, before) = self.shared.core.ledger.enter(Some(give_up.token));
        let (answer, reply) = Answer::pair();
        self.enqueue(&self.shared.core.leases, before, LeaseJob::give_up(give_up, answer, entry));
        reply
    }

    fn append(&self, append: Append) -> StoreReply<AppendReply> {
        if let Some(refusal) = self.refusal(&self.shared.core.appends) {
            return StoreReply::ready(Err(refusal));
        }
        let (entry, before) = self.shared.core.ledger.enter(Some(append.token));
        let (answer, reply) = Answer::pair();
        match AppendJob::new(append, answer, entry) {
            Ok(job) => self.enqueue(&self.shared.core.appends, before, job),
            Err((answer, error)) => answer.give(Err(error)),
        }
        reply
    }

    fn settle(&self, settle: Settle) -> StoreReply<Settled> {
        self.write(Some(settle.token), |core| async move { settling::settle(&core, &settle).await })
    }

    fn save_snapshot(&self, snapshot: SnapshotRecord) -> StoreReply<()> {
        self.write(None, |core| async move { log::save_snapshot(&core, &snapshot).await })
    }

    fn commits(&self, after_position: u64, limit: usize) -> StoreReply<Vec<CommitRecord>> {
        self.read(move |core| async move { log::commits(&core, after_position, limit).await })
    }

    fn reservation(&self, key: KeyId) -> StoreReply<KeyReading> {
        self.read(|core| async move { log::reservation(&core, &key).await })
    }

    fn held_by(&self, holder: StreamId) -> StoreReply<Vec<KeyId>> {
        self.read(|core| async move { log::held_by(&core, &holder).await })
    }

    fn rekey(&self, rekey: Rekey) -> StoreReply<RekeyReply> {
        self.write(None, |core| async move { namespaces::rekey(&core, &rekey).await })
    }

    fn sweep(&self) -> StoreReply<u64> {
        self.write(None, |core| async move { leases::sweep(&core, None).await })
    }

    fn drain(&self) -> StoreReply<()> {
        let ledger = self.shared.core.ledger.clone();
        StoreReply::waiting(async move {
            ledger.all_over().await;
            Ok(())
        })
    }
}
