//! From a stream to a state: the warm one, or snapshot and events. Decides nothing.

use super::guard::catch;
use crate::aggregate::Aggregate;
use crate::codec::{EncodedEvent, from_json};
use crate::domain::Inner;
use crate::error::Error;
use crate::event::EventSet;
use crate::ids::StreamId;
use crate::store::{CommitKind, CommitRecord, DELETED, Load, RESTORED, SnapshotRecord};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A state as of a version.
#[expect(clippy::struct_field_names, reason = "the user's state is called the state everywhere")]
pub(crate) struct State<A> {
    pub(crate) version: u64,
    pub(crate) exists: bool,
    pub(crate) deleted: bool,
    pub(crate) state: Arc<A>,
}

impl<A: Aggregate> State<A> {
    /// The state of an aggregate without commits.
    ///
    /// # Errors
    ///
    /// When the state's own `Default` panics (C9).
    pub(crate) fn empty(stream: &StreamId) -> Result<Self, Error> {
        let state = catch(A::default).map_err(|_| Error::Panicked {
            during: "making the initial state".to_owned(),
            stream: Box::new(stream.clone()),
        })?;
        Ok(Self { version: 0, exists: false, deleted: false, state: Arc::new(state) })
    }
}

impl<A> Clone for State<A> {
    fn clone(&self) -> Self {
        Self { state: Arc::clone(&self.state), ..*self }
    }
}

/// A state kept warm, of whatever type.
#[derive(Clone)]
pub(crate) struct Warm {
    version: u64,
    exists: bool,
    deleted: bool,
    state: Arc<dyn Any + Send + Sync>,
}

impl Warm {
    pub(crate) fn of<A: Aggregate>(state: &State<A>) -> Self {
        let State { version, exists, deleted, state } = state.clone();
        Self { version, exists, deleted, state }
    }

    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn get<A: Aggregate>(self) -> Option<State<A>> {
        let Self { version, exists, deleted, state } = self;
        Some(State { version, exists, deleted, state: state.downcast().ok()? })
    }
}

impl fmt::Debug for Warm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Warm(version {})", self.version)
    }
}

/// The warm state, not checked against the store (C1).
pub(crate) fn warm<A: Aggregate>(domain: &Inner, stream: &StreamId) -> Option<State<A>> {
    domain.warm.as_ref()?.get(stream)?.get()
}

/// The state that the store has now: the warm one brought up to date, or built from snapshot and events.
pub(crate) async fn fresh<A: Aggregate>(domain: &Inner, stream: &StreamId) -> Result<State<A>, Error> {
    let basis = warm::<A>(domain, stream).map_or_else(|| State::empty(stream), Ok)?;
    let load = Load {
        stream: stream.clone(),
        after_version: basis.version,
        snapshot_of: (A::SNAPSHOT_EVERY > 0).then_some(A::STATE_VERSION),
    };
    let mut loaded = domain.store.load(load).await?;
    let basis = match &loaded.snapshot {
        Some(snapshot) => from_snapshot(stream, snapshot).unwrap_or(basis),
        None => basis,
    };
    // A snapshot that can't be read is no loss, the events are all there: read them.
    if loaded.snapshot.as_ref().is_some_and(|snapshot| snapshot.version != basis.version) {
        let load = Load { stream: stream.clone(), after_version: basis.version, snapshot_of: None };
        loaded = domain.store.load(load).await?;
    }
    let state = replay(stream, basis, &loaded.commits)?;
    domain.keep_warm(stream, &state);
    Ok(state)
}

fn from_snapshot<A: Aggregate>(stream: &StreamId, snapshot: &SnapshotRecord) -> Option<State<A>> {
    let SnapshotRecord { version, exists, deleted, .. } = *snapshot;
    match catch(|| from_json(snapshot.state.get())).unwrap_or(Err("reading it panicked")) {
        Ok(state) => Some(State { version, exists, deleted, state: Arc::new(state) }),
        Err(problem) => {
            tracing::warn!(%stream, version, problem, "a snapshot can't be read and is ignored; was `state_version` raised?");
            None
        }
    }
}

/// The state after `commits`. Only events count; administrative commits have none (C2, R20).
pub(crate) fn replay<A: Aggregate>(
    stream: &StreamId,
    mut basis: State<A>,
    commits: &[Arc<CommitRecord>],
) -> Result<State<A>, Error> {
    for commit in commits {
        if commit.version != basis.version + 1 {
            let problem =
                format!("version {} follows version {}; versions have no gaps", commit.version, basis.version);
            return Err(Error::Undecodable { stream: Box::new(stream.clone()), problem });
        }
        basis.version = commit.version;
        if commit.kind != CommitKind::Command {
            continue;
        }
        for event in &commit.events {
            match event.name.as_str() {
                DELETED => basis.deleted = true,
                RESTORED => basis.deleted = false,
                _ => {
                    let event = decode::<A>(stream, event)?;
                    evolve(stream, own(stream, &mut basis.state)?, &event)?;
                    basis.exists = true;
                }
            }
        }
    }
    Ok(basis)
}

/// Reads an event back; a panic in an upcaster is an error of this command only (C9).
pub(crate) fn decode<A: Aggregate>(stream: &StreamId, event: &EncodedEvent) -> Result<A::Event, Error> {
    match catch(|| A::Event::decode(event)) {
        Ok(decoded) => decoded.map_err(|error| Error::undecodable(stream, &error)),
        Err(_) => Err(Error::Panicked {
            during: format!("reading event {:?}", event.name.as_str()),
            stream: Box::new(stream.clone()),
        }),
    }
}

/// The state to change: a copy, when somebody else looks at this one.
fn own<'s, A: Aggregate>(stream: &StreamId, state: &'s mut Arc<A>) -> Result<&'s mut A, Error> {
    catch(|| Arc::make_mut(state))
        .map_err(|_| Error::Panicked { during: "copying the state".to_owned(), stream: Box::new(stream.clone()) })
}

/// Applies `event`; a panic in it is an error of this command only (C9).
pub(crate) fn evolve<A: Aggregate>(stream: &StreamId, state: &mut A, event: &A::Event) -> Result<(), Error> {
    catch(|| state.evolve(event)).map_err(|_| Error::Panicked {
        during: format!("applying event {:?}", event.info().name),
        stream: Box::new(stream.clone()),
    })
}
