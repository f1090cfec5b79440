//! The way of a command: load -> decide -> append -> settle. `execute` shows all of it.

pub(crate) mod attempt;
pub(crate) mod guard;
pub(crate) mod lanes;
pub(crate) mod load;
mod prepare;
mod progress;
mod request;
mod retry;
mod write;

pub(crate) use request::Request;
pub(crate) use write::settled;

use crate::aggregate::{Aggregate, Creates, Decide};
use crate::command::{Command, CommandContext, Delete, Restore};
use crate::decision::{Decision, Kind};
use crate::domain::Inner;
use crate::error::Error;
use crate::observe::Decided;
use crate::outcome::Outcome;
use crate::store::Check;
use attempt::{Attempt, Basis, Blocked};
use guard::Link;
use load::State;
use progress::Progress;
use retry::Retry;
use std::any::TypeId;
use std::sync::Arc;

/// What one attempt came to.
enum Step<A: Aggregate> {
    /// The command has its outcome.
    Done(Outcome<A>),
    /// The state was not the newest: decide again on a newer one (C1, R6, R8).
    Stale,
    /// A key was pending for another: wait for it, decide again, and answer this when there is no time left (R21, C4).
    Pending(Blocked, Error),
}

/// Executes a command within its deadline (C5).
pub(crate) async fn execute<A: Decide<C>, C: Command>(
    domain: &Arc<Inner>,
    request: Request<A>,
    command: C,
) -> Result<Outcome<A>, Error> {
    let progress = Progress::default();
    let Some(deadline) = request.deadline else {
        return decide_until_done(domain, &request, command, &progress).await;
    };
    tokio::select! {
        biased;
        outcome = decide_until_done(domain, &request, command, &progress) => outcome,
        () = domain.clock.sleep(deadline) => Err(match progress.take_provisional() {
            _ if progress.is_handed_over() => {
                let reason = "The deadline passed while it was written.".into();
                Error::OutcomeUnknown { request_id: request.id, reason }
            }
            // The deadline ends the wait for another's key as the wait's own limit does (R21).
            Some(provisional) => provisional,
            None => Error::Timeout { stream: Box::new(request.stream().clone()) },
        }),
    }
}

async fn decide_until_done<A: Decide<C>, C: Command>(
    domain: &Arc<Inner>,
    request: &Request<A>,
    command: C,
    progress: &Progress,
) -> Result<Outcome<A>, Error> {
    let link = Link::new(Arc::as_ptr(domain) as usize, request.stream().clone());
    if link.is_cycle() {
        let problem = "a handler sent a command to an aggregate that is waiting for it; let the handler return first";
        return Err(Error::Misconfigured(format!("{}: {problem}", request.stream())));
    }
    let _turn = if link.is_nested() { None } else { Some(domain.lanes.turn(request.stream()).await?) };
    let (mut retry, mut command, mut attempt, mut is_stale) = (Retry::new(domain), Some(command), 0, false);
    loop {
        attempt += 1;
        let command = command.take().map_or_else(|| request.command_again(), Ok);
        let step = match command {
            Ok(command) => decide_once(domain, request, command, (attempt, is_stale), &link, progress).await?,
            Err(error) => without_append(domain, request, None, Err(error), None).await?,
        };
        match step {
            Step::Done(outcome) => return Ok(outcome),
            Step::Stale if retry.after_conflict(domain).await => {
                // A warm state that is behind is brought up to date. One that is ahead, as after a restored copy of the
                // store, never is: it shows by a second conflict, and is forgotten.
                if is_stale {
                    domain.forget_warm(request.stream());
                }
                is_stale = true;
            }
            // An earlier append of the request may be on its way yet, as with any other answer (C4).
            Step::Stale => {
                let answer = Err(request.conflict(attempt));
                return match without_append(domain, request, None, answer, None).await? {
                    Step::Done(outcome) => Ok(outcome),
                    Step::Stale | Step::Pending(..) => Err(request.conflict(attempt)),
                };
            }
            Step::Pending(blocked, answer) => {
                progress.set_provisional(answer);
                if !retry.after_pending(domain, &blocked, &link).await {
                    return Err(progress.take_provisional().unwrap_or_else(|| request.conflict(attempt)));
                }
            }
        }
    }
}

