//! The append of a decision, and everything that may come of it.

use super::attempt::Attempt;
use super::load::{State, evolve};
use super::request::Request;
use super::{HandedOver, Step, without_append};
use crate::aggregate::{Aggregate, Decide};
use crate::codec::{EncodedEvent, canonical};
use crate::command::Command;
use crate::decision::Decision;
use crate::domain::Inner;
use crate::error::Error;
use crate::event::EventSet;
use crate::ids::AggregateId;
use crate::limits::ASKED_AGAIN_MAX;
use crate::outcome::{Committed, Outcome};
use crate::store::{
    Append, AppendReply, CommitKind, CommitRecord, DELETED, RESTORED, Refusal, Settle, Settled, SnapshotRecord,
    StoreError, Written,
};
use crate::text::Text;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Encodes, applies to a copy, appends, and settles (C9, R4, R8, R9).
pub(super) async fn append<A: Decide<C>, C: Command>(
    request: &Request<A>,
    mut attempt: Attempt,
    (state, unchecked): (&State<A>, bool),
    decision: Decision<A, C>,
    handed_over: &HandedOver,
) -> Result<Step<A>, Error> {
    let domain = Arc::clone(attempt.domain());
    let prepared = next_state(request, state, &decision)
        .and_then(|next| Ok((next, encode(request, &decision)?, metadata(request)?)));
    let (next, events, metadata) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            attempt.give_up().await;
            return without_append(&domain, request, (state, unchecked), Err(error), None).await;
        }
    };
    let append = Append {
        stream: request.stream().clone(),
        expected_version: state.version,
        kind: CommitKind::Command,
        command: Text::from_static(A::COMMAND),
        request: request.key(),
        token: attempt.token(),
        events,
        keys: attempt.claims(),
        metadata,
    };
    let settle = Settle {
        stream: request.stream().clone(),
        version: next.version,
        token: attempt.token(),
        keys: attempt.leased(),
    };
    handed_over.set(true);
    let reply = domain.store.append(append);
    // From here on the store settles the attempt, whoever still listens (R5).
    attempt.handed_over();
    let attempts = attempt.context().attempt;
    let written = match reply.await {
        Ok(AppendReply::Written(written)) => written,
        Ok(AppendReply::Refused(refusal)) => {
            handed_over.set(false);
            return refused(&domain, request, refusal);
        }
        Err(error) if error.surely_not_done() => {
            handed_over.set(false);
            drop(domain.store.give_up(crate::store::GiveUp {
                holder: settle.stream,
                token: settle.token,
                keys: settle.keys,
            }));
            return without_append(&domain, request, (state, unchecked), Err(error.into()), None).await;
        }
        Err(error) => settled(&domain, request, settle, &error).await?,
    };
    Ok(Step::Done(committed(&domain, request, &next, decision, (written, attempts))))
}

fn next_state<A: Aggregate, C>(
    request: &Request<A>,
    state: &State<A>,
    decision: &Decision<A, C>,
) -> Result<State<A>, Error> {
    let mut next = state.clone();
    next.version += 1;
    if !decision.events.is_empty() {
        let copy = Arc::make_mut(&mut next.state);
        decision.events.iter().try_for_each(|event| evolve(request.stream(), copy, event))?;
        next.exists = true;
    }
    next.deleted = decision.deleted.unwrap_or(next.deleted);
    Ok(next)
}

fn encode<A: Aggregate, C>(request: &Request<A>, decision: &Decision<A, C>) -> Result<Vec<EncodedEvent>, Error> {
    let undecodable = |error| Error::undecodable(request.stream(), &error);
    let mut events = Vec::with_capacity(decision.events.len() + 1);
    for event in &decision.events {
        let encoded = event.encode().map_err(undecodable)?;
        // Nothing is committed that can't be loaded again (C9).
        A::Event::decode(&encoded).map_err(undecodable)?;
        events.push(encoded);
    }
    if let Some(deleted) = decision.deleted {
        let name = Text::from_static(if deleted { DELETED } else { RESTORED });
        events.push(EncodedEvent { name, version: 1, data: empty_object() });
    }
    Ok(events)
}

