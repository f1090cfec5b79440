//! `Store`: what a back end does, in prose and types. Engine and back ends meet here and nowhere else.
//!
//! A back end takes every verdict about a reservation from [`crate::reservation::lifecycle`], under a lock of its own,
//! and passes `freehold_testkit`'s conformance suite (S1).

pub mod marks;
pub mod memory;
#[cfg(feature = "postgres")]
pub mod postgres;
mod record;
pub mod rekeying;
mod reply;
#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use record::{
    Append, AppendReply, Check, Checked, CommitKind, CommitRecord, DELETED, Fingerprint, GiveUp, KeyChange, KeyClaim,
    KeyReading, Load, LoadedStream, NamespaceRecord, RESTORED, Refusal, Registered, Rekey, RekeyCollision,
    RekeyNamespace, RekeyReply, RequestKey, Reserve, ReserveKey, ReserveReply, Settle, Settled, SnapshotRecord,
    Written,
};
pub use reply::StoreReply;

use crate::ids::StreamId;
use crate::reservation::KeyId;
use std::fmt;

/// A back end: a log of commits, the reservations beside it, and snapshots.
///
/// # Handing over
///
/// A call is *handed over* when the method returns: what happens from then on does not depend on who still polls the
/// reply. Dropping a [`StoreReply`] withdraws nothing (C8). Calls of one attempt take effect in the order in which they
/// were handed over: a give-up never overtakes the reserve it gives up (R5).
///
/// # Errors
///
/// A [`StoreError`] says what is known: `surely_not_done` when the call had no effect, otherwise it may have had one and
/// may still have one. An append with an unknown outcome is settled with [`settle`](Self::settle) (R9).
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// Records the namespaces of a domain, or compares them with what is recorded (R13).
    ///
    /// Answers in the order of `namespaces`. When one differs, nothing is recorded at all.
    fn register(&self, namespaces: Vec<NamespaceRecord>) -> StoreReply<Vec<Registered>>;

    /// Reads a stream: its snapshot of the wanted version, if any, and the commits after that. One round trip.
    fn load(&self, load: Load) -> StoreReply<LoadedStream>;

    /// Reads the version of a stream, and the first commit under a request id, at one moment (C1, C4).
    ///
    /// Under an id that has no commit it leaves a durable mark, in the same write as the look: an append of that request
    /// that is still on its way, from a process that died, must not land once somebody was told that there is none. It
    /// fails with [`Refusal::Fenced`], unless it carries that mark. A mark need not be kept for ever, but as long as an
    /// append may be on its way: a day.
    fn check(&self, check: Check) -> StoreReply<Checked>;

    /// Reserves keys for one attempt, all in one atomic write (R1, R3).
    ///
    /// Two holders never both get [`Reserved::Newly`](crate::reservation::Reserved::Newly) for one key. Asking again with
    /// the same token is safe, and answers `Newly` again. The pending records need not survive a power cut: the append
    /// checks them (R8).
    fn reserve(&self, reserve: Reserve) -> StoreReply<ReserveReply>;

    /// Gives up what an attempt has pending: its own leases, and only those (R5).
    fn give_up(&self, give_up: GiveUp) -> StoreReply<()>;

    /// Writes a commit: events, request id, and what becomes of the keys, in one atomic and durable write (R4, S4).
    ///
    /// Refused appends have written nothing and have given the attempt's leases up. Checked in this order: fence (R9),
    /// request id (C4), version (C1), namespaces (R13), keys (R8).
    fn append(&self, append: Append) -> StoreReply<AppendReply>;

    /// Settles an append whose outcome is unknown, by a durable write (R9): finds its commit, or makes sure that it
    /// never lands, and gives the attempt's leases up.
    fn settle(&self, settle: Settle) -> StoreReply<Settled>;

    /// Keeps a snapshot. Losing one is harmless, so nobody waits for it.
    fn save_snapshot(&self, snapshot: SnapshotRecord) -> StoreReply<()>;

    /// Reads commits in global order, after `position`, at most `limit`. Nothing ever appears behind a reader's cursor.
    fn commits(&self, after_position: u64, limit: usize) -> StoreReply<Vec<CommitRecord>>;

    /// Reads the record of one key, and what it is judged by.
    fn reservation(&self, key: KeyId) -> StoreReply<KeyReading>;

    /// Reads the confirmed keys of one holder, ordered by key.
    fn held_by(&self, holder: StreamId) -> StoreReply<Vec<KeyId>>;

    /// Changes the normalisers of namespaces: every confirmed key is normalised anew, each change a commit on its holder's
    /// stream, after the namespace's epoch has been raised; all namespaces in one atomic write, or none (R13, R20). A
    /// namespace that is recorded as asked for already is left as it is.
    fn rekey(&self, rekey: Rekey) -> StoreReply<RekeyReply>;

    /// Removes expired pending records, and says how many (R7). Housekeeping: a key is free without it.
    fn sweep(&self) -> StoreReply<u64>;

    /// Completes when everything that was handed over before has taken effect (R5).
    fn drain(&self) -> StoreReply<()>;
}

/// What kind of trouble a store has, by what one can do about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Not reachable, or busy for too long. Try again.
    Unavailable,
    /// Too much is waiting already. Try again later (S6).
    Overloaded,
    /// The file or server is there, and can't be used as it is: read-only, full, no rights.
    Unusable,
    /// Not a Freehold store, damaged, or written by an incompatible release (S5).
    Incompatible,
    /// What was read is not what was written.
    Corrupt,
    /// A namespace was rekeyed since this process registered it (R13).
    NamespaceChanged,
    /// The store was closed.
    Closed,
}

/// Trouble with a store. It says what happened, where, and what to do; never a key, never a statement (R19, S3).
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    kind: StoreErrorKind,
    surely_not_done: bool,
    message: String,
}

impl StoreError {
    /// A call that surely had no effect.
    #[must_use]
    pub fn not_done(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self { kind, surely_not_done: true, message: message.into() }
    }

    /// A call that may have had its effect, or may still have it.
    #[must_use]
    pub fn unknown(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self { kind, surely_not_done: false, message: message.into() }
    }

    /// The error for a call whose namespace was rekeyed, or never registered (R13).
    #[must_use]
    pub fn namespace_changed(namespace: &str) -> Self {
        let problem = "was rekeyed since this process started; restart it with the new definition";
        Self::not_done(StoreErrorKind::NamespaceChanged, format!("namespace {namespace:?} {problem}"))
    }

    /// What kind of trouble it is.
    #[must_use]
    pub const fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// Whether the call surely had no effect.
    #[must_use]
    pub const fn surely_not_done(&self) -> bool {
        self.surely_not_done
    }

    /// Whether the same call may succeed when it is made again.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Unavailable | StoreErrorKind::Overloaded)
    }

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self.kind {
            StoreErrorKind::Unavailable => "STORE_UNAVAILABLE",
            StoreErrorKind::Overloaded => "OVERLOADED",
            StoreErrorKind::Unusable => "STORE_UNUSABLE",
            StoreErrorKind::Incompatible => "STORE_INCOMPATIBLE",
            StoreErrorKind::Corrupt => "STORE_CORRUPT",
            StoreErrorKind::NamespaceChanged => "NAMESPACE_CHANGED",
            StoreErrorKind::Closed => "STORE_CLOSED",
        }
    }
}

impl fmt::Debug for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = if self.surely_not_done { "surely not done" } else { "outcome unknown" };
        write!(f, "StoreError({}, {done}: {})", self.code(), self.message)
    }
}
