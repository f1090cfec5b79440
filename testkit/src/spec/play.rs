//! A spec as it is played: its steps in order, each carried out in a world, and what was seen of each decision.

use super::events::{Shown, short};
use super::store::{At, Fault};
use super::world::{Setup, World};
use freehold::observe::ScopeCall;
use freehold::reservation::{KeyId, Record};
use freehold::{Aggregate, Clock, Error, EventInfo, Need, Timestamp, Token};
use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// What comes of a command.
pub(super) type Answer<A> = Result<freehold::Outcome<A>, Error>;
/// A command on its way.
pub(super) type Sending<A> = Pin<Box<dyn Future<Output = Answer<A>> + Send>>;
type Prepare<A> = Box<dyn Fn(&World<A>) -> Result<(), String> + Send + Sync>;
type Sender<A> = Box<dyn Fn(&World<A>) -> Result<Sending<A>, String> + Send + Sync>;

/// A line of a spec: what it says, where it stands, and what it does.
pub(super) struct Step<A: Aggregate> {
    /// The line's kind, such as `events`.
    pub(super) kind: &'static str,
    /// What it says of itself; several lines where it lists something.
    pub(super) text: Vec<String>,
    pub(super) at: &'static Location<'static>,
    pub(super) act: Act<A>,
}

pub(super) enum Act<A: Aggregate> {
    /// Was taken into the setup.
    Setup,
    /// Prepares the world, without a decision.
    Prepare(Prepare<A>),
    /// Decides a command that has to succeed.
    Given(Command<A>),
    /// Lets time pass.
    Pass(Duration),
    /// Decides the command in question.
    When(Command<A>),
}

/// A command, its type forgotten.
pub(super) struct Command<A: Aggregate> {
    /// The events that its handler declares.
    pub(super) produces: &'static [EventInfo],
    /// What its handler asks the domain for.
    pub(super) needs: &'static [Need],
    /// Sends it: the command as it was given the first time, then as read from its own JSON.
    pub(super) send: Sender<A>,
}

/// What was seen of one decision.
pub(super) struct Played<A: Aggregate> {
    /// The index of its step.
    pub(super) step: usize,
    pub(super) at: Timestamp,
    pub(super) answer: Answer<A>,
    pub(super) events: Vec<Shown>,
    /// What the handler asked of its scope, attempt by attempt.
    pub(super) calls: Vec<Vec<ScopeCall>>,
    pub(super) before: Vec<(KeyId, Record)>,
    pub(super) after: Vec<(KeyId, Record)>,
    pub(super) state_before: Option<A>,
    pub(super) state_after: Option<A>,
    pub(super) fired: Vec<(At, Fault)>,
    pub(super) tokens: BTreeSet<Token>,
}

/// Why a step could not be carried out.
pub(super) struct Trouble {
    pub(super) step: usize,
    pub(super) problem: String,
}

/// The steps done so far, and the world that they were done in.
pub(super) struct Play<A: Aggregate> {
    pub(super) setup: Setup,
    pub(super) steps: Vec<Arc<Step<A>>>,
    pub(super) world: World<A>,
    pub(super) played: Vec<Played<A>>,
    done: usize,
}

impl<A: Aggregate> Play<A> {
    pub(super) async fn start(setup: Setup, steps: Vec<Arc<Step<A>>>) -> Result<Self, String> {
        let world = World::build(&setup).await?;
        Ok(Self { setup, steps, world, played: Vec::new(), done: 0 })
    }

    /// Carries out the steps that are left.
    pub(super) async fn go_on(&mut self) -> Result<(), Trouble> {
        while let Some(step) = self.steps.get(self.done).cloned() {
            self.carry_out(&step).await.map_err(|problem| Trouble { step: self.done, problem })?;
            self.done += 1;
        }
        Ok(())
    }

    async fn carry_out(&mut self, step: &Step<A>) -> Result<(), String> {
        match &step.act {
            Act::Setup => Ok(()),
            Act::Prepare(prepare) => prepare(&self.world),
            Act::Pass(duration) => {
                self.world.clock.advance(*duration);
                Ok(())
            }
            Act::Given(command) => match self.send(command).await? {
                Ok(_) => {
                    self.world.take_calls();
                    Ok(())
                }
                Err(error) => Err(chain(&error).join("\n")),
            },
            Act::When(command) => {
                let played = self.decide(command).await?;
                self.played.push(played);
                Ok(())
            }
        }
    }

