//! What happens to the files beneath a store: who closes last, what a lock of another process stops, and what is noticed
//! when somebody moves, replaces or deletes a file.

use super::*;
use crate::store::sqlite::connection::{open_writer, site};
use crate::store::{Check, Load, Registered, Settle, Settled, StoreError, StoreErrorKind};
use rusqlite::Connection;
use std::fs;

impl Scratch {
    fn files(&self) -> Vec<String> {
        let files = fs::read_dir(&self.0).unwrap();
        let mut files: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

fn load(id: &str) -> Load {
    Load { stream: brand(id), after_version: 0, snapshot_of: None }
}

/// What a person finds who looks at the file alone, without its log.
fn commits_in(file: &Path) -> i64 {
    let alone = file.with_extension("alone");
    fs::copy(file, &alone).unwrap();
    let connection = Connection::open(&alone).unwrap();
    let count = connection.query_row("SELECT count(*) FROM commits", [], |row| row.get(0)).unwrap();
    drop(connection);
    fs::remove_file(alone).unwrap();
    count
}

/// Writer and readers used to close at once, and then none of them had the file for itself.
#[test]
fn the_writer_closes_last_and_leaves_one_file() {
    let clock = Arc::<HandClock>::default();
    for round in 0..20 {
        let scratch = Scratch::new();
        let store = wait(SqliteStore::options().clock(clock.clone()).readers(16).open(scratch.file())).unwrap();
        let appends: Vec<_> = (0..20).map(|number| store.append(append("a", number, number.into(), &[]))).collect();
        drop(appends);
        wait(store.drain()).unwrap();
        // Enough for every reader to have read.
        let reads: Vec<_> = (0..100).map(|_| store.commits(0, 100)).collect();
        reads.into_iter().for_each(|read| assert_eq!(wait(read).unwrap().len(), 20));
        wait(store.close()).unwrap();
        assert_eq!(scratch.files(), ["store.db"], "round {round}");
        assert_eq!(commits_in(&scratch.file()), 20);
    }
}

#[test]
fn the_last_handle_that_is_dropped_leaves_one_file_too() {
    let clock = Arc::default();
    for _ in 0..10 {
        let scratch = Scratch::new();
        let store = open(&scratch.file(), &clock);
        let other = store.clone();
        drop(store.append(append("a", 0, 1, &[])));
        wait(store.close()).unwrap();
        assert_eq!(scratch.files().len(), 3, "another handle has it open");
        drop(other.append(append("a", 1, 2, &[])));
        drop(other);
        for _ in 0..20_000 {
            if scratch.files().len() == 1 {
                break;
            }
            thread::park_timeout(Duration::from_millis(1));
        }
        assert_eq!(scratch.files(), ["store.db"]);
        assert_eq!(commits_in(&scratch.file()), 2);
    }
}

/// A store that is not the last to close moves what it can: the file alone has everything that was written.
#[test]
fn closing_beside_another_store_moves_the_log_all_the_same() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let (one, other) = (open(&scratch.file(), &clock), open(&scratch.file(), &clock));
    written(wait(one.append(append("a", 0, 1, &[]))).unwrap());
    wait(one.close()).unwrap();
    assert_eq!(commits_in(&scratch.file()), 1);
    written(wait(other.append(append("a", 1, 2, &[]))).unwrap());
    wait(other.close()).unwrap();
    assert_eq!(scratch.files(), ["store.db"]);
}

/// `Domain::close` drains, and a program often ends after it: the file alone is whole then.
#[test]
fn draining_moves_the_log_into_the_file() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    drop(store.append(append("a", 0, 1, &[])));
    drop(store.append(append("a", 1, 2, &[])));
    wait(store.drain()).unwrap();
    assert_eq!(commits_in(&scratch.file()), 2);
}

/// `Domain::close` drains: the store goes on.
#[test]
fn draining_closes_nothing() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    for number in 0..3 {
        drop(store.append(append("a", number, u128::from(number), &[])));
        wait(store.drain()).unwrap();
        assert_eq!(wait(store.load(load("a"))).unwrap().commits.len() as u64, number + 1);
    }
}

