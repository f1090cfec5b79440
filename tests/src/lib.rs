//! What the tests share: subjects of every store. No test.

use freehold::{MemoryStore, SqliteStore};
use freehold_testkit::ManualClock;
use freehold_testkit::conformance::Subject;
use std::path::Path;
use std::sync::Arc;

/// A memory store with a clock of its own.
#[must_use]
pub fn memory() -> Subject {
    let clock = ManualClock::default();
    let store = MemoryStore::with_clock(Arc::new(clock.clone()));
    Subject::new(store, move |duration| clock.advance(duration))
}

/// A SQLite store in a temporary directory, with a clock of its own. Reopening opens the same file once more.
///
/// # Panics
///
/// When the file can't be made or opened.
pub async fn sqlite() -> Subject {
    let clock = ManualClock::default();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("test.db");
    let store = sqlite_at(&file, &clock).await;
    let moved = clock.clone();
    Subject::new(store, move |duration| moved.advance(duration))
        .reopening(move || {
            let (file, clock) = (file.clone(), clock.clone());
            async move { sqlite_at(&file, &clock).await }
        })
        .keeping(directory)
}

/// Opens `file` with `clock`.
///
/// # Panics
///
/// When it can't be opened.
pub async fn sqlite_at(file: &Path, clock: &ManualClock) -> SqliteStore {
    let opened = SqliteStore::options().clock(Arc::new(clock.clone())).open(file).await;
    opened.expect("the file opens")
}