    /// Sends a command. The clock is moved on where the decision waits on it: for a key that is pending (R21), for a
    /// deadline (C5). Those pauses are drawn at random, here always the same.
    async fn send(&self, command: &Command<A>) -> Result<Answer<A>, String> {
        if let Some(need) = self.setup.missing(command.needs) {
            return Err(format!("its handler needs a service: `.given_service::<{}>(..)`", short(need.type_name())));
        }
        let mut sending = (command.send)(&self.world)?;
        let seed = (!self.setup.pending_wait.is_zero()).then(fastrand::get_seed);
        if seed.is_some() {
            fastrand::seed(0);
        }
        let clock = &self.world.clock;
        let answer = std::future::poll_fn(|context| {
            loop {
                let polled = sending.as_mut().poll(context);
                if polled.is_ready() || !clock.advance_to_next_wake() {
                    return polled;
                }
            }
        });
        let answer = answer.await;
        if let Some(seed) = seed {
            fastrand::seed(seed);
        }
        Ok(answer)
    }

    async fn decide(&self, command: &Command<A>) -> Result<Played<A>, String> {
        let world = &self.world;
        let state_before = load(world).await;
        let (before, at) = (world.store.records(), world.clock.now());
        world.take_calls();
        world.store.arm();
        let answer = self.send(command).await;
        let (fired, tokens) = world.store.disarm();
        let answer = answer?;
        let events = match &answer {
            Ok(outcome) => Shown::all(outcome.committed().map_or(&[], |committed| &committed.events))?,
            Err(_) => Vec::new(),
        };
        Ok(Played {
            step: self.done,
            at,
            answer,
            events,
            calls: world.take_calls(),
            before,
            after: world.store.records(),
            state_before,
            state_after: load(world).await,
            fired,
            tokens,
        })
    }

    /// The decision that was played last.
    pub(super) fn last(&self) -> &Played<A> {
        self.played.last().expect("an outcome has at least one decision")
    }

    /// The index of the step that is carried out, or was last.
    pub(super) fn current_step(&self) -> usize {
        self.done.min(self.steps.len().saturating_sub(1))
    }

    /// Whether every decision so far is one that can be made again: no services, no panics.
    pub(super) fn is_repeatable(&self) -> bool {
        let asks_services = |act: &Act<A>| match act {
            Act::Given(command) | Act::When(command) => !command.needs.is_empty(),
            Act::Setup | Act::Prepare(_) | Act::Pass(_) => false,
        };
        let has_panicked = |played: &Played<A>| matches!(played.answer, Err(Error::Panicked { .. }));
        !self.steps.iter().any(|step| asks_services(&step.act)) && !self.played.iter().any(has_panicked)
    }

    /// Plays everything once more in a world of its own, commands read from their JSON. With `from_snapshot` the last
    /// decision is made on a state that went through its own JSON.
    pub(super) async fn again(&self, from_snapshot: bool) -> Result<Self, String> {
        let mut again = Self::start(self.setup.clone(), self.steps.clone()).await?;
        let last = self.last().step;
        while again.done <= last {
            let step = Arc::clone(&again.steps[again.done]);
            if from_snapshot && again.done == last {
                again.world.keep_snapshot().await;
            }
            again.carry_out(&step).await?;
            again.done += 1;
        }
        Ok(again)
    }
}

async fn load<A: Aggregate>(world: &World<A>) -> Option<A> {
    let loaded = world.domain.load(&world.subject).await.ok()?;
    Some(loaded.state().clone())
}

/// An error and everything that caused it, the outermost first.
pub(super) fn chain(error: &Error) -> Vec<String> {
    let mut lines = vec![match error {
        Error::Rejected(rejection) => format!("{} {:?}", rejection.code(), rejection.message()),
        _ => format!("{}  {error}", error.code()),
    }];
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        lines.push(format!("caused by  {error}"));
        source = error.source();
    }
    lines
}

impl<A: Aggregate> fmt::Debug for Play<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Play")
            .field("subject", &self.world.subject)
            .field("played", &self.played.len())
            .finish_non_exhaustive()
    }
}
