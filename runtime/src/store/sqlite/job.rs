//! `Job`: a write that waits for the writer, with the reply that its caller waits for.

use super::connection::at_one_moment;
use super::errors::{Site, Trouble};
use super::work::Work;
use super::{log, namespaces, rekey, reservations};
use crate::ids::Token;
use crate::store::{
    Append, AppendReply, Check, Checked, GiveUp, NamespaceRecord, Registered, Rekey, RekeyReply, Reserve, ReserveReply,
    Settle, Settled, SnapshotRecord, StoreError, StoreErrorKind, StoreReply,
};
use rusqlite::Connection;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::sync::oneshot;

/// How many statements a sweep that somebody asked for may take; what is left waits for the next one.
const SWEEP_STATEMENTS_MAX: u32 = 1_000;

/// A write, and where its answer goes.
pub(super) enum Job {
    Reserve(Reserve, Answer<ReserveReply>),
    GiveUp(GiveUp, Answer<()>),
    SaveSnapshot(SnapshotRecord, Answer<()>),
    Sweep(Answer<u64>),
    Append(Box<Append>, Answer<AppendReply>),
    Settle(Settle, Answer<Settled>),
    Check(Check, Answer<Checked>),
    Register(Vec<NamespaceRecord>, Answer<Vec<Registered>>),
    Rekey(Box<Rekey>, Answer<RekeyReply>),
    Drain(Answer<()>),
}

/// Whether a job's caller may be told before the disk has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Durability {
    /// After the commit, without waiting for the disk: losing it in a power cut is harmless.
    Lazy,
    /// Only once it is on the disk (S4).
    Full,
}

impl Job {
    pub(super) fn durability(&self) -> Durability {
        match self {
            Self::Reserve(..) | Self::GiveUp(..) | Self::SaveSnapshot(..) | Self::Sweep(..) => Durability::Lazy,
            Self::Append(..)
            | Self::Settle(..)
            | Self::Check(..)
            | Self::Register(..)
            | Self::Rekey(..)
            | Self::Drain(..) => Durability::Full,
        }
    }

    /// The attempt it belongs to, whose calls must keep their order (R5).
    pub(super) fn attempt(&self) -> Option<Token> {
        match self {
            Self::Reserve(reserve, _) => reserve.keys.first().map(|key| key.token),
            Self::GiveUp(give_up, _) => Some(give_up.token),
            Self::Append(append, _) => Some(append.token),
            Self::Settle(settle, _) => Some(settle.token),
            Self::SaveSnapshot(..)
            | Self::Sweep(..)
            | Self::Check(..)
            | Self::Register(..)
            | Self::Rekey(..)
            | Self::Drain(..) => None,
        }
    }

    /// Does the job inside a transaction and keeps its answer until that is committed.
    ///
    /// An error of SQLite's is returned: what the transaction looks like then is the writer's business. Any other
    /// trouble is an answer, and has left nothing behind.
    pub(super) fn work(&mut self, work: &Work<'_>, explain: impl Fn(Trouble) -> StoreError) -> rusqlite::Result<()> {
        match self {
            Self::Reserve(reserve, answer) => answer.keep(reservations::reserve(work, reserve), explain),
            Self::GiveUp(give_up, answer) => answer.keep(reservations::give_up(work, give_up), explain),
            Self::SaveSnapshot(snapshot, answer) => answer.keep(log::save_snapshot(work, snapshot), explain),
            Self::Sweep(answer) => answer.keep(reservations::sweep(work, SWEEP_STATEMENTS_MAX), explain),
            Self::Append(append, answer) => answer.keep(log::append(work, append), explain),
            Self::Settle(settle, answer) => answer.keep(log::settle(work, settle), explain),
            Self::Check(check, answer) => answer.keep(log::check_and_mark(work, check), explain),
            Self::Register(namespaces, answer) => answer.keep(namespaces::register(work, namespaces), explain),
            Self::Rekey(rekey, answer) => answer.keep(rekey::rekey(work, rekey), explain),
            Self::Drain(answer) => answer.keep(Ok(()), explain),
        }
    }

