//! Random interleavings of deciders against the reference model, on every store.

use freehold_testkit::conformance::Subject;
use freehold_testkit::sim::Simulation;

/// Runs the seeds `seeds` of a few shapes of simulation, on subjects that are used for many runs each.
#[track_caller]
fn simulate(connect: impl AsyncFn() -> Subject, seeds: std::ops::Range<u64>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    let shapes = [
        Simulation::default(),
        Simulation { deciders: 2, aggregates: 2, keys: 1, steps: 40 },
        Simulation { deciders: 4, aggregates: 1, keys: 3, steps: 50 },
        Simulation { deciders: 8, aggregates: 8, keys: 2, steps: 120 },
    ];
    runtime.block_on(async {
        let subject = connect().await;
        for seed in seeds {
            for shape in shapes {
                if let Err(disagreement) = shape.run(&subject, seed).await {
                    panic!("{shape:?}\n{disagreement}");
                }
            }
        }
    });
}

#[test]
fn the_memory_store_agrees_with_the_model() {
    simulate(async || freehold_tests::memory(), 0..5_000);
}

#[test]
fn the_sqlite_store_agrees_with_the_model() {
    simulate(freehold_tests::sqlite, 0..100);
}
