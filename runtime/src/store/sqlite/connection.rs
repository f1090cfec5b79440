//! Connections: the checks before a file is opened, how each connection is set up and closed, and patience with locks.

use super::errors::{Site, Trouble};
use super::files;
use super::schema::{self, Owner, STEPS};
use crate::clock::Timestamp;
use crate::store::StoreErrorKind;
use rusqlite::{Connection, OpenFlags, ffi};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a lock is asked for without a pause.
const LOCK_SPINS: u32 = 20;
/// The longest pause between two tries. SQLite's own handler pauses up to 100 ms, and starves a second process.
const LOCK_PAUSE_US_MAX: u64 = 500;
/// How long the pauses may be in all before the file counts as locked.
pub(super) const LOCK_WAIT_US_MAX: u64 = 10_000_000;
/// What the scheduler adds to a pause, roughly.
const LOCK_PAUSE_OVERHEAD_US: u64 = 60;
/// How long a connection that is closed waits, in all, for another process that moves the log into the file just then.
const CLOSE_WAIT_US_MAX: u64 = 1_000_000;
/// How long a reader waits. In WAL mode it needs to only while the log is recovered or the file is closed.
const READER_WAIT: Duration = Duration::from_secs(10);
/// The page cache of a writer, in KiB. Beyond it is the system's, which is as good: 2 MiB to 128 MiB measure the same.
const WRITER_CACHE_KIB: i64 = 16_384;
/// The log's size in bytes beyond which it is cut after a checkpoint.
const WAL_BYTES_KEPT: i64 = 128 * 1024 * 1024;
/// Prepared statements kept by a connection; more than there are in this module.
const STATEMENTS_MAX: usize = 64;

/// Does `work` until nobody else has the lock, for about 10 s at most.
pub(super) fn patiently<T>(work: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    patiently_for(LOCK_WAIT_US_MAX, work)
}

pub(super) fn patiently_for<T>(wait_us_max: u64, mut work: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let (mut tries, mut waited_us) = (0, 0);
    loop {
        match work() {
            Err(error) if Trouble::is_busy(&error) && waited_us < wait_us_max => {
                tries += 1;
                if tries <= LOCK_SPINS {
                    std::thread::yield_now();
                } else {
                    let pause_us = fastrand::u64(50..=LOCK_PAUSE_US_MAX);
                    std::thread::sleep(Duration::from_micros(pause_us));
                    waited_us += pause_us + LOCK_PAUSE_OVERHEAD_US;
                }
            }
            done => return done,
        }
    }
}

/// Checks what can be said better before SQLite looks at the path, and makes it absolute.
pub(super) fn site(path: &Path, create: bool) -> Result<Site, Trouble> {
    let unusable = |message: String| Err(Trouble::store(StoreErrorKind::Unusable, message));
    if path.as_os_str().is_empty() || path == Path::new(":memory:") {
        return unusable("a SQLite store needs a file's path; for one in memory take `MemoryStore`".to_owned());
    }
    let path = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
    let shown = path.display();
    if path.is_dir() {
        return unusable(format!(
            "{shown} is a directory; name a file in it, such as {}",
            path.join("freehold.db").display()
        ));
    }
    if let Some(directory) = path.parent().filter(|directory| !directory.is_dir()) {
        return unusable(format!(
            "the directory {} does not exist; create it, or correct the path of the store {shown}",
            directory.display()
        ));
    }
    if !create && !path.exists() {
        return unusable(format!(
            "there is no store at {shown}; check the path. A store that is missing is created, unless \
             `SqliteOptions::create` is false, as here"
        ));
    }
    Ok(Site::new(path))
}

/// Opens the connection that writes, and brings the file's schema up to date.
///
/// Reads first, and asks for the write lock only when something must be written: a file that another process has locked
/// can be opened and read.
pub(super) fn open_writer(
    site: &Site,
    create: bool,
    wal_autocheckpoint: u32,
    now: Timestamp,
) -> Result<Connection, Trouble> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
    let connection = Connection::open_with_flags(site.path(), flags)?;
    connection.busy_timeout(Duration::ZERO)?;
    files::refuse_hard_links(site)?;
    prepare_writer(&connection, site, create, wal_autocheckpoint, now)?;
    files::sync_log(site)?;
    Ok(connection)
}

