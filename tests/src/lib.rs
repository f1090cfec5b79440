//! What the tests share: subjects of every store. No test.

use freehold::MemoryStore;
use freehold_testkit::ManualClock;
use freehold_testkit::conformance::Subject;
use std::sync::Arc;

/// A memory store with a clock of its own.
#[must_use]
pub fn memory() -> Subject {
    let clock = ManualClock::default();
    let store = MemoryStore::with_clock(Arc::new(clock.clone()));
    Subject::new(store, move |duration| clock.advance(duration))
}
