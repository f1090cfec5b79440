//! What comes of a command that succeeded, and what a load returns.

use crate::aggregate::Aggregate;
use crate::clock::Timestamp;
use crate::engine::Request;
use crate::ids::{AggregateId, RequestId};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// What came of a command (C6).
pub enum Outcome<A: Aggregate> {
    /// Events were written, and the keys with them.
    Committed(Committed<A>),
    /// There was nothing to do, and nothing was written.
    NoOp {
        /// The aggregate.
        id: AggregateId<A>,
        /// Its version.
        version: u64,
        /// The request's id, given or generated.
        request_id: RequestId,
        /// How often the command was decided.
        attempts: u32,
    },
}

impl<A: Aggregate> Outcome<A> {
    pub(crate) fn no_op(request: &Request<A>, version: u64, attempts: u32) -> Self {
        Self::NoOp { id: request.aggregate.clone(), version, request_id: request.id.clone(), attempts }
    }

    /// What was written, if anything was.
    #[must_use]
    pub const fn committed(&self) -> Option<&Committed<A>> {
        match self {
            Self::Committed(committed) => Some(committed),
            Self::NoOp { .. } => None,
        }
    }

    /// The aggregate: for a replay the one that the first outcome was about.
    #[must_use]
    pub const fn id(&self) -> &AggregateId<A> {
        match self {
            Self::Committed(committed) => &committed.id,
            Self::NoOp { id, .. } => id,
        }
    }

    /// The aggregate's version after the command.
    #[must_use]
    pub const fn version(&self) -> u64 {
        match self {
            Self::Committed(committed) => committed.version,
            Self::NoOp { version, .. } => *version,
        }
    }

    /// Whether the request had its outcome before, and this is that one (C4).
    #[must_use]
    pub const fn is_replay(&self) -> bool {
        matches!(self, Self::Committed(Committed { replayed: true, .. }))
    }

    /// The request's id, given or generated.
    #[must_use]
    pub const fn request_id(&self) -> &RequestId {
        match self {
            Self::Committed(committed) => &committed.request_id,
            Self::NoOp { request_id, .. } => request_id,
        }
    }

    /// How often the command was decided.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        match self {
            Self::Committed(committed) => committed.attempts,
            Self::NoOp { attempts, .. } => *attempts,
        }
    }
}

/// What was written.
#[non_exhaustive]
pub struct Committed<A: Aggregate> {
    /// The aggregate.
    pub id: AggregateId<A>,
    /// Its version after the commit.
    pub version: u64,
    /// The commit's global position.
    pub position: u64,
    /// When it was written.
    pub at: Timestamp,
    /// The events.
    pub events: Vec<A::Event>,
    /// Whether the commit deleted (`Some(true)`) or restored (`Some(false)`) the aggregate (C10).
    pub deleted: Option<bool>,
    /// Whether the request had been committed before (C4).
    pub replayed: bool,
    /// The request's id, given or generated.
    pub request_id: RequestId,
    /// How often the command was decided.
    pub attempts: u32,
}

// By hand: a derive would ask the state for `Debug`.
impl<A: Aggregate> fmt::Debug for Outcome<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Committed(committed) => fmt::Debug::fmt(committed, f),
            Self::NoOp { id, version, request_id, attempts } => f
                .debug_struct("NoOp")
                .field("id", id)
                .field("version", version)
                .field("request_id", request_id)
                .field("attempts", attempts)
                .finish(),
        }
    }
}

impl<A: Aggregate> fmt::Debug for Committed<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Committed")
            .field("id", &self.id)
            .field("version", &self.version)
            .field("position", &self.position)
            .field("at", &self.at)
            .field("events", &self.events)
            .field("deleted", &self.deleted)
            .field("replayed", &self.replayed)
            .field("request_id", &self.request_id)
            .field("attempts", &self.attempts)
            .finish()
    }
}

/// An aggregate as of a version. Dereferences to its state.
pub struct Loaded<A> {
    pub(crate) id: AggregateId<A>,
    pub(crate) version: u64,
    pub(crate) deleted: bool,
    pub(crate) state: Arc<A>,
}

impl<A: Aggregate> Loaded<A> {
    /// The aggregate.
    #[must_use]
    pub const fn id(&self) -> &AggregateId<A> {
        &self.id
    }

    /// Its version.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Whether it is deleted (C10).
    #[must_use]
    pub const fn is_deleted(&self) -> bool {
        self.deleted
    }

    /// Its state.
    #[must_use]
    pub fn state(&self) -> &A {
        &self.state
    }
}

impl<A> Deref for Loaded<A> {
    type Target = A;
    fn deref(&self) -> &A {
        &self.state
    }
}

impl<A> fmt::Debug for Loaded<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Loaded({:?}, version {}, deleted {})", self.id, self.version, self.deleted)
    }
}
