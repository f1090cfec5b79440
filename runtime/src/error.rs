//! Errors as their reader meets them: what happened, where, what to do next, and a stable code. None shows a key's
//! text, another holder, or a database's own message (R19, S3).

use crate::codec::CodecError;
use crate::decision::Rejection;
use crate::ids::{RequestId, StreamId};
use crate::store::{StoreError, StoreErrorKind};
use std::error::Error as StdError;

/// An id, tenant, namespace or request id that can't be one (R14).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {what} {problem}; it must have 1 to 255 bytes and no NUL")]
pub struct InvalidId {
    what: &'static str,
    problem: &'static str,
}

impl InvalidId {
    pub(crate) const fn new(what: &'static str, problem: &'static str) -> Self {
        Self { what, problem }
    }
}

/// A key that can't be one, or too many of them (R14, R17).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a key of namespace {namespace:?} {problem}")]
pub struct InvalidKey {
    namespace: &'static str,
    problem: &'static str,
}

impl InvalidKey {
    pub(crate) const fn new(namespace: &'static str, problem: &'static str) -> Self {
        Self { namespace, problem }
    }

    /// The namespace.
    #[must_use]
    pub const fn namespace(&self) -> &'static str {
        self.namespace
    }
}

/// A store call that failed while a command was decided.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct StoreFailure(pub(crate) StoreError);

