//! Trouble with PostgreSQL, by meaning: what happened, on which server, what to do next. No statement's text, no message
//! of the server's, no key (R19, S3).

use crate::store::{StoreError, StoreErrorKind};
use std::error::Error as _;
use std::sync::Arc;
use tokio_postgres::error::{Error, Severity, SqlState};

/// The place of a store, as messages name it: without user and password.
#[derive(Clone, Debug)]
pub(super) struct Site(Arc<str>);

impl Site {
    pub(super) fn new(place: &str, schema: &str) -> Self {
        Self(format!("{place}, schema {schema:?}").into())
    }
}

impl std::fmt::Display for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a call failed, before it is put into words for its caller.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It was never sent: no connection could be had, or the one there was is closed.
    NotSent(Cause),
    /// It was sent, and may have had its effect: the connection was lost, or the answer did not come in time.
    Lost(Cause),
    /// The server refused it, and has undone whatever it did.
    Refused(Error),
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

/// Why there is no connection, or no more.
#[derive(Debug)]
pub(super) enum Cause {
    /// The driver, or the server, said so.
    Driver(Error),
    /// All connections of the store were in use for too long.
    PoolExhausted,
    /// No answer in time.
    TimedOut,
    /// The connection was closed before the call was sent.
    Closed,
    /// The answer is not what the store's functions answer with.
    Unreadable,
}

impl Trouble {
    pub(super) fn store(kind: StoreErrorKind, message: String) -> Self {
        Self::Store(StoreError::not_done(kind, message))
    }

    /// What the driver says of a call that was sent.
    pub(super) fn of_call(error: Error) -> Self {
        match error.as_db_error() {
            // Anything beyond an error ends the connection, and the answer to the commit may have been under way.
            Some(answer) if answer.parsed_severity() == Some(Severity::Error) => Self::Refused(error),
            None if is_unsent(&error) => Self::Refused(error),
            _ => Self::Lost(Cause::Driver(error)),
        }
    }

    /// The same for a call that has had its effect when its answer is read: what can't be read is not undone.
    pub(super) fn after_the_call(self) -> Self {
        match self {
            Self::Damaged { .. } => Self::Lost(Cause::Unreadable),
            trouble => trouble,
        }
    }

    /// The error for whoever made the call.
    pub(super) fn explained(&self, site: &Site) -> StoreError {
        let (kind, what) = self.in_words();
        let message = format!("{site}: {what}");
        match self {
            Self::Store(error) => error.clone(),
            Self::Lost(_) => StoreError::unknown(kind, message),
            Self::NotSent(_) | Self::Refused(_) | Self::Damaged { .. } => StoreError::not_done(kind, message),
        }
    }

    fn in_words(&self) -> (StoreErrorKind, String) {
        match self {
            Self::NotSent(cause) | Self::Lost(cause) => cause.in_words(),
            Self::Refused(error) => refused(error),
            Self::Damaged { row, column } => (
                StoreErrorKind::Corrupt,
                format!(
                    "{column:?} of {row} can't be read; it was changed by hand. Repair that row, or restore a backup"
                ),
            ),
            Self::Store(error) => (error.kind(), error.to_string()),
        }
    }

    fn state(&self) -> Option<&SqlState> {
        match self {
            Self::Refused(error) => error.code(),
            _ => None,
        }
    }

    /// Whether the database chose this transaction to lose: nothing was done, and the same once more is in order (R18).
    pub(super) fn asks_for_another_run(&self) -> bool {
        self.state().is_some_and(|state| {
            [&SqlState::T_R_DEADLOCK_DETECTED, &SqlState::T_R_SERIALIZATION_FAILURE].contains(&state)
        })
    }

    /// Whether it may be the fault of one call in a group: its payload, or a row that another keeps locked. What concerns
    /// the whole connection is not.
    pub(super) fn may_be_of_one(&self) -> bool {
        let of_group = |state: &SqlState| {
            state.code().starts_with("08")
                || state.code().starts_with("57P")
                || *state == SqlState::READ_ONLY_SQL_TRANSACTION
        };
        match self {
            Self::Refused(error) => error.code().is_none_or(|state| !of_group(state)),
            Self::Damaged { .. } | Self::Store(_) => true,
            Self::NotSent(_) | Self::Lost(_) => false,
        }
    }

    /// Whether the connection is of no more use: it is gone, or leads to a server that takes no writes.
    pub(super) fn spoils_connection(&self) -> bool {
        match self {
            Self::Lost(_) => true,
            Self::Refused(error) => {
                let spoiling = [
                    &SqlState::READ_ONLY_SQL_TRANSACTION,
                    &SqlState::INVALID_SQL_STATEMENT_NAME,
                    &SqlState::DUPLICATE_PSTATEMENT,
                ];
                error.is_closed() || error.code().is_some_and(|state| spoiling.contains(&state))
            }
            _ => false,
        }
    }
}

/// Whether a parameter could not be encoded, as one that is too long, which is found before anything is sent.
fn is_unsent(error: &Error) -> bool {
    let words = error.to_string();
    ["error serializing parameter", "error encoding message"].iter().any(|start| words.starts_with(start))
}

impl Cause {
    fn in_words(&self) -> (StoreErrorKind, String) {
        match self {
            Self::PoolExhausted => (
                StoreErrorKind::Unavailable,
                "all connections of the store were busy for too long; allow more with `PostgresOptions`, or send fewer calls at once"
                    .to_owned(),
            ),
            Self::TimedOut => (
                StoreErrorKind::Unavailable,
                "no answer in time; look whether the server is overloaded or a lock is held, and try again".to_owned(),
            ),
            Self::Closed => (StoreErrorKind::Unavailable, "the connection was closed; try again".to_owned()),
            Self::Unreadable => (
                StoreErrorKind::Corrupt,
                "an answer can't be read; the functions of the store were changed by hand: restore them".to_owned(),
            ),
            Self::Driver(error) if error.as_db_error().is_some() => refused(error),
            Self::Driver(error) => unreachable_server(error),
        }
    }
}