/// One attempt: load, decide, append, settle.
async fn decide_once<A: Decide<C>, C: Command>(
    domain: &Arc<Inner>,
    request: &Request<A>,
    command: C,
    (number, is_stale): (u32, bool),
    link: &Arc<Link>,
    progress: &Progress,
) -> Result<Step<A>, Error> {
    let (state, unchecked) = match basis::<A, C>(domain, request, is_stale).await {
        Ok(basis) => basis,
        Err(error) => return without_append(domain, request, None, Err(error), None).await,
    };
    if let Err(error) = gate::<A, C>(request, &state, number) {
        return without_append(domain, request, unchecked, Err(error), None).await;
    }
    let context = Arc::new(CommandContext {
        stream: request.stream().clone(),
        request_id: request.id.clone(),
        metadata: request.metadata.clone(),
        attempt: number,
    });
    let basis = Basis { version: state.version, exists: state.exists, deleted: state.deleted };
    let mut attempt = Attempt::new(domain, context, basis);
    let decided = decide::<A, C>(&mut attempt, &state, command, Arc::clone(link)).await;
    match decided {
        Ok(decision) if !decision.is_no_op() => {
            write::append(request, attempt, (&state, unchecked), decision, progress).await
        }
        Ok(_) => {
            attempt.give_up().await;
            let no_op = Outcome::no_op(request, state.version, attempt.context().attempt);
            without_append(domain, request, unchecked, Ok(no_op), None).await
        }
        Err(mut error) => {
            attempt.give_up().await;
            let blocked = blocked_by(&attempt, &mut error);
            without_append(domain, request, unchecked, Err(error), blocked).await
        }
    }
}

/// The state to decide on, and its version when the store has yet to confirm it (C1).
async fn basis<A: Decide<C>, C: Command>(
    domain: &Inner,
    request: &Request<A>,
    is_stale: bool,
) -> Result<(State<A>, Option<u64>), Error> {
    if !is_stale {
        if let Some(warm) = load::warm::<A>(domain, request.stream()) {
            let version = warm.version;
            return Ok((warm, Some(version)));
        }
        if A::CREATES == Creates::Only {
            return Ok((State::empty(request.stream())?, Some(0)));
        }
    }
    Ok((load::fresh::<A>(domain, request.stream()).await?, None))
}

/// What comes before the decision: deleted, existence, version, in this order (C4, C2, C5, C10).
fn gate<A: Decide<C>, C: Command>(request: &Request<A>, state: &State<A>, attempt: u32) -> Result<(), Error> {
    let stream = || Box::new(request.stream().clone());
    if state.deleted && !is_built_in::<C>() {
        return Err(Error::Deleted { stream: stream() });
    }
    match A::CREATES {
        Creates::Only if state.exists => return Err(Error::AlreadyExists { stream: stream() }),
        Creates::Never if !state.exists => return Err(Error::NotFound { stream: stream() }),
        _ => {}
    }
    match request.expected_version {
        Some(expected) if expected != state.version => Err(Error::Conflict {
            stream: stream(),
            attempts: attempt,
            expected: Some(expected),
            actual: Some(state.version),
        }),
        _ => Ok(()),
    }
}

/// Whether `C` is one of the commands that every aggregate has (C10).
pub(crate) fn is_built_in<C: Command>() -> bool {
    [TypeId::of::<Delete>(), TypeId::of::<Restore>()].contains(&TypeId::of::<C>())
}

