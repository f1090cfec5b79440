//! How long and how often a command is decided anew: after conflicts (R6), and for pending keys of others (R21).

use super::attempt::Blocked;
use super::guard::Link;
use crate::clock::Timestamp;
use crate::domain::Inner;
use crate::limits::RETRY_PAUSE_MAX;
use crate::store::KeyReading;
use std::time::Duration;

/// The budget of one command.
#[derive(Debug)]
pub(crate) struct Retry {
    attempts_left: u32,
    waiting_since: Option<Timestamp>,
    slept: Duration,
    conflicts: u32,
}

impl Retry {
    pub(crate) fn new(domain: &Inner) -> Self {
        Self {
            attempts_left: domain.settings.attempts.max(1) - 1,
            waiting_since: None,
            slept: Duration::ZERO,
            conflicts: 0,
        }
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
    /// The budget is time on the domain's clock since the first wait, with everything that is done in between; but not
    /// less than what was slept, should that clock stand still. When the lease ends is told by the store (R7).
    pub(crate) async fn after_pending(&mut self, domain: &Inner, blocked: &Blocked, link: &Link) -> bool {
        let budget = domain.settings.pending_wait;
        let since = *self.waiting_since.get_or_insert_with(|| domain.clock.now());
        let (mut slept, mut pause) = (Duration::ZERO, Duration::from_millis(1));
        loop {
            let left = budget.saturating_sub(self.slept.max(domain.clock.now().saturating_since(since)));
            if left.is_zero() {
                return false;
            }
            match waits_for(domain, blocked, link).await {
                Wait::Over => {
                    // Two that meet and give up at once must not meet again at once.
                    if slept.is_zero() {
                        self.sleep(domain, pause, left).await;
                    }
                    return true;
                }
                Wait::Vain => return false,
                Wait::On => {}
            }
            slept += self.sleep(domain, pause, left).await;
            if slept >= blocked.expires_in {
                return true;
            }
            pause = (pause * 2).min(RETRY_PAUSE_MAX);
        }
    }

    /// Sleeps a random time around `pause`, and says how long.
    async fn sleep(&mut self, domain: &Inner, pause: Duration, left: Duration) -> Duration {
        let jittered = pause.mul_f64(0.5 + fastrand::f64()).max(Duration::from_millis(1)).min(left);
        domain.clock.sleep(jittered).await;
        self.slept += jittered;
        jittered
    }
}

/// Whether waiting for a key makes sense.
enum Wait {
    /// It is still pending.
    On,
    /// It is no longer pending.
    Over,
    /// It is pending for a command that waits for this one.
    Vain,
}

/// A store that can't say is asked by the next attempt.
async fn waits_for(domain: &Inner, blocked: &Blocked, link: &Link) -> Wait {
    match domain.store.reservation(blocked.key.clone()).await {
        Ok(KeyReading { record: Some(record), now, .. }) if !record.is_confirmed() && record.is_live(now) => {
            if link.is_below(&record.holder) { Wait::Vain } else { Wait::On }
        }
        Ok(_) | Err(_) => Wait::Over,
    }
}
