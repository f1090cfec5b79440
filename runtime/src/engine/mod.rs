//! The way of a command: load -> decide -> append -> settle. `execute` shows all of it.

pub(crate) mod attempt;
pub(crate) mod guard;
pub(crate) mod lanes;
pub(crate) mod load;
mod request;
mod retry;
mod write;

pub(crate) use request::Request;

use crate::aggregate::{Aggregate, Creates, Decide};
use crate::command::{Command, CommandContext};
use crate::decision::{Decision, Kind};
use crate::domain::Inner;
use crate::error::Error;
use crate::observe::Decided;
use crate::outcome::Outcome;
use crate::store::Check;
use attempt::{Attempt, Basis, Blocked};
use guard::Link;
use load::State;
use retry::Retry;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What one attempt came to.
enum Step<A: Aggregate> {
    /// The command has its outcome.
    Done(Outcome<A>),
    /// The state was not the newest: decide again on a newer one (C1, R6, R8).
    Stale,
    /// A key was pending for another: wait for it, decide again, and answer this when there is no time left (R21, C4).
    Pending(Blocked, Error),
}

/// Whether an append is with the store, so that its outcome is not ours to say (C5).
#[derive(Debug, Default)]
pub(crate) struct HandedOver(AtomicBool);

impl HandedOver {
    pub(crate) fn set(&self, handed_over: bool) {
        self.0.store(handed_over, Ordering::Release);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Executes a command within its deadline (C5).
pub(crate) async fn execute<A: Decide<C>, C: Command>(
    domain: &Arc<Inner>,
    request: Request<A>,
    command: C,
) -> Result<Outcome<A>, Error> {
    let handed_over = HandedOver::default();
    let Some(deadline) = request.deadline else {
        return decide_until_done(domain, &request, command, &handed_over).await;
    };
    tokio::select! {
        biased;
        outcome = decide_until_done(domain, &request, command, &handed_over) => outcome,
        () = domain.clock.sleep(deadline) => Err(if handed_over.get() {
            Error::OutcomeUnknown { request_id: request.id, reason: "The deadline passed while it was written.".into() }
        } else {
            Error::Timeout { stream: Box::new(request.stream().clone()) }
        }),
    }
}

async fn decide_until_done<A: Decide<C>, C: Command>(
    domain: &Arc<Inner>,
    request: &Request<A>,
    command: C,
    handed_over: &HandedOver,
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
        let command = match command.take() {
            Some(command) => command,
            None => request.command_again()?,
        };
        match decide_once(domain, request, command, (attempt, is_stale), &link, handed_over).await? {
            Step::Done(outcome) => return Ok(outcome),
            Step::Stale if retry.after_conflict(domain).await => {
                // A warm state that is behind is brought up to date. One that is ahead, as after a restored copy of the
                // store, never is: it shows by a second conflict, and is forgotten.
                if is_stale {
                    domain.forget_warm(request.stream());
                }
                is_stale = true;
            }
            Step::Stale => return Err(request.conflict(attempt)),
            Step::Pending(blocked, answer) => {
                if !retry.after_pending(domain, &blocked).await {
                    return Err(answer);
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
    handed_over: &HandedOver,
) -> Result<Step<A>, Error> {
    let (state, unchecked) = basis::<A, C>(domain, request, is_stale).await?;
    if let Err(error) = gate::<A, C>(request, &state, number) {
        return without_append(domain, request, (&state, unchecked), Err(error), None).await;
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
            write::append(request, attempt, (&state, unchecked), decision, handed_over).await
        }
        Ok(_) => {
            attempt.give_up().await;
            let no_op = Outcome::no_op(request, state.version, attempt.context().attempt);
            without_append(domain, request, (&state, unchecked), Ok(no_op), None).await
        }
        Err(mut error) => {
            attempt.give_up().await;
            let blocked = blocked_by(&attempt, &mut error);
            without_append(domain, request, (&state, unchecked), Err(error), blocked).await
        }
    }
}

/// The state to decide on, and whether the store has yet to confirm its version (C1).
async fn basis<A: Decide<C>, C: Command>(
    domain: &Inner,
    request: &Request<A>,
    is_stale: bool,
) -> Result<(State<A>, bool), Error> {
    if !is_stale {
        if let Some(warm) = load::warm::<A>(domain, request.stream()) {
            return Ok((warm, true));
        }
        if A::CREATES == Creates::Only {
            return Ok((State::empty(), true));
        }
    }
    Ok((load::fresh::<A>(domain, request.stream()).await?, false))
}

/// What comes before the decision: deleted, existence, version, in this order (C4, C2, C5, C10).
fn gate<A: Decide<C>, C: Command>(request: &Request<A>, state: &State<A>, attempt: u32) -> Result<(), Error> {
    let stream = || Box::new(request.stream().clone());
    if state.deleted && !is_built_in(A::COMMAND) {
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

fn is_built_in(command: &str) -> bool {
    command.starts_with('$')
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
        observer.decided(&Decided { stream: &stream, command: A::COMMAND, attempt, calls });
    }
    // What the handler made of a store that failed is not to be trusted (R2).
    if let Some(poison) = attempt.poison() {
        return Err(poison.clone().into());
    }
    if attempt.met_same_request() {
        let reason = "The same request is being decided elsewhere.".into();
        return Err(Error::NotWritten { request_id: attempt.context().request_id.clone(), reason });
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
        Error::NotWritten { .. } if attempt.met_same_request() => {}
        _ => return None,
    }
    Some(blocked.clone())
}

/// Answers without an append, once the store has confirmed what the answer rests on: the version, when the state was
/// a warm one (C1), and that the request has no commit, when the caller gave its id (C4).
async fn without_append<A: Aggregate>(
    domain: &Inner,
    request: &Request<A>,
    (state, unchecked): (&State<A>, bool),
    answer: Result<Outcome<A>, Error>,
    blocked: Option<Blocked>,
) -> Result<Step<A>, Error> {
    if unchecked || request.is_given {
        let id = request.is_given.then(|| request.id.clone());
        let checked = domain.store.check(Check { stream: request.stream().clone(), request: id }).await;
        let checked = match (checked, &answer) {
            (Ok(checked), _) => checked,
            // The store's first trouble says more than its second.
            (Err(_), Err(Error::Unavailable(_) | Error::Overloaded { .. })) => return answer.map(Step::Done),
            (Err(error), _) => return Err(error.into()),
        };
        if let Some(first) = checked.first {
            return write::replayed(request, &first).map(Step::Done);
        }
        if unchecked && checked.version != state.version {
            domain.forget_warm_beyond(request.stream(), checked.version);
            return Ok(Step::Stale);
        }
    }
    match (answer, blocked) {
        (Err(error), Some(blocked)) => Ok(Step::Pending(blocked, error)),
        (answer, _) => answer.map(Step::Done),
    }
}
