//! `Work`: one write transaction, as the functions that work in it see it. When it begins and ends is the writer's.

use super::errors::Trouble;
use crate::clock::Timestamp;
use crate::ids::{RequestId, StreamId, Token};
use crate::limits::LATE_APPEND_MAX;
use crate::reservation::KeyId;
use crate::store::StoreError;
use crate::store::marks::next_mark;
use crate::text::Text;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params};
use std::cell::{Cell, RefCell};

/// A write transaction that holds the lock: what is read in it stays so until its end.
pub(super) struct Work<'c> {
    pub(super) connection: &'c Connection,
    /// The store's present, read once under the lock (R7).
    pub(super) now: Timestamp,
    /// The epochs read so far; none for a namespace that is not recorded.
    epochs: RefCell<Vec<NamespaceEpoch>>,
    /// Whether there is a tombstone at all; there hardly ever is one.
    has_tombstones: Cell<Option<bool>>,
    /// Whether any request is marked.
    has_marks: Cell<Option<bool>>,
}

struct NamespaceEpoch {
    context: Text,
    name: Text,
    epoch: Option<u64>,
}

impl<'c> Work<'c> {
    pub(super) fn new(connection: &'c Connection, now: Timestamp) -> Self {
        Self {
            connection,
            now,
            epochs: RefCell::new(Vec::new()),
            has_tombstones: Cell::new(None),
            has_marks: Cell::new(None),
        }
    }

    pub(super) fn statement(&self, sql: &str) -> rusqlite::Result<CachedStatement<'c>> {
        self.connection.prepare_cached(sql)
    }

    /// Runs a statement, and says how many rows it touched.
    pub(super) fn run(&self, sql: &str, params: impl Params) -> rusqlite::Result<usize> {
        self.statement(sql)?.execute(params)
    }

    pub(super) fn last_position(&self) -> i64 {
        self.connection.last_insert_rowid()
    }

    /// Does all of `work`, or nothing of it: an error or a refusal undoes what it wrote, and the transaction goes on.
    ///
    /// When SQLite has rolled back the whole transaction there is nothing left to undo; the writer notices (S4).
    pub(super) fn all_or_nothing<T, R>(
        &self,
        work: impl FnOnce() -> Result<Result<T, R>, Trouble>,
    ) -> Result<Result<T, R>, Trouble> {
        self.run("SAVEPOINT job", [])?;
        let done = work();
        if !matches!(done, Ok(Ok(_))) && !self.connection.is_autocommit() {
            self.run("ROLLBACK TO job", [])?;
        }
        if !self.connection.is_autocommit() {
            self.run("RELEASE job", [])?;
        }
        done
    }

    /// Refuses a call whose process was built with another definition of the namespace (R13).
    pub(super) fn check_epoch(&self, key: &KeyId, epoch: u64) -> Result<(), Trouble> {
        if self.epoch(&key.context, &key.namespace)? == Some(epoch) {
            return Ok(());
        }
        Err(Trouble::Store(StoreError::namespace_changed(&key.namespace)))
    }

    fn epoch(&self, context: &Text, name: &Text) -> Result<Option<u64>, Trouble> {
        let mut epochs = self.epochs.borrow_mut();
        if let Some(known) = epochs.iter().find(|known| known.name == *name && known.context == *context) {
            return Ok(known.epoch);
        }
        let epoch: Option<i64> = self
            .statement("SELECT epoch FROM namespaces WHERE name = ?1 AND context = ?2")?
            .query_row([name.as_str(), context.as_str()], |row| row.get(0))
            .optional()?;
        let epoch = epoch.map(i64::cast_unsigned);
        epochs.push(NamespaceEpoch { context: context.clone(), name: name.clone(), epoch });
        Ok(epoch)
    }

    /// What was read of the namespaces is out of date: one was recorded or rekeyed.
    pub(super) fn forget_epochs(&self) {
        self.epochs.borrow_mut().clear();
    }

    /// Whether the append of this attempt was settled as not written (R9).
    pub(super) fn is_fenced(&self, token: Token) -> Result<bool, Trouble> {
        if !self.has_any(&self.has_tombstones, "SELECT EXISTS (SELECT 1 FROM tombstones)")? {
            return Ok(false);
        }
        let mut find = self.statement("SELECT 1 FROM tombstones WHERE token = ?1")?;
        Ok(find.exists([token.to_string()])?)
    }

    /// Makes sure that the append of this attempt is never written (R9).
    pub(super) fn fence(&self, token: Token) -> Result<(), Trouble> {
        let sql = "INSERT INTO tombstones (token, at_ms) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        self.run(sql, (token.to_string(), self.now.as_millis()))?;
        self.has_tombstones.set(Some(true));
        Ok(())
    }

    /// The mark of a request that was asked for and had no commit; 0 for none (C4).
    pub(super) fn mark(&self, stream: &StreamId, request: &RequestId) -> Result<u64, Trouble> {
        if !self.has_any(&self.has_marks, "SELECT EXISTS (SELECT 1 FROM marks)")? {
            return Ok(0);
        }
        let sql = "SELECT mark FROM marks WHERE request_id = ?1 AND aggregate = ?2 AND context = ?3 AND tenant = ?4";
        let mark: Option<i64> =
            self.statement(sql)?.query_row(request_params(stream, request), |row| row.get(0)).optional()?;
        Ok(mark.map_or(0, i64::cast_unsigned))
    }

    /// Leaves a mark under a request id, and says which.
    pub(super) fn leave_mark(&self, stream: &StreamId, request: &RequestId) -> Result<u64, Trouble> {
        let mark = next_mark(self.mark(stream, request)?, self.now);
        let [request_id, aggregate, context, tenant] = request_params(stream, request);
        self.run(
            "INSERT INTO marks (request_id, aggregate, context, tenant, mark) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO UPDATE SET mark = excluded.mark",
            (request_id, aggregate, context, tenant, integer(mark)),
        )?;
        self.has_marks.set(Some(true));
        Ok(mark)
    }

    /// Removes tombstones and marks that no append can be on its way for any more, at most so many of each, and says how
    /// many (R9, C4).
    pub(super) fn forget_late_appends(&self, max: u64) -> Result<u64, Trouble> {
        let ages_ms = i64::try_from(LATE_APPEND_MAX.as_millis()).unwrap_or(i64::MAX);
        let before = [self.now.as_millis().saturating_sub(ages_ms), integer(max)];
        let tombstones = self.run(
            "DELETE FROM tombstones WHERE token IN
                 (SELECT token FROM tombstones WHERE at_ms <= ?1 ORDER BY at_ms LIMIT ?2)",
            before,
        )?;
        let marks = self.run(
            "DELETE FROM marks WHERE (request_id, aggregate, context, tenant) IN
                 (SELECT request_id, aggregate, context, tenant FROM marks WHERE mark <= ?1 ORDER BY mark LIMIT ?2)",
            before,
        )?;
        Ok((tombstones + marks) as u64)
    }

    fn has_any(&self, known: &Cell<Option<bool>>, sql: &str) -> rusqlite::Result<bool> {
        match known.get() {
            Some(known) => Ok(known),
            None => self.statement(sql)?.query_row([], |row| row.get(0)).inspect(|&any| known.set(Some(any))),
        }
    }
}

fn request_params<'r>(stream: &'r StreamId, request: &'r RequestId) -> [&'r str; 4] {
    [request.as_str(), &stream.aggregate.name, &stream.aggregate.context, &stream.tenant]
}

/// A position or version as SQLite's integer. None is ever so large that it does not fit.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