fn empty_object() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).expect("an empty object is JSON")
}

fn metadata<A: Aggregate>(request: &Request<A>) -> Result<Option<Box<RawValue>>, Error> {
    if request.metadata.is_empty() {
        return Ok(None);
    }
    let json = canonical(&request.metadata).and_then(RawValue::from_string);
    json.map(Some).map_err(|_| Error::Misconfigured("the metadata can't be written as JSON".into()))
}

fn refused<A: Aggregate>(domain: &Inner, request: &Request<A>, refusal: Refusal) -> Result<Step<A>, Error> {
    match refusal {
        Refusal::Conflict | Refusal::KeyLost | Refusal::Fenced => Ok(Step::Stale),
        Refusal::Replay(first) => {
            domain.forget_warm(request.stream());
            replayed(request, &first).map(Step::Done)
        }
    }
}

/// Settles an append whose outcome is unknown, by a durable write (R9).
async fn settled<A: Aggregate>(
    domain: &Inner,
    request: &Request<A>,
    settle: Settle,
    trouble: &StoreError,
) -> Result<Written, Error> {
    let request_id = request.id.clone();
    for _ in 0..ASKED_AGAIN_MAX {
        match domain.store.settle(settle.clone()).await {
            Ok(Settled::Written(written)) => return Ok(written),
            Ok(Settled::NotWritten) => return Err(Error::NotWritten { request_id, reason: trouble.to_string() }),
            Err(error) if error.is_retryable() || !error.surely_not_done() => {}
            Err(_) => break,
        }
    }
    Err(Error::OutcomeUnknown { request_id, reason: trouble.to_string() })
}

fn committed<A: Aggregate, C>(
    domain: &Inner,
    request: &Request<A>,
    next: &State<A>,
    decision: Decision<A, C>,
    (written, attempts): (Written, u32),
) -> Outcome<A> {
    domain.keep_warm(request.stream(), next);
    if A::SNAPSHOT_EVERY > 0 && next.version.is_multiple_of(u64::from(A::SNAPSHOT_EVERY)) {
        save_snapshot(domain, request, next);
    }
    Outcome::Committed(Committed {
        id: request.aggregate.clone(),
        version: next.version,
        position: written.position,
        at: written.at,
        events: decision.events,
        deleted: decision.deleted,
        replayed: false,
        request_id: request.id.clone(),
        attempts,
    })
}

fn save_snapshot<A: Aggregate>(domain: &Inner, request: &Request<A>, state: &State<A>) {
    let Ok(json) = serde_json::value::to_raw_value(&*state.state) else {
        tracing::warn!(stream = %request.stream(), "the state can't be written as JSON; no snapshot was kept");
        return;
    };
    let State { version, exists, deleted, .. } = *state;
    // Losing a snapshot is harmless, so nobody waits for it.
    drop(domain.store.save_snapshot(SnapshotRecord {
        stream: request.stream().clone(),
        version,
        state_version: A::STATE_VERSION,
        exists,
        deleted,
        state: json,
    }));
}

/// The first outcome of a request that was sent before (C4).
pub(super) fn replayed<A: Aggregate>(request: &Request<A>, first: &CommitRecord) -> Result<Outcome<A>, Error> {
    if !request.is_same(&first.request) {
        return Err(Error::RequestIdReused { request_id: request.id.clone() });
    }
    let (mut events, mut deleted) = (Vec::new(), None);
    for event in &first.events {
        match event.name.as_str() {
            DELETED => deleted = Some(true),
            RESTORED => deleted = Some(false),
            _ => events.push(A::Event::decode(event).map_err(|error| Error::undecodable(&first.stream, &error))?),
        }
    }
    Ok(Outcome::Committed(Committed {
        id: AggregateId::from_stream(first.stream.clone())?,
        version: first.version,
        position: first.position,
        at: first.at,
        events,
        deleted,
        replayed: true,
        request_id: request.id.clone(),
        attempts: 1,
    }))
}
