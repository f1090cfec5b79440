//! `Scripted`: an aggregate whose commands say, step by step, what its handler does. For tests of stores and engines,
//! which need decisions of every shape. Written by hand, so that it is never discovered by a user's domain.

use freehold::registry::Source;
use freehold::{
    Aggregate, AggregateDescriptor, Apply, CodecError, Command, CommandInfo, Creates, Decide, DecideError, DecideScope,
    Decision, EncodedEvent, Event, EventInfo, EventSet, Namespace, Produces, Rejection, RejectionCode,
};
use serde::{Deserialize, Serialize};
use std::future::Future;

/// Unique per tenant, as it is.
pub const NAMES: Namespace = Namespace::new("scripted.name");
/// Unique in the whole context, as it is.
pub const DOMAINS: Namespace = Namespace::new("scripted.domain").system();
/// The code with which a script rejects a taken key.
pub const TAKEN: RejectionCode = RejectionCode::new("TAKEN");
/// The code with which a script rejects at its end.
pub const REFUSED: RejectionCode = RejectionCode::new("REFUSED");

/// An aggregate that does what it is told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scripted {
    /// What happened, in order.
    pub happened: Vec<String>,
}

/// One step of a handler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Reserves a name, and rejects with [`TAKEN`] when it is taken.
    Reserve(String),
    /// Reserves a name, and goes on whatever the answer.
    TryReserve(String),
    /// Reserves the first name of the list that is free, and rejects with [`TAKEN`] when none is.
    ReserveAny(Vec<String>),
    /// Reserves a domain name, and rejects with [`TAKEN`] when it is taken.
    ReserveDomain(String),
    /// Reserves all names of the list in one call, and rejects with [`TAKEN`] when one is taken.
    ReserveAll(Vec<String>),
    /// Reserves all names of the list in one call, and goes on whatever comes of it, errors too.
    TryReserveAll(Vec<String>),
    /// Releases a name.
    Release(String),
    /// Fails unless the aggregate holds the name, confirmed.
    MustHold(String),
    /// Gives the executor a turn.
    Yield,
    /// Never goes on.
    Hang,
}

/// How a handler ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// With an event of this text.
    Happen(String),
    /// Without events.
    NoOp,
    /// With the rejection [`REFUSED`].
    Reject,
    /// With a failure.
    Fail,
    /// With a panic.
    Panic,
}

/// What a handler does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The end.
    pub ending: Ending,
}

impl Script {
    /// A script.
    pub fn new(steps: impl IntoIterator<Item = Step>, ending: Ending) -> Self {
        Self { steps: steps.into_iter().collect(), ending }
    }

    /// Reserves a name and has an event.
    #[must_use]
    pub fn take(name: &str) -> Self {
        Self::new([Step::Reserve(name.to_owned())], Ending::Happen(format!("took {name}")))
    }

    /// Reserves a name, releases another, and has an event.
    #[must_use]
    pub fn swap(old: &str, new: &str) -> Self {
        let steps = [Step::Reserve(new.to_owned()), Step::Release(old.to_owned())];
        Self::new(steps, Ending::Happen(format!("took {new} for {old}")))
    }
}

/// Runs its script; only on what does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Create(pub Script);

/// Runs its script; only on what exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change(pub Script);

/// Runs its script, on whatever there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ensure(pub Script);

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Happened {
    /// What.
    pub what: String,
}

impl Event for Happened {
    const NAME: &'static str = "Happened";
}

/// The events of [`Scripted`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptedEvent {
    /// Something happened.
    Happened(Happened),
}

impl From<Happened> for ScriptedEvent {
    fn from(event: Happened) -> Self {
        Self::Happened(event)
    }
}

impl EventSet for ScriptedEvent {
    const EVENTS: &'static [EventInfo] = &[EventInfo::of::<Happened>()];

    fn info(&self) -> EventInfo {
        EventInfo::of::<Happened>()
    }

    fn encode(&self) -> Result<EncodedEvent, CodecError> {
        let Self::Happened(event) = self;
        EncodedEvent::new(event)
    }

