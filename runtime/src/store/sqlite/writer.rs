//! The writer: one thread that commits what waits for it as a group. What a job does is in `job`.
//!
//! Each round takes what is queued, with no timer. Reserves and give-ups come first, in a transaction of their own that
//! does not wait for the disk: a pending record lost in a power cut is caught by the append's own look (R8). Then
//! the rest, in a transaction that is answered only once it is on the disk (S4). Within each of the two the order is
//! that of the calls; a call of an attempt whose append or settle waits in the same round stays behind it (R5).

use super::connection::patiently;
use super::errors::{Site, Trouble};
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

/// How a transaction ended.
enum End {
    /// Committed; the answers stand.
    Committed,
    /// Nothing of it was done.
    NotDone(Trouble),
    /// The commit itself failed: nobody knows (R9).
    Unknown(Trouble),
}

/// The writing thread's own.
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) site: Site,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) group_max: usize,
    durability: Durability,
    swept_at: Option<Timestamp>,
}

impl Writer {
    /// `connection` is set up by `connection::open_writer`, which leaves it at full durability.
    pub(super) fn new(connection: Connection, site: Site, clock: Arc<dyn Clock>, group_max: usize) -> Self {
        Self { connection, site, clock, group_max, durability: Durability::Full, swept_at: None }
    }

    /// Works until every handle is gone and the queue is empty.
    pub(super) fn run(mut self, queue: &Receiver<Job>) {
        let (mut lazy, mut full) = (Vec::new(), Vec::new());
        while let Ok(first) = queue.recv() {
            sort_in(first, &mut lazy, &mut full);
            for job in queue.try_iter().take(self.group_max - 1) {
                sort_in(job, &mut lazy, &mut full);
            }
            self.run_caught(&mut lazy, Durability::Lazy);
            self.run_caught(&mut full, Durability::Full);
            self.sweep_if_due();
        }
    }

    /// Runs a group. A panic, which only the user's own clock or normaliser can cause, costs this group only.
    fn run_caught(&mut self, jobs: &mut Vec<Job>, durability: Durability) {
        if jobs.is_empty() {
            return;
        }
        if catch_unwind(AssertUnwindSafe(|| self.run_group(jobs, durability))).is_ok() {
            return;
        }
        self.roll_back();
        tracing::error!(jobs = jobs.len(), "a group of writes panicked, and was rolled back");
        let message = "a normaliser, a clock or the store itself panicked in this group of writes";
        let error = StoreError::unknown(StoreErrorKind::Unavailable, message);
        jobs.drain(..).for_each(|job| job.fail(&error));
    }

    pub(super) fn run_group(&mut self, jobs: &mut Vec<Job>, durability: Durability) {
        match self.transaction(jobs, durability) {
            End::Committed => jobs.drain(..).for_each(Job::answer),
            End::NotDone(Trouble::Sqlite(error)) if jobs.len() > 1 && !Trouble::is_busy(&error) => {
                // Which job it was, or whether SQLite had to drop the others' work with it, does not matter: alone
                // each one gets the answer that it deserves (S4).
                tracing::warn!(jobs = jobs.len(), code = ?error.sqlite_error_code(), "a group is run again one by one");
                for job in jobs.drain(..) {
                    self.run_group(&mut vec![job], durability);
                }
            }
            End::NotDone(trouble) => {
                let error = trouble.not_done(&self.site);
                jobs.drain(..).for_each(|job| job.fail(&error));
            }
            End::Unknown(trouble) => {
                let error = trouble.unknown(&self.site);
                tracing::warn!(jobs = jobs.len(), %error, "a commit failed");
                jobs.drain(..).for_each(|job| job.fail(&error));
            }
        }
    }

    fn transaction(&mut self, jobs: &mut [Job], durability: Durability) -> End {
        if let Err(error) = self.begin(durability) {
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
        match work.run("COMMIT", []) {
            Ok(_) => End::Committed,
            Err(error) => {
                self.roll_back();
                End::Unknown(error.into())
            }
        }
    }

    fn begin(&mut self, durability: Durability) -> rusqlite::Result<()> {
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
        patiently(|| self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([]).map(drop))
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
        if self.swept_at.is_some_and(|swept_at| now.saturating_since(swept_at) < SWEEP_EVERY) {
            return;
        }
        self.swept_at = Some(now);
        if self.begin(Durability::Lazy).is_ok() {
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
