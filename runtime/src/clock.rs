//! Time: `Timestamp`, and the `Clock` through which alone the crate reads or waits for it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A point in time: milliseconds since the Unix epoch, UTC.
///
/// Arithmetic never overflows: what does not fit becomes [`Timestamp::MAX`].
///
/// ```
/// use freehold::Timestamp;
/// use std::time::Duration;
///
/// let start = Timestamp::from_millis(0);
/// assert_eq!((start + Duration::from_secs(30)).as_millis(), 30_000);
/// assert_eq!(start + Duration::MAX, Timestamp::MAX);
/// assert_eq!(start.to_string(), "1970-01-01T00:00:00.000Z");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The last point in time there is; nothing expires at it in practice.
    pub const MAX: Self = Self(i64::MAX);

    /// The point `millis` milliseconds after the Unix epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The time from `earlier` to `self`; zero when `earlier` is later.
    #[must_use]
    pub fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl std::ops::Add<Duration> for Timestamp {
    type Output = Self;
    fn add(self, duration: Duration) -> Self {
        i64::try_from(duration.as_millis()).map_or(Self::MAX, |millis| Self(self.0.saturating_add(millis)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(f, "{time:.3}"),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The future of [`Clock::sleep`].
pub type Sleep<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Where time comes from: the wall clock, or a clock that a test moves.
///
/// The domain reads it for `scope.now()` and waits on it between attempts and for deadlines; the memory and
/// SQLite stores judge expiry by theirs (R7).
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The present.
    fn now(&self) -> Timestamp;

    /// Completes once `duration` has passed on this clock.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a dropped sleep has no effect.
    fn sleep(&self, duration: Duration) -> Sleep<'_>;
}

/// The machine's wall clock; it waits with `tokio::time`, so a domain that uses it belongs on a tokio runtime with time
/// enabled.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(0) + since_epoch
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        Box::pin(tokio::time::sleep(duration))
    }
}