    fn decode(event: &EncodedEvent) -> Result<Self, CodecError> {
        if event.is::<Happened>() {
            return event.decode::<Happened>().map(Self::Happened);
        }
        Err(CodecError::unknown_event(event))
    }
}

impl Aggregate for Scripted {
    type Event = ScriptedEvent;
    const CONTEXT: &'static str = "scripted";
    const NAME: &'static str = "scripted";
    const SNAPSHOT_EVERY: u32 = 3;
    const DESCRIPTOR: AggregateDescriptor = AggregateDescriptor::new::<Self>(
        &[CommandInfo::of::<Self, Create>(), CommandInfo::of::<Self, Change>(), CommandInfo::of::<Self, Ensure>()],
        SOURCE,
    );

    fn evolve(&mut self, event: &ScriptedEvent) {
        let ScriptedEvent::Happened(event) = event;
        self.apply(event);
    }
}

const SOURCE: Source = freehold::source!();

impl Apply<Happened> for Scripted {
    fn apply(&mut self, event: &Happened) {
        assert!(event.what != "panic in apply", "as told");
        self.happened.push(event.what.clone());
    }

    fn event(event: Happened) -> ScriptedEvent {
        ScriptedEvent::Happened(event)
    }
}

macro_rules! runs_its_script {
    ($command:ident, $creates:ident) => {
        impl Produces<$command, Happened> for Scripted {}

        impl Decide<$command> for Scripted {
            const COMMAND: &'static str = stringify!($command);
            const CREATES: Creates = Creates::$creates;
            const PRODUCES: &'static [EventInfo] = &[EventInfo::of::<Happened>()];

            fn decide(
                &self,
                command: $command,
                scope: &mut DecideScope<'_>,
            ) -> impl Future<Output = Result<Decision<Self, $command>, DecideError>> + Send {
                run(command.0, scope)
            }
        }
    };
}
runs_its_script!(Create, Only);
runs_its_script!(Change, Never);
runs_its_script!(Ensure, Allowed);

async fn run<C: Command>(script: Script, scope: &mut DecideScope<'_>) -> Result<Decision<Scripted, C>, DecideError>
where
    Scripted: Produces<C, Happened>,
{
    for step in script.steps {
        perform(step, scope).await?;
    }
    match script.ending {
        Ending::Happen(what) => Ok(Decision::event(Happened { what })),
        Ending::NoOp => Ok(Decision::no_op()),
        Ending::Reject => Err(Rejection::new(REFUSED, "as told").into()),
        Ending::Fail => Err(DecideError::failed("as told")),
        Ending::Panic => panic!("as told"),
    }
}

async fn perform(step: Step, scope: &mut DecideScope<'_>) -> Result<(), DecideError> {
    match step {
        Step::Reserve(name) => scope.reserve(NAMES, &name).await?.or_reject(TAKEN, "the name is taken")?,
        Step::ReserveDomain(name) => scope.reserve(DOMAINS, &name).await?.or_reject(TAKEN, "the domain is taken")?,
        Step::TryReserve(name) => {
            let _whatever = scope.reserve(NAMES, &name).await?;
        }
        Step::ReserveAny(names) => {
            for name in &names {
                if scope.reserve(NAMES, name).await?.is_ours() {
                    return Ok(());
                }
            }
            return Err(Rejection::new(TAKEN, "every name is taken").into());
        }
        Step::ReserveAll(names) => {
            for answer in scope.reserve_all(NAMES, &names).await? {
                answer.or_reject(TAKEN, "a name is taken")?;
            }
        }
        Step::TryReserveAll(names) => drop(scope.reserve_all(NAMES, &names).await),
        Step::Release(name) => scope.release(NAMES, &name),
        Step::MustHold(name) => {
            if !scope.holds(NAMES, &name).await? {
                return Err(DecideError::failed("the name is not held"));
            }
        }
        Step::Yield => tokio::task::yield_now().await,
        Step::Hang => std::future::pending().await,
    }
    Ok(())
}
