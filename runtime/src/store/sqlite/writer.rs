//! The writer: one thread that commits what waits for it as a group. What a job does is in `job`.
//!
//! Each round takes what is queued, with no timer. Reserves and give-ups come first, in a transaction of their own that
//! does not wait for the disk: a pending record lost in a power cut is caught by the append's own look (R8). Then
//! the rest, in a transaction that is answered only once it is on the disk (S4). Within each of the two the order is
//! that of the calls; a call of an attempt whose append or settle waits in the same round stays behind it (R5).

use super::connection::{LOCK_WAIT_US_MAX, close_writer, move_log_into_file, patiently_for};
use super::errors::{Site, Trouble};
use super::files::Files;
use super::job::{Durability, Job};
use super::reservations;
use super::work::Work;
use crate::clock::{Clock, Timestamp};
use crate::store::{StoreError, StoreErrorKind};
use crossbeam_channel::Receiver;
use rusqlite::Connection;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// How long the writer leaves expired records alone, by the store's clock (R7).
const SWEEP_EVERY: Duration = Duration::from_mins(1);
/// How long a sweep waits for the lock: what others have to do comes first.
const SWEEP_WAIT_US_MAX: u64 = 1_000;

/// How a transaction ended.
enum End {
    /// Committed; the answers stand.
    Committed,
    /// Nothing of it was done.
    NotDone(Trouble),
    /// Nothing of it was done: one of its jobs panicked.
    Panicked,
    /// The commit itself failed: nobody knows (R9).
    Unknown(Trouble),
}

/// The writing thread's own.
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) site: Site,
    files: Arc<Files>,
    clock: Arc<dyn Clock>,
    group_max: usize,
    durability: Durability,
    /// Whether the files were found moved after a commit.
    misplaced: bool,
    swept_at: Option<Timestamp>,
}

impl Writer {
    /// `connection` is set up by `connection::open_writer`, which leaves it at full durability.
    pub(super) fn new(
        connection: Connection,
        site: Site,
        files: Arc<Files>,
        clock: Arc<dyn Clock>,
        group_max: usize,
    ) -> Self {
        let (durability, misplaced, swept_at) = (Durability::Full, false, None);
        Self { connection, site, files, clock, group_max, durability, misplaced, swept_at }
    }

    /// Works until every handle is gone and the queue is empty.
    pub(super) fn run(&mut self, queue: &Receiver<Job>) {
        let (mut lazy, mut full) = (Vec::new(), Vec::new());
        while let Ok(first) = queue.recv() {
            sort_in(first, &mut lazy, &mut full);
            for job in queue.try_iter().take(self.group_max - 1) {
                sort_in(job, &mut lazy, &mut full);
            }
            let drains: Vec<Job> = full.extract_if(.., |job| matches!(job, Job::Drain(_))).collect();
            self.run_group(&mut lazy, Durability::Lazy);
            self.answer_by_reading(&mut full);
            self.run_group(&mut full, Durability::Full);
            self.drained(drains);
            self.sweep_if_due();
        }
    }

    /// Answers that everything before is over, with what was written moved from the log into the file where that can be
    /// done at once: a program often ends after it, and the file alone is then whole.
    fn drained(&self, mut drains: Vec<Job>) {
        if drains.is_empty() {
            return;
        }
        self.roll_back();
        if let Err(error) = move_log_into_file(&self.connection) {
            tracing::debug!(code = ?error.sqlite_error_code(), "the log was not moved into the file; it is kept beside it");
        }
        for mut drain in drains.drain(..) {
            if drain.is_answered_by_reading(&self.connection) {
                drain.answer();
            }
        }
    }

    /// Closes the connection. No reader of this store has one any more.
    pub(super) fn close(self) {
        self.roll_back();
        close_writer(self.connection, &self.site);
    }

    /// Answers the jobs in front that have nothing to write: they need not wait for another process' lock.
    fn answer_by_reading(&mut self, jobs: &mut Vec<Job>) {
        self.roll_back();
        let mut answered = 0;
        while jobs.get_mut(answered).is_some_and(|job| job.is_answered_by_reading(&self.connection)) {
            answered += 1;
        }
        jobs.drain(..answered).for_each(Job::answer);
    }

