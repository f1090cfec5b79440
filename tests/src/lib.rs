//! What the tests share: subjects of every store, servers, processes, the auditor. No test.

pub mod audit;
pub mod client;
pub mod postgres;
pub mod process;
pub mod runner;

use freehold::{MemoryStore, PostgresStore, SqliteStore};
use freehold_testkit::ManualClock;
use freehold_testkit::conformance::Subject;
use postgres::Schema;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

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

/// A PostgreSQL store on the server that the cheap tests share.
///
/// # Panics
///
/// When there is no server, or it can't be opened.
pub async fn postgres() -> Subject {
    postgres_in(Schema::shared()).await
}

/// A PostgreSQL store in a schema of its own, with a clock of its own. Reopening opens the same schema once more.
///
/// # Panics
///
/// When it can't be opened.
pub async fn postgres_in(schema: Schema) -> Subject {
    let schema = Arc::new(schema);
    let store = postgres_at(&schema).await;
    let sql = schema.sql();
    // The store reads its present in one function, so that a test can be that present (R7).
    sql.run(&CLOCK.replace("SCHEMA", schema.name()));
    let tick = format!("update {}.test_clock set ms = ms + ", schema.name());
    let reopened = Arc::clone(&schema);
    let advance = move |duration: Duration| sql.run(&format!("{tick}{}", duration.as_millis()));
    Subject::new(store, advance)
        .reopening(move || {
            let schema = Arc::clone(&reopened);
            async move { postgres_at(&schema).await }
        })
        .keeping(schema)
}

const CLOCK: &str = "
    create table SCHEMA.test_clock(ms bigint not null);
    insert into SCHEMA.test_clock select (extract(epoch from clock_timestamp()) * 1000)::bigint;
    create or replace function SCHEMA.now_ms() returns bigint language sql as 'select ms from SCHEMA.test_clock';
";

/// Opens `schema`, with few connections: many tests share the server.
///
/// # Panics
///
/// When it can't be opened.
pub async fn postgres_at(schema: &Schema) -> PostgresStore {
    let options = PostgresStore::options().schema(schema.name()).read_connections(2);
    options.open(schema.url()).await.expect("the schema opens")
}
