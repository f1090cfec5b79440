//! Opening: schema versions, files that can't be a store, and what is said of them.

use super::*;
use crate::store::sqlite::connection::{open_writer, patiently_for, prepare_writer, site};
use crate::store::sqlite::errors::{Site, Trouble};
use crate::store::sqlite::log;
use crate::store::sqlite::schema::{self, STEPS, Step};
use crate::store::sqlite::work::Work;
use crate::store::{Check, Load, StoreError, StoreErrorKind};
use rusqlite::{Connection, OpenFlags, ffi};

#[track_caller]
fn refuses(path: &Path, kind: StoreErrorKind, says: &str) {
    let error = wait(SqliteStore::open(path)).expect_err("it is no store");
    said_well(&error, path, kind, says);
}

#[track_caller]
fn said_well(error: &StoreError, path: &Path, kind: StoreErrorKind, says: &str) {
    let message = error.to_string();
    assert_eq!(error.kind(), kind, "{message}");
    assert!(error.surely_not_done(), "{message}");
    assert!(message.contains(says) && message.contains(&path.display().to_string()), "{message}");
    for statement in ["SELECT", "INSERT", "PRAGMA application", "BEGIN", "sqlite_schema"] {
        assert!(!message.contains(statement), "{message}");
    }
}

/// S5: the steps run once, and what was written is there after the second opening.
#[test]
fn a_store_is_opened_again_with_what_was_in_it() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    written(wait(store.append(append("a", 0, 1, &[("x", KeyUse::Take)]))).unwrap());
    wait(store.close()).unwrap();

    let store = open(&scratch.file(), &clock);
    assert_eq!(wait(store.commits(0, 10)).unwrap().len(), 1);
    assert_eq!(wait(store.held_by(brand("a"))).unwrap(), [name("x")]);
    assert_eq!(
        Connection::open(scratch.file()).unwrap().pragma_query_value(None, "application_id", |row| row.get(0)),
        Ok(schema::APPLICATION_ID)
    );
}

#[test]
fn closing_merges_the_log_into_one_file() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    written(wait(store.append(append("a", 0, 1, &[]))).unwrap());
    wait(store.close()).unwrap();
    let files: Vec<_> = std::fs::read_dir(&scratch.0).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["store.db"]);
}

/// S5: two processes start at once.
#[test]
fn many_open_a_new_file_at_once() {
    for _ in 0..10 {
        let scratch = Scratch::new();
        let opened = thread::scope(|scope| {
            let openings: Vec<_> = (0..4).map(|_| scope.spawn(|| wait(SqliteStore::open(scratch.file())))).collect();
            openings.into_iter().map(|opening| opening.join().unwrap()).collect::<Result<Vec<_>, _>>()
        });
        let stores = opened.unwrap();
        wait(stores[0].register(vec![names("verbatim@1")])).unwrap();
        for (number, store) in (0_u64..).zip(&stores) {
            written(wait(store.append(append("a", number, u128::from(number) + 1, &[]))).unwrap());
        }
        assert_eq!(wait(stores[0].commits(0, 10)).unwrap().len(), 4);
    }
}

fn newer(version: i64, lowest_reader: i64) -> Vec<Step> {
    let known = STEPS.iter().map(|step| Step { sql: step.sql, ..*step });
    known.chain([Step { version, lowest_reader, sql: "ALTER TABLE commits ADD COLUMN added TEXT" }]).collect()
}

/// S5: expand first, contract a release later.
#[test]
fn a_newer_schema_is_used_and_a_too_new_one_refused() {
    let clock = Arc::default();
    for (lowest_reader, is_usable) in [(1, true), (2, true), (3, false)] {
        let scratch = Scratch::new();
        wait(open(&scratch.file(), &clock).close()).unwrap();
        let connection = Connection::open(scratch.file()).unwrap();
        let site = Site::new(scratch.file());
        for _ in 0..2 {
            schema::migrate(&connection, &site, &newer(3, lowest_reader), Timestamp::from_millis(0)).unwrap();
        }
        drop(connection);
        if is_usable {
            let store = open(&scratch.file(), &clock);
            written(wait(store.append(append("a", 0, 1, &[]))).unwrap());
        } else {
            refuses(&scratch.file(), StoreErrorKind::Incompatible, "Deploy the newer release");
        }
    }
}

