//! How far a command has come, for whoever ends it from outside: its deadline (C5).

use crate::error::Error;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// How far a command has come.
#[derive(Debug, Default)]
pub(super) struct Progress {
    handed_over: AtomicBool,
    provisional: Mutex<Option<Error>>,
}

impl Progress {
    /// Whether an append is with the store, so that its outcome is not ours to say.
    pub(super) fn set_handed_over(&self, handed_over: bool) {
        self.handed_over.store(handed_over, Ordering::Release);
    }

    pub(super) fn is_handed_over(&self) -> bool {
        self.handed_over.load(Ordering::Acquire)
    }

    /// Keeps the answer of an attempt that met a pending key, for when the time is over (R21).
    pub(super) fn set_provisional(&self, answer: Error) {
        *self.provisional.lock() = Some(answer);
    }

    pub(super) fn take_provisional(&self) -> Option<Error> {
        self.provisional.lock().take()
    }
}
