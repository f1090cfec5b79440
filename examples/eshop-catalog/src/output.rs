//! Answers on stdout, for people or as JSON, and failures on stderr.

use crate::failure::{Exit, Failure};
use serde_json::Value;
use std::fmt::Display;
use std::io::{ErrorKind, Write, stderr, stdout};

/// Who reads the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    People,
    Json,
}

impl Output {
    pub(crate) const fn new(json: bool) -> Self {
        if json { Self::Json } else { Self::People }
    }

    /// Answers, in one of two forms.
    pub(crate) fn answer(self, text: impl Display, json: &Value) -> Result<(), Failure> {
        let written = match self {
            Self::People => writeln!(stdout().lock(), "{text}"),
            Self::Json => writeln!(stdout().lock(), "{json}"),
        };
        match written.and_then(|()| stdout().flush()) {
            // Who reads has seen enough, such as `head`.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            Err(error) => {
                let message = format!("the answer can't be written to the standard output: {error}");
                Err(Failure::new(Exit::File, "OUTPUT", message)
                    .next("What was to be changed in the catalog is changed."))
            }
            Ok(()) => Ok(()),
        }
    }

    /// Tells people something beside the answer.
    pub(crate) fn note(self, text: impl Display) {
        if self == Self::People {
            let _ = writeln!(stderr().lock(), "{text}");
        }
    }

    pub(crate) fn failure(self, failure: &Failure) {
        let _ = match self {
            Self::People => writeln!(stderr().lock(), "{}", failure.to_text()),
            Self::Json => writeln!(stderr().lock(), "{}", failure.to_json()),
        };
    }
}