/// Trouble that the server never answered to: the driver's own words and those of the system, which know no statement.
fn unreachable_server(error: &Error) -> (StoreErrorKind, String) {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        if !words.contains(&cause.to_string()) {
            words = format!("{words}: {cause}");
        }
        source = cause.source();
    }
    if words.contains("TLS") || words.contains("certificate") {
        let help = "check `sslmode` in the URL, whether the server has TLS, and `sslrootcert` when its certificate is of an authority \
                    of your own";
        return (StoreErrorKind::Unusable, format!("no TLS connection ({words}); {help}"));
    }
    if words.contains("authentication") || words.contains("password missing") {
        let help = "put user and password in the URL";
        return (StoreErrorKind::Unusable, format!("no connection ({words}); {help}"));
    }
    let help = "check host, port and that the server runs, and try again";
    (StoreErrorKind::Unavailable, format!("the server can't be reached ({words}); {help}"))
}

fn refused(error: &Error) -> (StoreErrorKind, String) {
    use StoreErrorKind::{Corrupt, Incompatible, Unavailable, Unusable};
    let Some(state) = error.code() else {
        return (
            Unusable,
            "a value can't be sent to the server: it is too long for PostgreSQL, which takes 1 GB".to_owned(),
        );
    };
    let code = state.code();
    let (kind, what) = match *state {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => (
            Unusable,
            "the server refused this user or its password; check both in the URL, and pg_hba.conf on the server",
        ),
        SqlState::UNDEFINED_DATABASE => (Unusable, "there is no such database; create it, or correct the URL"),
        SqlState::INSUFFICIENT_PRIVILEGE => (
            Unusable,
            "this user lacks a right; `grant usage on schema .. to ..`, `grant select, insert, update, delete on all tables in \
             schema .. to ..`, `grant usage, select on all sequences in schema .. to ..` and `grant execute on all functions in \
             schema .. to ..`; opening the store says which",
        ),
        SqlState::TOO_MANY_CONNECTIONS => {
            (Unavailable, "the server has no connection left; raise max_connections, use fewer, or try again later")
        }
        SqlState::CANNOT_CONNECT_NOW => (Unavailable, "the server is starting up or shutting down; try again"),
        SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN => {
            (Unavailable, "the server ended the connection; try again")
        }
        SqlState::QUERY_CANCELED => {
            (Unavailable, "the server cancelled the statement, as statement_timeout or an operator asked; try again")
        }
        SqlState::LOCK_NOT_AVAILABLE => (
            Unavailable,
            "a lock was not free in time: look in pg_locks for a transaction that stays open on these tables, and try again",
        ),
        SqlState::READ_ONLY_SQL_TRANSACTION => (
            Unavailable,
            "the server takes no writes: it is a standby, or read-only; name all hosts and `target_session_attrs=read-write` in the \
             URL, and try again",
        ),
        SqlState::OUT_OF_MEMORY => (
            Unavailable,
            "the server is out of memory, or of room for locks; raise max_locks_per_transaction there, or lower \
             `PostgresOptions::group_max`, and try again",
        ),
        SqlState::DISK_FULL => (Unusable, "the server's disk is full; free space and try again"),
        SqlState::T_R_DEADLOCK_DETECTED | SqlState::T_R_SERIALIZATION_FAILURE => {
            (Unavailable, "the database gave the transaction up for another one; try again")
        }
        SqlState::UNDEFINED_TABLE
        | SqlState::UNDEFINED_FUNCTION
        | SqlState::INVALID_SCHEMA_NAME
        | SqlState::UNDEFINED_COLUMN => (
            Incompatible,
            "a table or function of the store is not there; the schema is not Freehold's or was changed by hand: open the store \
             anew, or restore it",
        ),
        SqlState::INVALID_SQL_STATEMENT_NAME | SqlState::DUPLICATE_PSTATEMENT => (
            Unusable,
            "a prepared statement was lost on the way, as behind PgBouncer in transaction mode; \
             open the store with `PostgresOptions::prepared_statements(false)`",
        ),
        _ => by_class(code),
    };
    let kind = if code.starts_with("XX00") && code != "XX000" { Corrupt } else { kind };
    (kind, format!("{what} (SQLSTATE {code})"))
}

fn by_class(code: &str) -> (StoreErrorKind, &'static str) {
    if code == "FH003" {
        return (
            StoreErrorKind::Corrupt,
            "the sequence commits_position is behind the log, as on what was a logical replica; nothing was written: \
             `select setval('commits_position', (select max(position) from commits))` in the store's schema, as its owner",
        );
    }
    match &code[..2] {
        "08" => (StoreErrorKind::Unavailable, "the connection failed; try again"),
        "53" | "57" | "58" => (
            StoreErrorKind::Unavailable,
            "the server is short of something, or in trouble; look in its log, and try again",
        ),
        "22" | "54" => {
            (StoreErrorKind::Unusable, "the server can't store this: an event, a name or metadata is not what it takes")
        }
        "FH" => (
            StoreErrorKind::Unusable,
            "the isolation level of the connection is not `read committed`; set default_transaction_isolation back for \
             this user and database",
        ),
        _ => (StoreErrorKind::Unusable, "the server refused the call; look in its log for why"),
    }
}