    pub(super) fn run_group(&mut self, jobs: &mut Vec<Job>, durability: Durability) {
        if jobs.is_empty() {
            return;
        }
        match self.transaction_caught(jobs, durability) {
            End::Committed => jobs.drain(..).for_each(Job::answer),
            End::NotDone(Trouble::Sqlite(error)) if jobs.len() > 1 && !Trouble::is_busy(&error) => {
                tracing::warn!(jobs = jobs.len(), code = ?error.sqlite_error_code(), "a group is run again one by one");
                self.one_by_one(jobs, durability);
            }
            End::Panicked if jobs.len() > 1 => {
                tracing::error!(jobs = jobs.len(), "a group of writes panicked, and is run again one by one");
                self.one_by_one(jobs, durability);
            }
            End::NotDone(trouble) => {
                let error = trouble.not_done(&self.site);
                jobs.drain(..).for_each(|job| job.fail(&error));
            }
            End::Panicked => {
                tracing::error!("a write panicked, and was rolled back");
                let message =
                    "a normaliser, a clock or the store itself panicked in this write; nothing of it was done";
                let error = StoreError::not_done(StoreErrorKind::Unavailable, message);
                jobs.drain(..).for_each(|job| job.fail(&error));
            }
            End::Unknown(trouble) => {
                let error = trouble.unknown(&self.site);
                tracing::warn!(jobs = jobs.len(), %error, "a commit failed");
                jobs.drain(..).for_each(|job| job.fail(&error));
            }
        }
    }

    /// Which job it was, or whether SQLite had to drop the others' work with it, does not matter: alone each one gets the
    /// answer that it deserves (S4).
    fn one_by_one(&mut self, jobs: &mut Vec<Job>, durability: Durability) {
        for job in jobs.drain(..) {
            self.run_group(&mut vec![job], durability);
        }
    }

    /// A panic, which only the user's own clock or normaliser can cause, comes before the commit: nothing was done.
    fn transaction_caught(&mut self, jobs: &mut [Job], durability: Durability) -> End {
        catch_unwind(AssertUnwindSafe(|| self.transaction(jobs, durability))).unwrap_or_else(|_| {
            self.roll_back();
            End::Panicked
        })
    }

    fn transaction(&mut self, jobs: &mut [Job], durability: Durability) -> End {
        if self.misplaced && !self.files.are_in_place() {
            return End::NotDone(Files::misplaced(&self.site));
        }
        self.misplaced = false;
        if let Err(error) = self.begin(durability, LOCK_WAIT_US_MAX) {
            return End::NotDone(error.into());
        }
        // The present is read under the lock, which may have taken a while to get.
        let work = Work::new(&self.connection, self.clock.now());
        for job in &mut *jobs {
            if let Err(error) = job.work(&work, |trouble| trouble.not_done(&self.site)) {
                self.roll_back();
                return End::NotDone(error.into());
            }
        }
        if let Err(error) = work.run("COMMIT", []) {
            self.roll_back();
            return End::Unknown(error.into());
        }
        // After the commit, so that it is in the file of that name when it is reported (S4, S6).
        if durability == Durability::Full && !self.files.are_in_place() {
            self.misplaced = true;
            return End::Unknown(Files::misplaced(&self.site));
        }
        End::Committed
    }

    fn begin(&mut self, durability: Durability, wait_us_max: u64) -> rusqlite::Result<()> {
        // A rollback that failed earlier may have left a transaction open.
        self.roll_back();
        if self.durability != durability {
            // It can't change inside a transaction, and a prepared one would be run when it is prepared.
            self.connection.execute_batch(match durability {
                Durability::Lazy => "PRAGMA synchronous = NORMAL",
                Durability::Full => "PRAGMA synchronous = FULL",
            })?;
            self.durability = durability;
        }
        patiently_for(wait_us_max, || self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([]).map(drop))
    }

    fn roll_back(&self) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::warn!(code = ?error.sqlite_error_code(), "a rollback failed; it is tried again before the next group");
        }
    }

    /// Housekeeping after the answers are given. Nothing needs it, so nothing hears of its failure (R7).
    fn sweep_if_due(&mut self) {
        let Ok(now) = catch_unwind(AssertUnwindSafe(|| self.clock.now())) else { return };
        // A clock that was set back must not put it off until it is there again.
        if self.swept_at.is_some_and(|swept_at| now >= swept_at && now.saturating_since(swept_at) < SWEEP_EVERY) {
            return;
        }
        self.swept_at = Some(now);
        if self.begin(Durability::Lazy, SWEEP_WAIT_US_MAX).is_ok() {
            let work = Work::new(&self.connection, now);
            let swept = reservations::sweep(&work, 1).and_then(|_| Ok(work.run("COMMIT", [])?));
            if let Err(trouble) = swept {
                let error = trouble.not_done(&self.site);
                tracing::warn!(%error, "expired reservations were not swept");
                self.roll_back();
            }
        }
    }
}

/// Puts a job with those of its durability, or behind the append or settle of its own attempt.
pub(super) fn sort_in(job: Job, lazy: &mut Vec<Job>, full: &mut Vec<Job>) {
    let is_behind = |job: &Job| {
        let attempt = job.attempt();
        attempt.is_some() && full.iter().any(|before| before.attempt() == attempt)
    };
    match job.durability() {
        Durability::Lazy if !is_behind(&job) => lazy.push(job),
        Durability::Lazy | Durability::Full => full.push(job),
    }
}
