//! Watching decisions: what a handler asked of its scope and how it ended, as data. For tests and tools.
//!
//! An observer is given keys in clear, because showing them is its purpose; nothing else of the crate does that (R19).

use crate::ids::StreamId;
use crate::reservation::Reserved;
use crate::text::Text;
use std::fmt;

/// Watches the decisions of a domain, as they end.
pub trait Observer: fmt::Debug + Send + Sync + 'static {
    /// A handler has ended; its append, if there is one, is still to come.
    fn decided(&self, decided: &Decided<'_>);
}

/// One decision.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Decided<'a> {
    /// The aggregate.
    pub stream: &'a StreamId,
    /// The command's name.
    pub command: &'static str,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// What the handler asked of its scope, in order.
    pub calls: &'a [ScopeCall],
}

impl fmt::Debug for Decided<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Decided({} on {}, attempt {}, {} call(s))",
            self.command,
            self.stream,
            self.attempt,
            self.calls.len()
        )
    }
}

/// One call of a handler on its scope. `Debug` leaves the key out.
#[derive(Clone, PartialEq, Eq)]
pub struct ScopeCall {
    /// The namespace's name.
    pub namespace: &'static str,
    /// The key, normalised; as given when it could not be.
    pub key: Text,
    /// What was asked and answered.
    pub kind: ScopeCallKind,
}

/// What was asked of a scope, and the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScopeCallKind {
    /// `reserve`, and its answer.
    Reserve(Reserved),
    /// `reserve` without an answer: the key was invalid, or the store failed.
    ReserveFailed,
    /// `release`.
    Release,
    /// `holds`, and its answer.
    Holds(bool),
}

impl fmt::Debug for ScopeCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} in namespace {:?}", self.kind, self.namespace)
    }
}
