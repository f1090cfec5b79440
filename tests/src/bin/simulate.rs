//! Runs random schedules against the reference model for as long as one likes. Prints the seed and the shortest schedule
//! of the first one on which the store disagrees.

use freehold::{Clock, SystemClock, Timestamp};
use freehold_testkit::sim::{Disagreement, run_seeds};
use freehold_tests::postgres::Schema;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

const USAGE: &str = "usage: simulate [--seed N] [--minutes M] [--store memory|sqlite|postgres://..]
  --seed     the first seed; 0 unless given
  --minutes  how long to go on; 1 unless given
  --store    the store to put to it; memory unless given";

/// How often to say how far it is.
const TELL_EVERY_SECS: u64 = 30;

struct Arguments {
    seed: u64,
    minutes: u64,
    store: String,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self { seed: 0, minutes: 1, store: "memory".to_owned() };
        while let Some(option) = words.next() {
            let value = words.next().ok_or_else(|| format!("{option}: what is its value?"))?;
            let number = || value.parse().map_err(|_| format!("{option}: {value:?} is no number"));
            match option.as_str() {
                "--seed" => arguments.seed = number()?,
                "--minutes" => arguments.minutes = number()?,
                "--store" => arguments.store = value,
                _ => return Err(format!("{option}: no such option")),
            }
        }
        if arguments.minutes == 0 {
            return Err("--minutes: nothing is run in no time".to_owned());
        }
        Ok(arguments)
    }
}

/// Says from time to time how far it is, until the time is over.
struct Watch {
    start: Timestamp,
    end: Duration,
    told: AtomicU64,
}

impl Watch {
    fn goes_on(&self, done: u64) -> bool {
        let elapsed = SystemClock.now().saturating_since(self.start);
        let turn = elapsed.as_secs() / TELL_EVERY_SECS;
        if self.told.fetch_max(turn, Ordering::Relaxed) < turn {
            eprintln!("{} s: {done} schedules, store and model agree", elapsed.as_secs());
        }
        elapsed < self.end
    }
}

fn simulate(arguments: &Arguments) -> Result<Result<u64, Box<Disagreement>>, String> {
    let end = Duration::from_secs(arguments.minutes.saturating_mul(60));
    let watch = Watch { start: SystemClock.now(), end, told: AtomicU64::new(0) };
    let (seeds, goes_on) = (arguments.seed..u64::MAX, |done| watch.goes_on(done));
    let threads = available_parallelism().map_or(1, std::num::NonZero::get);
    match arguments.store.as_str() {
        "memory" => Ok(run_seeds(async || freehold_tests::memory(), seeds, threads, goes_on)),
        "sqlite" => Ok(run_seeds(freehold_tests::sqlite, seeds, threads, goes_on)),
        url if url.starts_with("postgres://") => {
            Ok(run_seeds(async || freehold_tests::postgres_in(Schema::new(url)).await, seeds, threads, goes_on))
        }
        other => Err(format!("--store: {other:?} is no store")),
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse(std::env::args().skip(1));
    match arguments.and_then(|arguments| Ok((arguments.seed, simulate(&arguments)?))) {
        Ok((seed, Ok(done))) => {
            println!("{done} schedules from seed {seed} on: store and model agree");
            ExitCode::SUCCESS
        }
        Ok((_, Err(disagreement))) => {
            println!("{disagreement}");
            ExitCode::FAILURE
        }
        Err(problem) => {
            eprintln!("{problem}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}