/// S6: whoever has the write lock keeps nobody from opening, reading and closing.
#[test]
fn a_file_that_another_process_writes_to_is_opened_and_read() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    written(wait(store.append(append("a", 0, 1, &[("x", KeyUse::Take)]))).unwrap());
    wait(store.close()).unwrap();
    let other = Connection::open(scratch.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE; DELETE FROM commits").unwrap();

    let store = wait(SqliteStore::options().clock(clock.clone()).open(scratch.file())).unwrap();
    let known = Registered::AsGiven { epoch: 1 };
    assert_eq!(wait(store.register(vec![names("verbatim@1")])).unwrap(), [known]);
    let differs = Registered::Differs { recorded: names("verbatim@1") };
    assert_eq!(wait(store.register(vec![names("other@1")])).unwrap(), [differs]);
    assert_eq!(wait(store.load(load("a"))).unwrap().commits.len(), 1);
    assert_eq!(wait(store.check(Check { stream: brand("a"), request: None })).unwrap().version, 1);
    assert_eq!(wait(store.commits(0, 10)).unwrap().len(), 1);
    assert_eq!(wait(store.held_by(brand("a"))).unwrap(), [name("x")]);
    assert!(wait(store.reservation(name("x"))).unwrap().record.is_some());
    wait(store.drain()).unwrap();
    wait(store.close()).unwrap();
    drop(other);
    wait(open(&scratch.file(), &clock).close()).unwrap();
}

/// R9: the log of a process that died is found, with nobody writing anything; and its answers come after its sync.
#[test]
fn a_log_that_a_crash_left_is_read_by_an_opening_that_writes_nothing() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    written(wait(store.append(append("a", 0, 1, &[("x", KeyUse::Take)]))).unwrap());
    for (from, to) in [("store.db", "crashed.db"), ("store.db-wal", "crashed.db-wal")] {
        fs::copy(scratch.path(from), scratch.path(to)).unwrap();
    }
    let log = fs::read(scratch.path("crashed.db-wal")).unwrap();
    let store = wait(SqliteStore::open(scratch.path("crashed.db"))).unwrap();
    assert_eq!(fs::read(scratch.path("crashed.db-wal")).unwrap(), log);
    let request = Some(append("a", 0, 1, &[]).request.id);
    assert!(wait(store.check(Check { stream: brand("a"), request })).unwrap().first.is_some());
    assert_eq!(wait(store.held_by(brand("a"))).unwrap(), [name("x")]);
}

#[track_caller]
fn is_misplaced(error: &StoreError, is_surely_not_done: bool) {
    assert_eq!(error.kind(), StoreErrorKind::Unusable, "{error}");
    assert!(error.to_string().contains("moved, replaced or deleted"), "{error}");
    assert_eq!(error.surely_not_done(), is_surely_not_done, "{error}");
}

/// S4, S6: SQLite goes on with a file that has no name any more, and what it commits there is lost.
#[cfg(unix)]
#[test]
fn nothing_is_reported_committed_in_a_file_that_is_not_there() {
    let clock = Arc::default();
    for gone in ["store.db", "store.db-wal", "store.db-shm"] {
        let scratch = Scratch::new();
        let store = open(&scratch.file(), &clock);
        written(wait(store.append(append("a", 0, 1, &[]))).unwrap());
        fs::rename(scratch.path(gone), scratch.path("aside")).unwrap();
        is_misplaced(&wait(store.append(append("a", 1, 2, &[]))).unwrap_err(), false);
        is_misplaced(&wait(store.append(append("a", 2, 3, &[]))).unwrap_err(), true);
        is_misplaced(&wait(store.reserve(reserve("a", 3, &["x"]))).unwrap_err(), true);
        let settle =
            || Settle { stream: brand("a"), version: 2, request: request(1).id, token: token(2), keys: vec![] };
        is_misplaced(&wait(store.settle(settle())).unwrap_err(), true);
        // Another file of that name is not ours either.
        fs::write(scratch.path(gone), "").unwrap();
        is_misplaced(&wait(store.settle(settle())).unwrap_err(), true);
        if gone == "store.db" {
            is_misplaced(&wait(store.load(load("a"))).unwrap_err(), true);
        }
        wait(store.drain()).unwrap();
        // It is put back, and what was unknown can be settled.
        fs::rename(scratch.path("aside"), scratch.path(gone)).unwrap();
        assert!(matches!(wait(store.settle(settle())).unwrap(), Settled::Written(_)));
        assert_eq!(wait(store.load(load("a"))).unwrap().commits.len(), 2);
        wait(store.close()).unwrap();
        assert_eq!(scratch.files(), ["store.db"]);
    }
}

