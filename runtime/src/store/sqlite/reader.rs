//! The readers: threads with connections of their own, which read beside the writer.

use super::connection::at_one_moment;
use super::errors::{Site, Trouble};
use super::files::Files;
use super::job::Answer;
use super::{log, reservations};
use crate::clock::Clock;
use crate::ids::StreamId;
use crate::reservation::KeyId;
use crate::store::{Check, Checked, CommitRecord, KeyReading, Load, LoadedStream};
use crossbeam_channel::Receiver;
use rusqlite::Connection;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A read that waits for a reader, with the reply that its caller waits for.
pub(super) enum Read {
    Load(Load, Answer<LoadedStream>),
    Check(Check, Answer<Checked>),
    Commits { after: u64, limit: usize, answer: Answer<Vec<CommitRecord>> },
    Reservation(KeyId, Answer<KeyReading>),
    HeldBy(StreamId, Answer<Vec<KeyId>>),
}

/// What a reading thread has.
pub(super) struct Reader {
    pub(super) connection: Connection,
    pub(super) site: Site,
    pub(super) files: Arc<Files>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Reader {
    /// Reads until every handle is gone and the queue is empty.
    pub(super) fn run(self, queue: &Receiver<Read>) {
        for read in queue {
            // Nothing in it should panic. Should it, it costs this read only: its reply is told that it was lost.
            if catch_unwind(AssertUnwindSafe(|| self.read(read))).is_err() {
                tracing::error!("a read panicked");
            }
        }
    }

    fn read(&self, read: Read) {
        match read {
            Read::Load(load, answer) => self.give(answer, |connection| log::load(connection, &load)),
            Read::Check(check, answer) => self.give(answer, |connection| log::check(connection, &check)),
            Read::Commits { after, limit, answer } => {
                self.give(answer, |connection| log::commits(connection, after, limit));
            }
            Read::Reservation(key, answer) => {
                self.give(answer, |connection| reservations::reading(connection, &key, || self.clock.now()));
            }
            Read::HeldBy(holder, answer) => self.give(answer, |connection| reservations::held_by(connection, &holder)),
        }
    }

    fn give<T: Send + 'static>(&self, mut answer: Answer<T>, read: impl FnOnce(&Connection) -> Result<T, Trouble>) {
        let done = at_one_moment(&self.connection, read);
        // After the read: what was read before is of the file that was there.
        let done = if self.files.has_database() { done } else { Err(Files::misplaced(&self.site)) };
        answer.keep_all(done, &self.site);
        answer.give();
    }
}