/// S5, R9: a file of before marks is brought up to date, tombstones and all, and stays one that the older release can use.
#[test]
fn a_file_of_version_1_is_migrated_and_keeps_what_was_settled() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let connection = Connection::open(scratch.file()).unwrap();
    let (site, now) = (Site::new(scratch.file()), Timestamp::from_millis(0));
    schema::migrate(&connection, &site, &STEPS[..1], now).unwrap();
    let work = Work::new(&connection, now);
    assert!(log::insert(&work, &append("a", 0, 1, &[]), 1).unwrap());
    work.fence(token(2)).unwrap();
    let schema_of = |connection: &Connection| {
        let sql = "SELECT version, lowest_reader FROM freehold_schema";
        connection.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))).unwrap()
    };
    assert_eq!(schema_of(&connection), (1, 1));
    drop(connection);

    let store = open(&scratch.file(), &clock);
    assert!(matches!(refused(wait(store.append(append("a", 1, 2, &[]))).unwrap()), Refusal::Fenced { mark: 0 }));
    let checked = wait(store.check(Check { stream: brand("a"), request: Some(request(3).id) })).unwrap();
    assert_eq!(checked.version, 1);
    let late = refused(wait(store.append(append("a", 1, 3, &[]))).unwrap());
    assert!(matches!(late, Refusal::Fenced { mark } if mark == checked.mark && mark > 0), "{late:?}");
    written(wait(store.append(append("a", 1, 4, &[("x", KeyUse::Take)]))).unwrap());
    wait(store.close()).unwrap();
    assert_eq!(schema_of(&Connection::open(scratch.file()).unwrap()), (2, 1));
    assert_eq!(wait(open(&scratch.file(), &clock).commits(0, 10)).unwrap().len(), 2);
}

#[test]
fn a_path_that_is_no_store_is_refused_with_its_reason() {
    let scratch = Scratch::new();
    refuses(&scratch.0, StoreErrorKind::Unusable, "is a directory");
    refuses(&scratch.0.join("missing/store.db"), StoreErrorKind::Unusable, "does not exist");
    let text = scratch.0.join("notes.txt");
    std::fs::write(&text, "no database at all, but long enough to have a header of one hundred bytes. ".repeat(4))
        .unwrap();
    refuses(&text, StoreErrorKind::Incompatible, "is not an SQLite database");
    let error = wait(SqliteStore::open(":memory:")).unwrap_err();
    assert!(error.to_string().contains("MemoryStore"), "{error}");
    let options = SqliteStore::options().create(false);
    let error = wait(options.clone().open(scratch.file())).unwrap_err();
    said_well(&error, &scratch.file(), StoreErrorKind::Unusable, "check the path. A store that is missing is created");
    assert!(!scratch.file().exists());
    std::fs::write(scratch.file(), "").unwrap();
    let error = wait(options.open(scratch.file())).unwrap_err();
    said_well(&error, &scratch.file(), StoreErrorKind::Unusable, "it is no store yet; check the path");
}

#[test]
fn the_database_of_another_program_is_not_touched() {
    let scratch = Scratch::new();
    Connection::open(scratch.file()).unwrap().execute_batch("CREATE TABLE commits (theirs TEXT)").unwrap();
    let before = std::fs::read(scratch.file()).unwrap();
    refuses(&scratch.file(), StoreErrorKind::Incompatible, "another program");
    assert_eq!(std::fs::read(scratch.file()).unwrap(), before);
}

#[test]
fn a_file_that_can_only_be_read_is_unusable() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    wait(open(&scratch.file(), &clock).close()).unwrap();
    let site = Site::new(scratch.file());
    // What SQLite does by itself when it may not write; a privileged user always may.
    let connection = Connection::open_with_flags(scratch.file(), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let trouble = prepare_writer(&connection, &site, true, 1_000, Timestamp::from_millis(0)).unwrap_err();
    said_well(&trouble.not_done(&site), &scratch.file(), StoreErrorKind::Unusable, "read-only");
}

#[test]
fn a_damaged_file_is_corrupt_and_says_so() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    for number in 0..50 {
        written(wait(store.append(append("a", number, u128::from(number) + 1, &[]))).unwrap());
    }
    wait(store.close()).unwrap();
    let mut bytes = std::fs::read(scratch.file()).unwrap();
    bytes[4096..].fill(0xFF);
    std::fs::write(scratch.file(), bytes).unwrap();
    refuses(&scratch.file(), StoreErrorKind::Corrupt, "is damaged");
}

#[test]
fn a_row_that_can_not_be_read_is_named() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    let cases = [("events", "[{"), ("token", "no uuid"), ("fingerprint", "abc"), ("kind", "other"), ("keys", "1")];
    for (number, (column, value)) in (1..).zip(cases) {
        let id = format!("damaged-{column}");
        let position = written(wait(store.append(append(&id, 0, number, &[]))).unwrap()).position;
        let connection = Connection::open(scratch.file()).unwrap();
        let sql = format!("UPDATE commits SET {column} = ?1 WHERE id = ?2");
        assert_eq!(connection.execute(&sql, [value, &id]), Ok(1));
        let load = Load { stream: brand(&id), after_version: 0, snapshot_of: None };
        let error = wait(store.load(load)).expect_err("it can't be read");
        said_well(&error, &scratch.file(), StoreErrorKind::Corrupt, column);
        assert!(error.to_string().contains(&format!("position {position}")), "{error}");
    }
}

