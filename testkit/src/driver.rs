//! The driver: polls a future to its end on this thread, without a runtime, and says so when it can't.

use crate::clock::ManualClock;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// How often a future is polled before it counts as one that never ends.
const POLLS_MAX: u32 = 1_000_000;

/// Why a future was not driven to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stuck {
    /// It waits, and nothing that the driver knows of will wake it: a runtime's timer, a socket, another thread.
    WaitsOutside,
    /// It wakes itself again and again, and never ends.
    NeverEnds,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WaitsOutside => "it waits for something that only a runtime or another thread can bring",
            Self::NeverEnds => "it was polled 1000000 times, woke itself each time, and did not end",
        })
    }
}

impl std::error::Error for Stuck {}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// Polls `future` to its end. For futures that wait for nothing but themselves, such as those of the memory store.
///
/// ```
/// assert_eq!(freehold_testkit::drive(async { 1 + 1 }), 2);
/// ```
///
/// # Panics
///
/// When the future waits for something else: use a runtime then.
#[track_caller]
pub fn drive<F: Future>(future: F) -> F::Output {
    match try_drive(future, None) {
        Ok(output) => output,
        Err(stuck) => panic!("the future can't be driven without a runtime: {stuck}"),
    }
}

/// Polls `future` to its end; when it waits on `clock` and on nothing else, the clock is moved to where it wakes.
///
/// ```
/// use freehold::Clock;
/// use freehold_testkit::{ManualClock, try_drive};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let start = clock.now();
/// try_drive(clock.sleep(Duration::from_secs(3600)), Some(&clock))?;
/// assert_eq!(clock.now().saturating_since(start), Duration::from_secs(3600));
/// # Ok::<(), freehold_testkit::Stuck>(())
/// ```
///
/// # Errors
///
/// [`Stuck`] when it waits for something else, or never ends.
pub fn try_drive<F: Future>(future: F, clock: Option<&ManualClock>) -> Result<F::Output, Stuck> {
    let woken = Arc::new(Woken(AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    for _ in 0..POLLS_MAX {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Ok(output);
        }
        let goes_on = woken.0.swap(false, Ordering::AcqRel)
            || (clock.is_some_and(ManualClock::advance_to_next_wake) && woken.0.swap(false, Ordering::AcqRel));
        if !goes_on {
            return Err(Stuck::WaitsOutside);
        }
    }
    Err(Stuck::NeverEnds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_outside_is_told_apart_from_what_never_ends() {
        assert_eq!(try_drive(std::future::pending::<()>(), None), Err(Stuck::WaitsOutside));
        let restless = std::future::poll_fn(|context| {
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        assert_eq!(try_drive(restless, None), Err(Stuck::NeverEnds));
    }
}
