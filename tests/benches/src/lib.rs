//! What the benchmarks share: rounds that alternate, and medians. A machine's speed drifts, so contestants take turns.

pub mod raw;

use std::time::{Duration, Instant};

/// What was measured of one contestant.
pub struct Contestant {
    /// How it is printed.
    pub name: String,
    /// Commands a second, one entry a round.
    pub rates: Vec<f64>,
}

impl Contestant {
    /// One that has not run yet.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), rates: Vec::new() }
    }

    /// Notes a round.
    pub fn ran(&mut self, commands: u32, took: Duration) {
        self.rates.push(f64::from(commands) / took.as_secs_f64());
    }

    /// The median rate.
    #[must_use]
    pub fn median(&self) -> f64 {
        let mut rates = self.rates.clone();
        rates.sort_unstable_by(f64::total_cmp);
        rates[rates.len() / 2]
    }

    /// Prints median and range, and the ratio to `base`.
    pub fn print(&self, base: &Self) {
        let (min, max) =
            self.rates.iter().fold((f64::MAX, 0.0_f64), |(min, max), rate| (min.min(*rate), max.max(*rate)));
        let (median, ratio) = (self.median(), self.median() / base.median());
        println!("{:<24} {median:>9.0}/s   {min:>8.0} .. {max:<8.0} {ratio:>6.2}", self.name);
    }
}

/// The machine's stopwatch.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "a benchmark measures the machine, not a clock that a test moves")]
pub fn stopwatch() -> Instant {
    Instant::now()
}

/// A number from the environment, such as `ROUNDS`, or its default.
#[must_use]
pub fn setting(name: &str, default: u32) -> u32 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
