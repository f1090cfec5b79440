//! The store passes the conformance suite of the testkit: one test for each case.

use freehold_testkit::ManualClock;
use freehold_testkit::conformance::Subject;
use own_store::RedbStore;
use std::sync::Arc;

freehold_testkit::conformance!(redb, || async {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let clock = ManualClock::default();
    let store = RedbStore::open(directory.path().join("store.redb"), Arc::new(clock.clone())).expect("a new file");
    Subject::new(store, move |duration| clock.advance(duration)).keeping(directory)
});
