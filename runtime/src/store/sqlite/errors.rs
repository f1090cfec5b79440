//! Trouble with SQLite, by meaning: what happened, in which file, what to do next. No statement's text, no key (R19, S3).

use crate::store::{StoreError, StoreErrorKind};
use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file of a store, as messages name it.
#[derive(Clone, Debug)]
pub(super) struct Site {
    path: Arc<Path>,
}

impl Site {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path: path.into() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Why a job or an opening failed, before it is put into words for its caller.
#[derive(Debug)]
pub(super) enum Trouble {
    /// SQLite said so. Its own message stays here.
    Sqlite(rusqlite::Error),
    /// A row is not what this store writes.
    Damaged {
        /// The table, and which row, without a key's text.
        row: String,
        /// The column that can't be read.
        column: &'static str,
    },
    /// In words already.
    Store(StoreError),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Trouble {
    pub(super) fn store(kind: StoreErrorKind, message: String) -> Self {
        Self::Store(StoreError::not_done(kind, message))
    }

    /// The error for a call that surely had no effect.
    pub(super) fn not_done(&self, site: &Site) -> StoreError {
        let (kind, message) = self.explain(site);
        StoreError::not_done(kind, message)
    }

    /// The error for a call that may have had its effect.
    pub(super) fn unknown(&self, site: &Site) -> StoreError {
        let (kind, message) = self.explain(site);
        StoreError::unknown(kind, message)
    }

    fn explain(&self, site: &Site) -> (StoreErrorKind, String) {
        let file = site.path().display();
        match self {
            Self::Sqlite(error) => explain_sqlite(error, site),
            Self::Damaged { row, column } => (
                StoreErrorKind::Corrupt,
                format!(
                    "{file}: {column:?} of {row} can't be read; it was changed by hand or the file is damaged. \
                     Repair that row, or restore a backup"
                ),
            ),
            Self::Store(error) => (error.kind(), error.to_string()),
        }
    }

    /// Whether somebody else has the lock that is needed.
    pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
        use ErrorCode::{DatabaseBusy, DatabaseLocked, FileLockingProtocolFailed};
        // The third is what a reader gets that lost the race for the log again and again.
        matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked | FileLockingProtocolFailed))
    }
}

fn explain_sqlite(error: &rusqlite::Error, site: &Site) -> (StoreErrorKind, String) {
    let file = site.path().display();
    let Some(code) = error.sqlite_error_code() else {
        return explain_driver(error, site);
    };
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => (
            StoreErrorKind::Unavailable,
            format!(
                "{file} stayed locked by another process for about 10 s: a backup, a shell with an open transaction, \
                 or another service on the same file. Find it with `fuser` or `lsof`, and try again"
            ),
        ),
        ErrorCode::DiskFull => {
            (StoreErrorKind::Unusable, format!("the disk, or the quota, of {file} is full; free space and try again"))
        }
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied => (
            StoreErrorKind::Unusable,
            format!(
                "{file} can't be written; the file, and its directory, must be writable by this user and not on a \
                 read-only mount"
            ),
        ),
        ErrorCode::CannotOpen => (
            StoreErrorKind::Unusable,
            format!(
                "{file}, or its log beside it, can't be opened or created; check that the directory exists, is not on a \
                 read-only mount, and that this user may write there"
            ),
        ),
        ErrorCode::NotADatabase => (
            StoreErrorKind::Incompatible,
            format!(
                "{file} is not an SQLite database; give the path of a Freehold store, or of a file that does not exist yet"
            ),
        ),
        ErrorCode::DatabaseCorrupt => (
            StoreErrorKind::Corrupt,
            format!("{file} is damaged; look at it with `PRAGMA integrity_check`, and restore a backup"),
        ),
        ErrorCode::SystemIoFailure | ErrorCode::NoLargeFileSupport => (
            StoreErrorKind::Unusable,
            format!(
                "the system failed to read or write {file} (SQLite code {}); check the disk and the system's log, and \
                 that the file is not on a network share",
                extended_code(error)
            ),
        ),
        ErrorCode::OutOfMemory => {
            (StoreErrorKind::Unavailable, format!("there was not enough memory to work on {file}; try again"))
        }
        ErrorCode::TooBig => (
            StoreErrorKind::Unusable,
            format!("a value is larger than SQLite can store in {file} (1 GB); make the events or the state smaller"),
        ),
        _ => (
            StoreErrorKind::Incompatible,
            format!(
                "{file} does not work as a store of this release (SQLite code {}); were its tables changed by hand?",
                extended_code(error)
            ),
        ),
    }
}

/// An error of the driver's own, which has no code of SQLite's.
fn explain_driver(error: &rusqlite::Error, site: &Site) -> (StoreErrorKind, String) {
    let file = site.path().display();
    match error {
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::Utf8Error(..) => (
            StoreErrorKind::Corrupt,
            format!(
                "{file}: a column holds a value of the wrong type; it was changed by hand or the file is damaged. Restore a backup"
            ),
        ),
        rusqlite::Error::NulError(_) | rusqlite::Error::InvalidPath(_) => (
            StoreErrorKind::Unusable,
            format!("{file} is no path that SQLite can open; it holds a NUL or is not UTF-8"),
        ),
        _ => (StoreErrorKind::Incompatible, format!("{file} does not work as a store of this release")),
    }
}

fn extended_code(error: &rusqlite::Error) -> i32 {
    error.sqlite_error().map_or(0, |error| error.extended_code)
}
