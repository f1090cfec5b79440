//! `ManualClock`: time that moves only when a test moves it.

use freehold::{Clock, Sleep, Timestamp};
use parking_lot::Mutex;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Where a manual clock starts unless it is told: 2030-01-01T00:00:00Z.
const START: Timestamp = Timestamp::from_millis(1_893_456_000_000);

/// A clock that stands still until it is moved. Clones are the same clock.
///
/// A `sleep` on it completes once the clock has been moved to its end, or past it; nobody waits for real time.
///
/// ```
/// use freehold::Clock;
/// use freehold_testkit::ManualClock;
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let before = clock.now();
/// clock.advance(Duration::from_secs(30));
/// assert_eq!(clock.now().saturating_since(before), Duration::from_secs(30));
/// ```
#[derive(Clone)]
pub struct ManualClock {
    state: Arc<Mutex<State>>,
}

struct State {
    now: Timestamp,
    sleepers: Vec<(u64, Timestamp, Waker)>,
    next_sleeper: u64,
}

impl ManualClock {
    /// A clock that stands at 2030-01-01T00:00:00Z.
    #[must_use]
    pub fn new() -> Self {
        Self::at(START)
    }

    /// A clock that stands at `now`.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self { state: Arc::new(Mutex::new(State { now, sleepers: Vec::new(), next_sleeper: 0 })) }
    }

    /// Moves the clock to `now`, backwards too, and wakes the sleepers whose time has come.
    pub fn set(&self, now: Timestamp) {
        let mut state = self.state.lock();
        state.now = now;
        let (due, still): (Vec<_>, Vec<_>) =
            std::mem::take(&mut state.sleepers).into_iter().partition(|(_, until, _)| *until <= now);
        state.sleepers = still;
        drop(state);
        for (.., waker) in due {
            waker.wake();
        }
    }

    /// Moves the clock forward.
    pub fn advance(&self, duration: Duration) {
        let now = self.state.lock().now + duration;
        self.set(now);
    }

    /// When the first of the sleepers wakes up; none when nobody sleeps.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.state.lock().sleepers.iter().map(|(_, until, _)| *until).min()
    }

    /// Moves the clock to where the first of the sleepers wakes up: whether somebody slept.
    #[must_use = "false when nobody slept, and nothing was moved"]
    pub fn advance_to_next_wake(&self) -> bool {
        let Some(next) = self.next_wake() else { return false };
        self.set(next.max(self.now()));
        true
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.state.lock().now
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        Box::pin(Sleeper { clock: self, until: self.now() + duration, place: None })
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ManualClock({})", self.now())
    }
}

struct Sleeper<'c> {
    clock: &'c ManualClock,
    until: Timestamp,
    place: Option<u64>,
}

impl Future for Sleeper<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let clock = self.clock;
        let mut state = clock.state.lock();
        if state.now >= self.until {
            return Poll::Ready(());
        }
        let known = self.place.and_then(|place| state.sleepers.iter_mut().find(|(other, ..)| *other == place));
        if let Some((.., waker)) = known {
            waker.clone_from(context.waker());
            return Poll::Pending;
        }
        let place = state.next_sleeper;
        state.next_sleeper += 1;
        state.sleepers.push((place, self.until, context.waker().clone()));
        drop(state);
        self.place = Some(place);
        Poll::Pending
    }
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.clock.state.lock().sleepers.retain(|(other, ..)| *other != place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_ends_when_the_clock_is_moved_to_its_end() {
        let clock = ManualClock::new();
        let mut context = Context::from_waker(Waker::noop());
        let mut sleep = clock.sleep(Duration::from_secs(2));
        assert!(sleep.as_mut().poll(&mut context).is_pending());
        clock.advance(Duration::from_secs(1));
        assert!(sleep.as_mut().poll(&mut context).is_pending());
        assert_eq!(clock.next_wake(), Some(clock.now() + Duration::from_secs(1)));
        assert!(clock.clone().advance_to_next_wake());
        assert!(sleep.as_mut().poll(&mut context).is_ready());
        assert!(!clock.advance_to_next_wake());
    }

    #[test]
    fn a_dropped_sleep_leaves_no_sleeper() {
        let clock = ManualClock::new();
        let mut sleep = clock.sleep(Duration::from_secs(2));
        assert!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(sleep);
        assert_eq!(clock.next_wake(), None);
    }
}