/// A store that is replaced beneath a running one: the new file stays as it is when the old one is closed.
#[cfg(unix)]
#[test]
fn closing_does_not_touch_the_file_that_took_its_place() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let backup = open(&scratch.path("backup.db"), &clock);
    written(wait(backup.append(append("backup", 0, 1, &[]))).unwrap());
    wait(backup.close()).unwrap();
    let store = open(&scratch.file(), &clock);
    written(wait(store.append(append("a", 0, 1, &[]))).unwrap());
    fs::rename(scratch.path("backup.db"), scratch.file()).unwrap();
    for name in ["store.db-wal", "store.db-shm"] {
        fs::remove_file(scratch.path(name)).unwrap();
    }
    let before = fs::read(scratch.file()).unwrap();
    wait(store.close()).unwrap();
    assert_eq!(fs::read(scratch.file()).unwrap(), before);
    let store = open(&scratch.file(), &clock);
    assert_eq!(wait(store.load(load("backup"))).unwrap().commits.len(), 1);
}

/// A symbolic link is followed before anything is put beside the file.
#[cfg(unix)]
#[test]
fn a_symbolic_link_is_the_file_it_leads_to() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    fs::create_dir(scratch.path("links")).unwrap();
    let direct = open(&scratch.file(), &clock);
    std::os::unix::fs::symlink(scratch.file(), scratch.path("links/catalog.db")).unwrap();
    let linked = open(&scratch.path("links/catalog.db"), &clock);
    let stores = [&direct, &linked];
    for number in 0..10 {
        let store = stores[usize::from(number % 2 == 1)];
        written(wait(store.append(append("a", number, number.into(), &[]))).unwrap());
    }
    // The link is turned to another file.
    wait(open(&scratch.path("other.db"), &clock).close()).unwrap();
    fs::remove_file(scratch.path("links/catalog.db")).unwrap();
    std::os::unix::fs::symlink(scratch.path("other.db"), scratch.path("links/catalog.db")).unwrap();
    is_misplaced(&wait(linked.load(load("a"))).unwrap_err(), true);
    wait(linked.close()).unwrap();
    wait(direct.close()).unwrap();
    assert_eq!(scratch.files(), ["links", "other.db", "store.db"]);
    assert_eq!(commits_in(&scratch.file()), 10);
}

/// Each hard link would get a log and locks of its own, and both stores one key.
#[cfg(unix)]
#[test]
fn a_second_hard_link_is_refused() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    wait(open(&scratch.file(), &clock).close()).unwrap();
    fs::hard_link(scratch.file(), scratch.path("second.db")).unwrap();
    for path in [scratch.file(), scratch.path("second.db")] {
        let error = wait(SqliteStore::open(&path)).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unusable);
        assert!(error.to_string().contains("hard links"), "{error}");
    }
    fs::remove_file(scratch.path("second.db")).unwrap();
    wait(open(&scratch.file(), &clock).close()).unwrap();
}

/// A reader that stays keeps the log from being reused: it grows past its limit, nothing else suffers, and it is gone
/// once the reader is.
#[test]
fn a_long_reader_lets_the_log_grow_and_no_more() {
    let (scratch, clock) = (Scratch::new(), Arc::<HandClock>::default());
    let store = wait(SqliteStore::options().clock(clock).wal_autocheckpoint(10).open(scratch.file())).unwrap();
    let log = || fs::metadata(scratch.path("store.db-wal")).unwrap().len();
    let long = Connection::open(scratch.file()).unwrap();
    long.execute_batch("BEGIN; SELECT count(*) FROM commits").unwrap();
    let write = |numbers: std::ops::Range<u64>| {
        for number in numbers {
            written(wait(store.append(append("a", number, number.into(), &[]))).unwrap());
        }
    };
    write(0..300);
    let grown = log();
    assert!(grown > 100 * 4_096, "{grown}");
    assert_eq!(wait(store.commits(0, usize::MAX)).unwrap().len(), 300);
    let seen: i64 = long.query_row("SELECT count(*) FROM commits", [], |row| row.get(0)).unwrap();
    assert_eq!(seen, 0, "it reads the past");
    long.execute_batch("COMMIT").unwrap();
    write(300..400);
    assert!(log() < grown + 20 * 4_096, "it is used again from its beginning");
    drop(long);
    wait(store.close()).unwrap();
    assert_eq!(scratch.files(), ["store.db"]);
    assert_eq!(commits_in(&scratch.file()), 400);
}

/// A connection of the writer's alone, without threads, closes as cleanly.
#[test]
fn an_opening_that_nobody_waits_for_closes_what_it_opened() {
    let scratch = Scratch::new();
    for _ in 0..10 {
        let mut opening = Box::pin(SqliteStore::open(scratch.file()));
        let _ = opening.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        drop(opening);
        let site = site(&scratch.file(), true).unwrap();
        drop(open_writer(&site, true, 1_000, Timestamp::from_millis(0)).unwrap());
    }
}