/// What comes of a command or a load that did not succeed (C6).
///
/// [`code`](Self::code) is stable; [`is_retryable`](Self::is_retryable) and
/// [`surely_not_written`](Self::surely_not_written) say what a caller may do next.
///
/// | code | what it means | what to do |
/// | --- | --- | --- |
/// | `REJECTED` | the domain refused, with a code of its own | tell the user; send again when it is provisional |
/// | `FAILED` | the handler failed | see the source |
/// | `PANICKED` | a handler or an `#[on_event]` panicked | a bug in the domain; the panic hook has its message |
/// | `NOT_FOUND` | the aggregate does not exist | send it a command that creates it |
/// | `ALREADY_EXISTS` | it exists, and the command creates | another id, or another command |
/// | `DELETED` | it is deleted | `Restore` takes that back |
/// | `CONFLICT` | others wrote to it each time, or it has another version than `expect_version` | send again, or load and look |
/// | `NOT_WRITTEN` | the store failed, and surely wrote nothing | send again |
/// | `OUTCOME_UNKNOWN` | nobody knows yet whether it is written | send again with the same request id: it tells |
/// | `TIMEOUT` | the deadline passed before the append | send again |
/// | `OVERLOADED` | too much is waiting | send again later |
/// | `STORE_UNAVAILABLE` | the store is not reachable, or locked for long | send again |
/// | `STORE_UNUSABLE` | the file is read-only, full, or out of reach | see the message |
/// | `STORE_INCOMPATIBLE` | not a Freehold store, or one of a newer release | see the message |
/// | `STORE_CORRUPT` | what was read is not what was written | restore a copy |
/// | `STORE_CLOSED` | the store was closed | open it anew |
/// | `REQUEST_ID_REUSED` | the request id belongs to another request | an id of its own for each request |
/// | `INVALID_KEY` | a key is empty, too long, has NUL, or there are too many | a check on the input |
/// | `INVALID_ID` | an id is empty, too long, or has NUL | a check on the input |
/// | `UNDECODABLE` | an event can't be read by this code, or could not be read again | deploy the release that knows it |
/// | `MISCONFIGURED` | a namespace, an aggregate or a service is not as it must be | see the message |
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The domain refused the command. Nothing was written.
    #[error("rejected, {0}")]
    Rejected(Rejection),
    /// The handler failed, with its own cause.
    #[error("the handler of {command} failed on {stream}")]
    Failed {
        /// The command.
        command: &'static str,
        /// The aggregate.
        stream: Box<StreamId>,
        /// The handler's own error.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The handler, or the applying of an event, panicked. Nothing was written (C9).
    #[error("{during} panicked on {stream}; nothing was written. The panic's own message went to the panic hook")]
    Panicked {
        /// What panicked.
        during: String,
        /// The aggregate.
        stream: Box<StreamId>,
    },
    /// The aggregate has no domain event (C2).
    #[error("{stream} does not exist; send it a command that creates it")]
    NotFound {
        /// The aggregate.
        stream: Box<StreamId>,
    },
    /// The command creates, and the aggregate exists (C2).
    #[error("{stream} exists already; the command creates, and only what does not exist")]
    AlreadyExists {
        /// The aggregate.
        stream: Box<StreamId>,
    },
    /// The aggregate is deleted (C10).
    #[error("{stream} is deleted; `Restore` takes that back")]
    Deleted {
        /// The aggregate.
        stream: Box<StreamId>,
    },
    /// Others wrote to the aggregate each time before this command could (R6), or its version is not the expected
    /// one (C5).
    #[error("{}", conflict(stream, *attempts, *expected, *actual))]
    Conflict {
        /// The aggregate.
        stream: Box<StreamId>,
        /// How often the command was decided.
        attempts: u32,
        /// Whether it was `expect_version` that did not hold.
        expected: Option<u64>,
        /// The version found instead of the expected one.
        actual: Option<u64>,
    },
    /// The store failed to write, and it is certain that it did not (R9). Send again.
    #[error("request {request_id} was surely not written; send it again. {reason}")]
    NotWritten {
        /// The request.
        request_id: RequestId,
        /// What went wrong.
        reason: String,
    },
    /// Nobody knows yet whether the commit was written (R9). Send again with the same request id.
    #[error("it is not known whether request {request_id} was written; send it again with the same id. {reason}")]
    OutcomeUnknown {
        /// The request.
        request_id: RequestId,
        /// What went wrong.
        reason: String,
    },
    /// The deadline passed before the append was handed over (C5). Surely not written.
    #[error("the deadline passed before {stream} had decided; this send wrote nothing")]
    Timeout {
        /// The aggregate.
        stream: Box<StreamId>,
    },
    /// Too much is waiting already (S6).
    #[error("too many commands are waiting; send it again later. {reason}")]
    Overloaded {
        /// What is full.
        reason: String,
    },
    /// The store can't be used now.
    #[error("the store can't be used: {0}")]
    Unavailable(StoreError),
    /// The request id belongs to another request (C4).
    #[error("request id {request_id} was used for another request; every request needs an id of its own")]
    RequestIdReused {
        /// The request id.
        request_id: RequestId,
    },
    /// A key that can't be one (R14, R17).
    #[error(transparent)]
    InvalidKey(#[from] InvalidKey),
    /// An id that can't be one (R14).
    #[error(transparent)]
    InvalidId(#[from] InvalidId),
    /// What is stored can't be read by this code.
    #[error("{stream}: {problem}")]
    Undecodable {
        /// The aggregate.
        stream: Box<StreamId>,
        /// Which event or state, and why.
        problem: String,
    },
    /// The domain, or a command, is not set up as it must be.
    #[error("misconfigured: {0}")]
    Misconfigured(String),
}

impl Error {
    /// The stable code, which the documentation explains one by one.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Rejected(_) => "REJECTED",
            Self::Failed { .. } => "FAILED",
            Self::Panicked { .. } => "PANICKED",
            Self::NotFound { .. } => "NOT_FOUND",
            Self::AlreadyExists { .. } => "ALREADY_EXISTS",
            Self::Deleted { .. } => "DELETED",
            Self::Conflict { .. } => "CONFLICT",
            Self::NotWritten { .. } => "NOT_WRITTEN",
            Self::OutcomeUnknown { .. } => "OUTCOME_UNKNOWN",
            Self::Timeout { .. } => "TIMEOUT",
            Self::Overloaded { .. } => "OVERLOADED",
            Self::Unavailable(error) => error.code(),
            Self::RequestIdReused { .. } => "REQUEST_ID_REUSED",
            Self::InvalidKey(_) => "INVALID_KEY",
            Self::InvalidId(_) => "INVALID_ID",
            Self::Undecodable { .. } => "UNDECODABLE",
            Self::Misconfigured(_) => "MISCONFIGURED",
        }
    }

    /// Whether the same command may succeed when it is sent again, with the same request id.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Rejected(rejection) => rejection.is_provisional(),
            Self::Conflict { expected, .. } => expected.is_none(),
            Self::NotWritten { .. } | Self::OutcomeUnknown { .. } | Self::Timeout { .. } | Self::Overloaded { .. } => {
                true
            }
            Self::Unavailable(error) => error.is_retryable(),
            _ => false,
        }
    }

    /// Whether it is certain that this send wrote nothing.
    ///
    /// It speaks of this send alone: when an earlier one of the same request ended in `OutcomeUnknown`, that one may still be
    /// written. What its request came to is known once a send under its id ends in anything but an error of the store,
    /// `Timeout` or `Overloaded` (C4).
    #[must_use]
    pub fn surely_not_written(&self) -> bool {
        match self {
            Self::OutcomeUnknown { .. } => false,
            Self::Unavailable(error) => error.surely_not_done(),
            _ => true,
        }
    }

    /// The rejection, when it is one.
    #[must_use]
    pub fn rejection(&self) -> Option<&Rejection> {
        match self {
            Self::Rejected(rejection) => Some(rejection),
            _ => None,
        }
    }
}

fn conflict(stream: &StreamId, attempts: u32, expected: Option<u64>, actual: Option<u64>) -> String {
    match (expected, actual) {
        (Some(expected), Some(actual)) => {
            format!("{stream} has version {actual}, not {expected} as expected; nothing was written")
        }
        _ => format!("{stream} was changed by others in each of {attempts} attempt(s); nothing was written"),
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error.kind() {
            // What may have had an effect stays what it is, so that nobody takes it for surely not written.
            _ if !error.surely_not_done() => Self::Unavailable(error),
            StoreErrorKind::Overloaded => Self::Overloaded { reason: error.to_string() },
            StoreErrorKind::NamespaceChanged => Self::Misconfigured(error.to_string()),
            _ => Self::Unavailable(error),
        }
    }
}

impl Error {
    pub(crate) fn undecodable(stream: &StreamId, error: &CodecError) -> Self {
        Self::Undecodable { stream: Box::new(stream.clone()), problem: error.to_string() }
    }
}