#[test]
fn a_gap_in_a_stream_is_corrupt() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    for number in 0..3 {
        written(wait(store.append(append("a", number, u128::from(number) + 1, &[]))).unwrap());
    }
    Connection::open(scratch.file()).unwrap().execute("DELETE FROM commits WHERE version = 2", []).unwrap();
    let error = wait(store.load(Load { stream: brand("a"), after_version: 0, snapshot_of: None })).unwrap_err();
    said_well(&error, &scratch.file(), StoreErrorKind::Corrupt, "version 2 is missing");
}

/// S3: every error of SQLite's has a kind and words of ours, and never its own text.
#[test]
fn errors_are_told_by_meaning() {
    let site = Site::new(PathBuf::from("/srv/catalog.db"));
    for (code, kind, says) in [
        (ffi::SQLITE_BUSY, StoreErrorKind::Unavailable, "locked by another process"),
        (ffi::SQLITE_FULL, StoreErrorKind::Unusable, "is full"),
        (ffi::SQLITE_PROTOCOL, StoreErrorKind::Unavailable, "locked by another process"),
        (ffi::SQLITE_READONLY, StoreErrorKind::Unusable, "read-only"),
        (ffi::SQLITE_CANTOPEN, StoreErrorKind::Unusable, "read-only"),
        (ffi::SQLITE_NOTADB, StoreErrorKind::Incompatible, "not an SQLite database"),
        (ffi::SQLITE_CORRUPT, StoreErrorKind::Corrupt, "is damaged"),
        (ffi::SQLITE_IOERR_FSYNC, StoreErrorKind::Unusable, "code 1034"),
        (ffi::SQLITE_NOMEM, StoreErrorKind::Unavailable, "memory"),
        (ffi::SQLITE_TOOBIG, StoreErrorKind::Unusable, "larger than"),
        (ffi::SQLITE_ERROR, StoreErrorKind::Incompatible, "changed by hand"),
    ] {
        let raw = rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some("INSERT INTO commits".to_owned()));
        let error = Trouble::from(raw).not_done(&site);
        said_well(&error, Path::new("/srv/catalog.db"), kind, says);
        assert_eq!(error.is_retryable(), kind == StoreErrorKind::Unavailable);
    }
}

#[test]
fn a_lock_is_waited_for_and_not_for_ever() {
    let scratch = Scratch::new();
    let site = site(&scratch.file(), true).unwrap();
    let one = open_writer(&site, true, 1_000, Timestamp::from_millis(0)).unwrap();
    let other = open_writer(&site, true, 1_000, Timestamp::from_millis(0)).unwrap();
    one.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut tries = 0;
    let error = patiently_for(5_000, || {
        tries += 1;
        other.execute_batch("BEGIN IMMEDIATE")
    });
    assert!(Trouble::is_busy(&error.unwrap_err()));
    assert!(tries > 20, "{tries}");
    let mut one = Some(one);
    patiently_for(5_000, || {
        // The other process lets go between two tries.
        drop(one.take());
        other.execute_batch("BEGIN IMMEDIATE")
    })
    .unwrap();
}

/// S7: the tables are for people too.
#[test]
fn the_tables_can_be_read_with_a_shell() {
    let (scratch, clock) = (Scratch::new(), Arc::<HandClock>::default());
    clock.forward(1_700_000_000_123);
    let store = open(&scratch.file(), &clock);
    written(wait(store.append(append("a", 0, 1, &[("x", KeyUse::Take)]))).unwrap());
    wait(store.reserve(reserve("b", 2, &["y"]))).unwrap();
    let connection = Connection::open(scratch.file()).unwrap();
    let read = |sql: &str| {
        let mut find = connection.prepare(sql).unwrap();
        let rows = find.query_map([], |row| row.get::<_, String>(0)).unwrap();
        rows.collect::<Result<Vec<_>, _>>().unwrap().join(" | ")
    };
    assert_eq!(read("SELECT at FROM commits_readable"), "2023-11-14T22:13:20.123Z");
    assert_eq!(read("SELECT events FROM commits"), r#"[{"type":"Changed","v":1,"data":"1"}]"#);
    assert_eq!(read("SELECT keys FROM commits"), r#"[{"ns":"names","scope":"acme","key":"x","taken":true}]"#);
    assert_eq!(
        read("SELECT key || ' ' || state || coalesce(' ' || expires_at, '') FROM reservations_readable ORDER BY key"),
        "x confirmed | y pending 2023-11-14T22:13:50.123Z"
    );
    assert_eq!(read("SELECT normalizer FROM namespaces"), "verbatim@1");
}
