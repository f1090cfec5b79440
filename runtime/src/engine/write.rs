//! The append of a decision, and everything that may come of it.

use super::attempt::Attempt;
use super::guard::catch;
use super::load::{State, decode};
use super::prepare::{Prepared, prepare};
use super::request::Request;
use super::{Progress, Step, without_append};
use crate::aggregate::{Aggregate, Decide};
use crate::command::Command;
use crate::decision::Decision;
use crate::domain::Inner;
use crate::error::Error;
use crate::ids::AggregateId;
use crate::limits::ASKED_AGAIN_MAX;
use crate::outcome::{Committed, Outcome};
use crate::store::{
    Append, AppendReply, CommitKind, CommitRecord, DELETED, GiveUp, RESTORED, Refusal, Settle, Settled, SnapshotRecord,
    Written,
};
use crate::text::Text;
use std::sync::Arc;

/// Prepares, appends, and settles (C9, R4, R8, R9).
pub(super) async fn append<A: Decide<C>, C: Command>(
    request: &Request<A>,
    mut attempt: Attempt,
    (state, unchecked): (&State<A>, Option<u64>),
    decision: Decision<A, C>,
    progress: &Progress,
) -> Result<Step<A>, Error> {
    let domain = Arc::clone(attempt.domain());
    let mut prepared = match prepare(request, state, &decision) {
        Ok(prepared) => prepared,
        Err(error) => {
            attempt.give_up().await;
            return without_append(&domain, request, unchecked, Err(error), None).await;
        }
    };
    let append = Append {
        stream: request.stream().clone(),
        expected_version: state.version,
        kind: CommitKind::Command,
        command: Text::from_static(A::COMMAND),
        request: request.key(),
        token: attempt.token(),
        mark: request.mark(),
        events: std::mem::take(&mut prepared.encoded),
        keys: attempt.claims(),
        metadata: prepared.metadata.take(),
    };
    let settle = Settle {
        stream: request.stream().clone(),
        version: prepared.next.version,
        request: request.id.clone(),
        token: attempt.token(),
        keys: attempt.leased(),
    };
    progress.set_handed_over(true);
    let reply = domain.store.append(append);
    // From here on the store settles the attempt, whoever still listens (R5).
    attempt.handed_over();
    let attempts = attempt.context().attempt;
    let trouble = match reply.await {
        Ok(AppendReply::Written(written)) => {
            return Ok(Step::Done(committed(&domain, request, prepared, (written, attempts))));
        }
        Ok(AppendReply::Refused(refusal)) => {
            progress.set_handed_over(false);
            return refused(&domain, request, refusal);
        }
        Err(error) if error.surely_not_done() => {
            let Settle { stream: holder, token, keys, .. } = settle;
            drop(domain.store.give_up(GiveUp { holder, token, keys }));
            error.into()
        }
        Err(error) => match settled(&domain, settle).await {
            Some(Settled::Written(written)) => {
                return Ok(Step::Done(committed(&domain, request, prepared, (written, attempts))));
            }
            Some(Settled::NotWritten) => {
                Error::NotWritten { request_id: request.id.clone(), reason: error.to_string() }
            }
            None => return Err(Error::OutcomeUnknown { request_id: request.id.clone(), reason: error.to_string() }),
        },
    };
    progress.set_handed_over(false);
    // It is not written; yet the request may be, by an earlier send whose answer this one's trouble hid (C4).
    without_append(&domain, request, unchecked, Err(trouble), None).await
}

fn refused<A: Aggregate>(domain: &Inner, request: &Request<A>, refusal: Refusal) -> Result<Step<A>, Error> {
    match refusal {
        Refusal::Conflict | Refusal::KeyLost => Ok(Step::Stale),
        Refusal::Fenced { mark } => {
            request.has_seen_mark(mark);
            Ok(Step::Stale)
        }
        Refusal::Replay(first) => {
            domain.forget_warm(request.stream());
            replayed(request, &first).map(Step::Done)
        }
    }
}

/// Settles an append whose outcome is unknown, by a durable write (R9); none while that does not succeed.
pub(crate) async fn settled(domain: &Inner, settle: Settle) -> Option<Settled> {
    for _ in 0..ASKED_AGAIN_MAX {
        match domain.store.settle(settle.clone()).await {
            Ok(settled) => return Some(settled),
            Err(error) if error.is_retryable() || !error.surely_not_done() => {}
            Err(_) => return None,
        }
    }
    None
}

fn committed<A: Aggregate>(
    domain: &Inner,
    request: &Request<A>,
    prepared: Prepared<A>,
    (written, attempts): (Written, u32),
) -> Outcome<A> {
    let Prepared { next, events, deleted, .. } = prepared;
    domain.keep_warm(request.stream(), &next);
    if A::SNAPSHOT_EVERY > 0 && next.version.is_multiple_of(u64::from(A::SNAPSHOT_EVERY)) {
        save_snapshot(domain, request, &next);
    }
    Outcome::Committed(Committed {
        id: request.aggregate.clone(),
        version: next.version,
        position: written.position,
        at: written.at,
        events,
        deleted,
        replayed: false,
        request_id: request.id.clone(),
        attempts,
    })
}

/// Keeps a snapshot, which nobody waits for. The commit stands, whatever the state's serialisation does.
fn save_snapshot<A: Aggregate>(domain: &Inner, request: &Request<A>, state: &State<A>) {
    let Ok(Ok(json)) = catch(|| serde_json::value::to_raw_value(&*state.state)) else {
        tracing::warn!(stream = %request.stream(), "the state can't be written as JSON; no snapshot was kept");
        return;
    };
    let State { version, exists, deleted, .. } = *state;
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
            _ => events.push(decode::<A>(&first.stream, event)?),
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