    /// Whether it has its answer without the write lock, once the jobs before it are over: there is nothing to write.
    pub(super) fn is_answered_by_reading(&mut self, connection: &Connection) -> bool {
        match self {
            Self::Drain(answer) => answer.kept = Some(Ok(())),
            Self::Check(check, answer) => match at_one_moment(connection, |connection| log::check(connection, check)) {
                Ok(checked) if checked.first.is_some() => answer.kept = Some(Ok(checked)),
                _ => return false,
            },
            Self::Register(namespaces, answer) => {
                let known = at_one_moment(connection, |connection| namespaces::all_recorded(connection, namespaces));
                // An error is met again, and told, under the lock.
                let Ok(Some(known)) = known else { return false };
                answer.kept = Some(Ok(known));
            }
            _ => return false,
        }
        true
    }

    /// Gives the answer: the transaction is committed.
    pub(super) fn answer(self) {
        match self {
            Self::Reserve(_, answer) => answer.give(),
            Self::GiveUp(_, answer) | Self::SaveSnapshot(_, answer) | Self::Drain(answer) => answer.give(),
            Self::Sweep(answer) => answer.give(),
            Self::Append(_, answer) => answer.give(),
            Self::Settle(_, answer) => answer.give(),
            Self::Check(_, answer) => answer.give(),
            Self::Register(_, answer) => answer.give(),
            Self::Rekey(_, answer) => answer.give(),
        }
    }

    /// Answers with `error`, whatever was kept: that rested on a transaction which is not there.
    pub(super) fn fail(self, error: &StoreError) {
        match self {
            Self::Reserve(_, answer) => answer.fail(error),
            Self::GiveUp(_, answer) | Self::SaveSnapshot(_, answer) => answer.fail(error),
            // A drain says that the calls before it are over, however they ended.
            Self::Drain(answer) => answer.over(),
            Self::Sweep(answer) => answer.fail(error),
            Self::Append(_, answer) => answer.fail(error),
            Self::Settle(_, answer) => answer.fail(error),
            Self::Check(_, answer) => answer.fail(error),
            Self::Register(_, answer) => answer.fail(error),
            Self::Rekey(_, answer) => answer.fail(error),
        }
    }
}

/// Where an answer goes, and the answer once it is known.
pub(super) struct Answer<T> {
    caller: oneshot::Sender<Result<T, StoreError>>,
    kept: Option<Result<T, StoreError>>,
}

impl<T: Send + 'static> Answer<T> {
    /// An answer to come, and the reply that waits for it.
    pub(super) fn pair() -> (Self, StoreReply<T>) {
        let (caller, reply) = oneshot::channel();
        let reply = StoreReply::waiting(async move {
            let lost = |_| {
                let message = "the thread of the store ended, or panicked, before it answered; open the store again";
                Err(StoreError::unknown(StoreErrorKind::Closed, message))
            };
            reply.await.unwrap_or_else(lost)
        });
        (Self { caller, kept: None }, reply)
    }

    pub(super) fn keep(
        &mut self,
        done: Result<T, Trouble>,
        explain: impl Fn(Trouble) -> StoreError,
    ) -> rusqlite::Result<()> {
        self.kept = match done {
            Ok(answer) => Some(Ok(answer)),
            Err(Trouble::Sqlite(error)) => return Err(error),
            Err(trouble) => Some(Err(explain(trouble))),
        };
        Ok(())
    }

    /// The same for a read, where an error of SQLite's is an answer like any other.
    pub(super) fn keep_all(&mut self, done: Result<T, Trouble>, site: &Site) {
        self.kept = Some(done.map_err(|trouble| trouble.not_done(site)));
    }

    pub(super) fn give(mut self) {
        if let Some(answer) = self.kept.take() {
            self.send(answer);
        }
    }

    fn fail(self, error: &StoreError) {
        self.send(Err(error.clone()));
    }

    /// Nobody may be waiting any more: a dropped reply withdraws nothing (C8). And who waits may panic when it is woken,
    /// which is nothing to the others.
    fn send(self, answer: Result<T, StoreError>) {
        let _ = catch_unwind(AssertUnwindSafe(|| self.caller.send(answer)));
    }
}

impl Answer<()> {
    fn over(self) {
        self.send(Ok(()));
    }
}
