//! Random schedules against the reference model: sound stores agree with it on every one, and wrong ones are caught (S1).

mod reach;
mod wrong;

use freehold::{MemoryStore, Store, StoreReply};
use freehold_testkit::ManualClock;
use freehold_testkit::conformance::Subject;
use freehold_testkit::sim::{Disagreement, Simulation, run_seeds};
use freehold_testkit::store::Call;
use std::ops::Range;
use std::sync::Arc;

/// Runs the schedules of `seeds`, and expects that store and model agree on each.
#[track_caller]
fn agrees<F: Future<Output = Subject>>(connect: impl Fn() -> F + Sync, seeds: Range<u64>, threads: usize) {
    let all = seeds.end - seeds.start;
    match run_seeds(connect, seeds, threads, |_| true) {
        Ok(run) => assert_eq!(run, all),
        Err(disagreement) => panic!("{disagreement}"),
    }
}

/// Short schedules, so that many different ones are tried.
#[test]
fn a_hundred_thousand_schedules_agree_with_the_model() {
    agrees(async || freehold_tests::memory(), 0..100_000, 2);
}

#[test]
fn the_sqlite_store_agrees_with_the_model() {
    agrees(freehold_tests::sqlite, 0..400, 1);
}

#[test]
#[ignore = "needs PostgreSQL: tests/run starts one"]
fn the_postgres_store_agrees_with_the_model() {
    agrees(freehold_tests::postgres, 0..500, 2);
}

/// Lets others go on before it makes a call, as a store with a queue does: the calls in flight take effect in any order.
#[derive(Debug)]
struct Dawdling(Arc<dyn Store>);

impl Dawdling {
    fn around<T: Send + 'static>(
        &self,
        _: Call,
        perform: impl FnOnce(&dyn Store) -> StoreReply<T> + Send + 'static,
    ) -> StoreReply<T> {
        let inner = Arc::clone(&self.0);
        StoreReply::waiting(async move {
            tokio::task::yield_now().await;
            perform(&*inner).await
        })
    }
}

freehold_testkit::store_around!(Dawdling);

/// S2: no order is wrong for calls that are in flight at once, as long as there is one.
#[test]
fn calls_in_flight_may_take_effect_in_any_order() {
    let dawdling = async || {
        let clock = ManualClock::default();
        let store = MemoryStore::with_clock(Arc::new(clock.clone()));
        Subject::new(Dawdling(Arc::new(store)), move |duration| clock.advance(duration))
    };
    agrees(dawdling, 0..10_000, 1);
}

#[tokio::test]
async fn long_schedules_of_many_deciders_agree_with_the_model() {
    let shape = Simulation { deciders: 8, aggregates: 8, keys: 2, requests: 4, steps: 120 };
    let subject = freehold_tests::memory();
    for seed in 0..500 {
        if let Err(disagreement) = shape.run(&subject, seed).await {
            panic!("{disagreement}");
        }
    }
}

/// What is printed can be run again: a schedule follows from its seed.
#[test]
fn a_seed_gives_the_same_schedule_again() {
    for seed in 0..8 {
        let shape = Simulation::of_seed(seed);
        assert_eq!(shape.schedule(seed), shape.schedule(seed));
        assert_ne!(shape.schedule(seed), shape.schedule(seed + 8));
    }
}

/// The first disagreement of the schedules of `seeds`, on one subject.
fn disagreement(subject: &Subject, seeds: Range<u64>) -> Option<Box<Disagreement>> {
    run_seeds(|| std::future::ready(subject.clone()), seeds, 1, |_| true).err()
}
