//! The readers: threads with connections of their own, which read beside the writer.

use super::errors::{Site, Trouble};
use super::job::Answer;
use super::{log, reservations};
use crate::ids::StreamId;
use crate::reservation::{KeyId, Record};
use crate::store::{Check, Checked, CommitRecord, Load, LoadedStream};
use crossbeam_channel::Receiver;
use rusqlite::Connection;

/// A read that waits for a reader, with the reply that its caller waits for.
pub(super) enum Read {
    Load(Load, Answer<LoadedStream>),
    Check(Check, Answer<Checked>),
    Commits { after: u64, limit: usize, answer: Answer<Vec<CommitRecord>> },
    Reservation(KeyId, Answer<Option<Record>>),
    HeldBy(StreamId, Answer<Vec<KeyId>>),
}

/// Reads until every handle is gone and the queue is empty.
pub(super) fn run(connection: &Connection, site: &Site, queue: &Receiver<Read>) {
    for read in queue {
        match read {
            Read::Load(load, answer) => give(answer, site, at_one_moment(connection, |c| log::load(c, &load))),
            Read::Check(check, answer) => give(answer, site, at_one_moment(connection, |c| log::check(c, &check))),
            Read::Commits { after, limit, answer } => give(answer, site, log::commits(connection, after, limit)),
            Read::Reservation(key, answer) => give(answer, site, reservations::read(connection, &key)),
            Read::HeldBy(holder, answer) => give(answer, site, reservations::held_by(connection, &holder)),
        }
    }
}

/// Reads in one transaction, which begins after everything that was answered before.
fn at_one_moment<T>(
    connection: &Connection,
    read: impl FnOnce(&Connection) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let done = read(connection);
    // Nothing was written; ending it can't lose anything, and the answer is there already.
    let _ = connection.prepare_cached("ROLLBACK").and_then(|mut end| end.execute([]));
    done
}

fn give<T: Send + 'static>(mut answer: Answer<T>, site: &Site, done: Result<T, Trouble>) {
    answer.keep_all(done, site);
    answer.give();
}