pub(super) fn prepare_writer(
    connection: &Connection,
    site: &Site,
    create: bool,
    wal_autocheckpoint: u32,
    now: Timestamp,
) -> Result<(), Trouble> {
    // Before the first look: a read-only directory has no room for the log, and SQLite's error would not say why.
    if connection.is_readonly("main")? {
        return Err(Trouble::store(
            StoreErrorKind::Unusable,
            format!(
                "{} is read-only; make the file and its directory writable for this user, and the mount as well. Even \
                 reading a store needs that",
                site.path().display()
            ),
        ));
    }
    // A foreign file is not touched, so this comes before anything that writes.
    if schema::owner(connection, site)? == Owner::Nobody && !create {
        return Err(Trouble::store(
            StoreErrorKind::Unusable,
            format!(
                "{} is empty, it is no store yet; check the path. An empty file is made a store, unless \
                 `SqliteOptions::create` is false, as here",
                site.path().display()
            ),
        ));
    }
    let mode: String = patiently(|| connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)))?;
    if mode != "wal" {
        return Err(Trouble::store(
            StoreErrorKind::Unusable,
            format!(
                "{} can't have a write-ahead log; put it on a local disk, not on a network share",
                site.path().display()
            ),
        ));
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    // Where a plain sync stops at the drive's own cache, which is Apple's systems (S4).
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    // What a savepoint may have to undo stays in memory: a temporary file is one more disk that may be full or read-only.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "foreign_keys", false)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    // These two answer with a row.
    connection.query_row(&format!("PRAGMA wal_autocheckpoint = {wal_autocheckpoint}"), [], |_| Ok(()))?;
    connection.query_row(&format!("PRAGMA journal_size_limit = {WAL_BYTES_KEPT}"), [], |_| Ok(()))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    schema::migrate(connection, site, STEPS, now)
}

/// Opens a connection that only reads. The file is opened for writing all the same: WAL mode has a shared index.
pub(super) fn open_reader(site: &Site) -> Result<Connection, Trouble> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(site.path(), flags)?;
    connection.busy_timeout(READER_WAIT)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    Ok(connection)
}

/// Reads in one transaction, which begins after everything that was answered before.
pub(super) fn at_one_moment<T>(
    connection: &Connection,
    read: impl FnOnce(&Connection) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    // One that was left open, by a rollback that failed or a panic, would show the past for ever.
    end_read(connection);
    connection.prepare_cached("BEGIN")?.execute([])?;
    let done = read(connection);
    end_read(connection);
    done
}

fn end_read(connection: &Connection) {
    if !connection.is_autocommit() {
        // Nothing was written; ending it can't lose anything, and the answer is there already.
        let _ = connection.prepare_cached("ROLLBACK").and_then(|mut end| end.execute([]));
    }
}

/// Moves what the log holds into the file, as far as readers let it; busy when another process is at it.
pub(super) fn move_log_into_file(connection: &Connection) -> rusqlite::Result<()> {
    let is_busy = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(0))?;
    if is_busy { Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None)) } else { Ok(()) }
}

/// Closes the store's last connection: its readers' are closed before.
///
/// SQLite moves the log into the file and deletes it when nobody else has the file open, which is why it matters who
/// closes last. When another process has it open, what can be moved is moved all the same.
pub(super) fn close_writer(connection: Connection, site: &Site) {
    let moved = patiently_for(CLOSE_WAIT_US_MAX, || move_log_into_file(&connection));
    let closed = moved.and_then(|()| connection.close().map_err(|(_, error)| error));
    if let Err(error) = closed {
        let error = Trouble::from(error).not_done(site);
        tracing::warn!(%error, "the store's log stays beside its file; nothing is lost, the next opening reads both");
    }
}
