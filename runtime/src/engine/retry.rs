//! How long and how often a command is decided anew: after conflicts (R6), and for pending keys of others (R21).

use super::attempt::Blocked;
use crate::domain::Inner;
use crate::limits::RETRY_PAUSE_MAX;
use crate::reservation::RecordState;
use std::time::Duration;

/// The budget of one command.
#[derive(Debug)]
pub(crate) struct Retry {
    attempts_left: u32,
    waited: Duration,
    conflicts: u32,
}

impl Retry {
    pub(crate) fn new(domain: &Inner) -> Self {
        Self { attempts_left: domain.settings.attempts.max(1) - 1, waited: Duration::ZERO, conflicts: 0 }
    }

    /// Pauses before the next attempt after a conflict: whether there is one left (R6).
    ///
    /// The first is made at once; the others after a random part of a pause that doubles, so that two that conflict
    /// don't meet again and again.
    pub(crate) async fn after_conflict(&mut self, domain: &Inner) -> bool {
        if self.attempts_left == 0 {
            return false;
        }
        self.attempts_left -= 1;
        if self.conflicts > 0 && domain.settings.pause_between_attempts {
            let longest = Duration::from_millis(1 << self.conflicts.min(10)).min(RETRY_PAUSE_MAX);
            domain.clock.sleep(longest.mul_f64(fastrand::f64())).await;
        }
        self.conflicts += 1;
        true
    }

    /// Waits until the key in the way has settled or expired: whether that came within the budget (R21).
    ///
    /// What counts is the time slept, and the rest of the lease by the store's own clock, so that a clock of another
    /// machine has no say (R7).
    pub(crate) async fn after_pending(&mut self, domain: &Inner, blocked: &Blocked) -> bool {
        let budget = domain.settings.pending_wait;
        let (mut slept, mut pause) = (Duration::ZERO, Duration::from_millis(1));
        loop {
            let left = budget.saturating_sub(self.waited);
            if left.is_zero() {
                return false;
            }
            let jittered = pause.mul_f64(0.5 + fastrand::f64()).max(Duration::from_millis(1)).min(left);
            domain.clock.sleep(jittered).await;
            self.waited += jittered;
            slept += jittered;
            if slept >= blocked.expires_in || settled(domain, blocked).await {
                return true;
            }
            pause = (pause * 2).min(RETRY_PAUSE_MAX);
        }
    }
}

/// Whether the key is no longer pending. A store that can't say is asked by the next attempt.
async fn settled(domain: &Inner, blocked: &Blocked) -> bool {
    match domain.store.reservation(blocked.key.clone()).await {
        Ok(Some(record)) => !matches!(record.state, RecordState::Pending(_)),
        Ok(None) | Err(_) => true,
    }
}
