//! What went wrong, for people and for programs: code, message, what to do next, and the exit code.

use freehold::{BuildError, Error, InvalidId, InvalidKey, StoreError};
use serde_json::{Value, json};
use std::process::ExitCode;

/// How the program ends; `--help` explains each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Refused = 1,
    Usage = 2,
    NotFound = 3,
    File = 4,
    BadLines = 5,
    TryAgain = 6,
    Bug = 7,
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// A command that did not succeed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    code: String,
    message: String,
    next: Option<String>,
    retryable: bool,
}

impl Failure {
    pub(crate) fn new(exit: Exit, code: &str, message: impl Into<String>) -> Self {
        let (code, message) = (code.to_owned(), message.into());
        Self { exit, code, message, next: None, retryable: exit == Exit::TryAgain }
    }

    /// The same, with what to do next.
    pub(crate) fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    pub(crate) fn to_json(&self) -> Value {
        let Self { code, message, next, retryable, .. } = self;
        json!({ "error": { "code": code, "message": message, "next": next, "retryable": retryable } })
    }

    pub(crate) fn to_text(&self) -> String {
        let next = self.next.as_ref().map(|next| format!("\n  {next}")).unwrap_or_default();
        format!("error: {} [{}]{next}", self.message, self.code)
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        let failure = match error {
            Error::Rejected(rejection) => {
                let exit = if rejection.is_provisional() { Exit::TryAgain } else { Exit::Refused };
                Self::new(exit, rejection.code().as_str(), rejection.message())
            }
            Error::Failed { source, .. } => Self::new(Exit::Bug, error.code(), format!("{error}: {source}")),
            _ => Self::new(exit(error), error.code(), message(error)),
        };
        match next(error) {
            Some(next) => failure.next(next),
            None => failure,
        }
    }
}

fn message(error: &Error) -> String {
    let (stream, what) = match error {
        Error::NotFound { stream } => (stream, "does not exist"),
        Error::AlreadyExists { stream } => (stream, "exists already"),
        Error::Deleted { stream } => (stream, "is deleted"),
        _ => return error.to_string(),
    };
    format!("the {} {:?} of tenant {:?} {what}", stream.aggregate.name, stream.id, stream.tenant)
}

fn exit(error: &Error) -> Exit {
    match error {
        _ if error.is_retryable() => Exit::TryAgain,
        Error::NotFound { .. } => Exit::NotFound,
        Error::AlreadyExists { .. } | Error::Deleted { .. } | Error::Conflict { .. } => Exit::Refused,
        Error::InvalidId(_) | Error::InvalidKey(_) | Error::RequestIdReused { .. } => Exit::Usage,
        Error::Unavailable(_) | Error::Undecodable { .. } => Exit::File,
        _ => Exit::Bug,
    }
}

fn next(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::Rejected(rejection) if rejection.is_provisional() => {
            "Somebody is about to take the name. Try again in a moment, or in 30 s if that process has died."
        }
        Error::Rejected(rejection) if rejection.code() == eshop_catalog::names::NAME_TAKEN => {
            "`holder NAME` says who has it; `rename` or `retire` that one to free the name."
        }
        Error::NotFound { .. } => {
            "`list` shows the ids that there are; did you mean another `--tenant` or `--category`?"
        }
        Error::AlreadyExists { .. } => "Take another `--id`, or none: one is made then.",
        Error::Deleted { .. } => "`restore ID` takes the delete back.",
        Error::InvalidKey(_) => "Nothing was changed. Give it a shorter name, without control characters.",
        Error::RequestIdReused { .. } => "Nothing was changed. Take another `--request-id`.",
        Error::Undecodable { .. } => {
            "The file was written by a newer version of this program, or changed by hand. Nothing was changed now."
        }
        _ => return None,
    })
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = if error.is_retryable() { Exit::TryAgain } else { Exit::File };
        Self::new(exit, error.code(), error.to_string())
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        let exit = match error.code() {
            "MISCONFIGURED" => Exit::Bug,
            "STORE_UNAVAILABLE" | "OVERLOADED" => Exit::TryAgain,
            _ => Exit::File,
        };
        let message = match error.problems() {
            [problem] => problem.clone(),
            _ => error.to_string(),
        };
        Self::new(exit, error.code(), message)
    }
}

impl From<InvalidId> for Failure {
    fn from(error: InvalidId) -> Self {
        Self::from(Error::from(error))
    }
}

impl From<InvalidKey> for Failure {
    fn from(error: InvalidKey) -> Self {
        Self::from(Error::from(error))
    }
}
