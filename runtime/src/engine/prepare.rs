//! From a decision to what is appended: the events as they will be read back, and the state after them (C9).
//!
//! Everything of the user's that runs here (serde, `Clone`, `#[on_event]`) runs before the append, and on a copy; a panic
//! in it is an error of this command only.

use super::guard::catch;
use super::load::{State, decode, evolve};
use super::request::Request;
use crate::aggregate::Aggregate;
use crate::codec::{EncodedEvent, canonical};
use crate::decision::Decision;
use crate::error::Error;
use crate::event::EventSet;
use crate::store::{DELETED, RESTORED};
use crate::text::Text;
use serde_json::value::RawValue;
use std::sync::Arc;

/// What an append is made of.
pub(super) struct Prepared<A: Aggregate> {
    /// The state after the events.
    pub(super) next: State<A>,
    /// The events as they are stored.
    pub(super) encoded: Vec<EncodedEvent>,
    /// The events as they are read back, which is what the state is made of.
    pub(super) events: Vec<A::Event>,
    /// Whether the commit deletes or restores.
    pub(super) deleted: Option<bool>,
    /// What the caller said, as a JSON object.
    pub(super) metadata: Option<Box<RawValue>>,
}

/// Encodes the events, reads them back, and applies what was read to a copy of the state.
///
/// So the state that this process keeps is the one that every other loads, and nothing is committed that can't be
/// loaded again.
pub(super) fn prepare<A: Aggregate, C>(
    request: &Request<A>,
    state: &State<A>,
    decision: &Decision<A, C>,
) -> Result<Prepared<A>, Error> {
    let prepared = catch(|| {
        let mut next = state.clone();
        next.version += 1;
        next.deleted = decision.deleted.unwrap_or(next.deleted);
        let (mut encoded, mut events) = (Vec::new(), Vec::new());
        for event in &decision.events {
            let unwritable = |error| Error::undecodable(request.stream(), &error);
            let json = event.encode().map_err(unwritable)?;
            let event = decode::<A>(request.stream(), &json)?;
            evolve(request.stream(), Arc::make_mut(&mut next.state), &event)?;
            next.exists = true;
            encoded.push(json);
            events.push(event);
        }
        encoded.extend(decision.deleted.map(built_in));
        Ok(Prepared { next, encoded, events, deleted: decision.deleted, metadata: metadata(request)? })
    });
    prepared.unwrap_or_else(|_| {
        let during = "writing the events, or copying the state,".to_owned();
        Err(Error::Panicked { during, stream: Box::new(request.stream().clone()) })
    })
}

fn built_in(deleted: bool) -> EncodedEvent {
    let name = Text::from_static(if deleted { DELETED } else { RESTORED });
    let data = RawValue::from_string("{}".to_owned()).expect("an empty object is JSON");
    EncodedEvent { name, version: 1, data }
}

fn metadata<A: Aggregate>(request: &Request<A>) -> Result<Option<Box<RawValue>>, Error> {
    if request.metadata.is_empty() {
        return Ok(None);
    }
    let json = canonical(&request.metadata).and_then(RawValue::from_string);
    json.map(Some).map_err(|_| Error::Misconfigured("the metadata can't be written as JSON".into()))
}