async fn decide<A: Decide<C>, C: Command>(
    attempt: &mut Attempt,
    state: &State<A>,
    command: C,
    link: Arc<Link>,
) -> Result<Decision<A, C>, Error> {
    let stream = attempt.context().stream.clone();
    let decided = {
        let mut scope = crate::scope::DecideScope::new(attempt);
        guard::run(link, || A::decide(&state.state, command, &mut scope)).await
    };
    if let Some(observer) = &attempt.domain().observer {
        let (calls, attempt) = (attempt.calls(), attempt.context().attempt);
        let watched =
            guard::catch(|| observer.decided(&Decided { stream: &stream, command: A::COMMAND, attempt, calls }));
        if watched.is_err() {
            tracing::warn!("an observer panicked; the command goes on");
        }
    }
    // What the handler made of a store that failed is not to be trusted (R2).
    if let Some(poison) = attempt.poison() {
        return Err(poison.into());
    }
    if attempt.met_same_request() {
        let reason = "The same request is being decided elsewhere, and may still be written there.".into();
        return Err(Error::OutcomeUnknown { request_id: attempt.context().request_id.clone(), reason });
    }
    match decided {
        Err(guard::Panicked) => {
            Err(Error::Panicked { during: format!("the handler of {}", A::COMMAND), stream: stream.into() })
        }
        Ok(Ok(decision)) => Ok(decision),
        Ok(Err(error)) => Err(match error.0 {
            Kind::Rejected(rejection) => Error::Rejected(rejection),
            Kind::Failed(source) => Error::Failed { command: A::COMMAND, stream: stream.into(), source },
            Kind::InvalidKey(error) => Error::InvalidKey(error),
            Kind::InvalidId(error) => Error::InvalidId(error),
            Kind::Misconfigured(problem) => Error::Misconfigured(problem),
            Kind::Store(failure) => failure.0.into(),
            Kind::Wait => Error::Misconfigured("a handler returned the error of another command's scope".into()),
        }),
    }
}

/// The key to wait for, when the answer is only provisional (R21) or the same request is under way (C4).
fn blocked_by(attempt: &Attempt, error: &mut Error) -> Option<Blocked> {
    let blocked = attempt.blocked()?;
    match error {
        Error::Rejected(rejection) => rejection.provisional = true,
        Error::OutcomeUnknown { .. } if attempt.met_same_request() => {}
        _ => return None,
    }
    Some(blocked.clone())
}

/// Answers without an append, once the store has confirmed what the answer rests on: the version, when the state was
/// a warm one (C1), and that the request has no commit, when the caller gave its id (C4).
async fn without_append<A: Aggregate>(
    domain: &Inner,
    request: &Request<A>,
    unchecked: Option<u64>,
    answer: Result<Outcome<A>, Error>,
    blocked: Option<Blocked>,
) -> Result<Step<A>, Error> {
    if unchecked.is_some() || request.is_given {
        let id = request.is_given.then(|| request.id.clone());
        let checked = domain.store.check(Check { stream: request.stream().clone(), request: id }).await;
        let checked = match (checked, &answer) {
            (Ok(checked), _) => checked,
            (Err(error), Err(Error::NotWritten { .. } | Error::OutcomeUnknown { .. })) => {
                return Err(Error::OutcomeUnknown { request_id: request.id.clone(), reason: error.to_string() });
            }
            // The store's first trouble says more than its second.
            (Err(_), Err(Error::Unavailable(_) | Error::Overloaded { .. })) => return answer.map(Step::Done),
            (Err(error), _) => return Err(error.into()),
        };
        request.has_seen_mark(checked.mark);
        if let Some(first) = checked.first {
            return write::replayed(request, &first).map(Step::Done);
        }
        if unchecked.is_some_and(|version| version != checked.version) {
            domain.forget_warm_beyond(request.stream(), checked.version);
            return Ok(Step::Stale);
        }
    }
    match (answer, blocked) {
        (Err(error), Some(blocked)) => Ok(Step::Pending(blocked, error)),
        (answer, _) => answer.map(Step::Done),
    }
}
