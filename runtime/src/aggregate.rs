//! The traits of an aggregate, as a person would implement them by hand and as `#[aggregate]` does.

use crate::decision::{DecideError, Decision};
use crate::event::{EventInfo, EventSet};
use crate::registry::{AggregateDescriptor, Need};
use crate::scope::DecideScope;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::future::Future;

/// A state that decides commands and is rebuilt from its events.
///
/// `#[aggregate]` on an impl block implements it, with [`Decide`], [`Apply`] and [`Produces`]. By hand it is the same:
///
/// ```
#[doc = include_str!("guide/by_hand.rs")]
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an aggregate",
    label = "not an aggregate",
    note = "put `#[aggregate(context = \"..\")]` on an `impl {Self}` block"
)]
pub trait Aggregate: Default + Clone + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The events it applies.
    type Event: EventSet;
    /// The bounded context.
    const CONTEXT: &'static str;
    /// The name in the context. Stored; never change it.
    const NAME: &'static str;
    /// The version of the state's shape; snapshots of another version are ignored.
    const STATE_VERSION: u32 = 1;
    /// How many versions lie between two snapshots; 0 for none.
    const SNAPSHOT_EVERY: u32 = crate::limits::SNAPSHOT_EVERY_DEFAULT;
    /// What is registered of it.
    const DESCRIPTOR: AggregateDescriptor;

    /// Changes the state as `event` says. No I/O, no clock, no randomness.
    fn evolve(&mut self, event: &Self::Event);
}

/// What a command needs of the aggregate's existence (C2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Creates {
    /// It must exist: otherwise `NotFound`. The default.
    Never,
    /// It must not exist: otherwise `AlreadyExists`. Written `creates`.
    Only,
    /// Either. Written `creates = "allowed"`.
    Allowed,
}

/// Decides the command `C`: `#[on_command]`.
///
/// That `C` is a [`Command`](crate::Command) is asked where it is sent and where it is described, and that an event is
/// an [`Event`](crate::Event) in its [`EventSet`]: asked once, a mistake is reported once.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no handler for `{C}`",
    label = "no handler for this command",
    note = "add one with `#[on_command]` in the `#[aggregate]` impl of `{Self}`"
)]
pub trait Decide<C>: Aggregate {
    /// The command's name, stored with its commits.
    const COMMAND: &'static str;
    /// Whether it creates the aggregate.
    const CREATES: Creates;
    /// The events it may produce.
    const PRODUCES: &'static [EventInfo];
    /// What the domain has to provide for it.
    const NEEDS: &'static [Need] = &[];

    /// Decides `command` on this state.
    ///
    /// # Cancel safety
    ///
    /// May be dropped at any await point: what it reserved is given up (R5).
    fn decide(
        &self,
        command: C,
        scope: &mut DecideScope<'_>,
    ) -> impl Future<Output = Result<Decision<Self, C>, DecideError>> + Send;
}

/// Applies the event `E`: `#[on_event]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not apply `{E}`",
    label = "no `#[on_event]` for this event",
    note = "add `#[on_event] fn applied(&mut self, event: &{E})` to the `#[aggregate]` impl of `{Self}`"
)]
pub trait Apply<E>: Aggregate {
    /// Changes the state as `event` says.
    fn apply(&mut self, event: &E);

    /// The event as one of the aggregate's set.
    fn event(event: E) -> Self::Event;
}

/// The handler of `C` may produce `E`: `#[on_command(produces = [E])]`.
#[diagnostic::on_unimplemented(
    message = "the handler of `{C}` does not list `{E}` in `produces`",
    label = "not listed in `produces`",
    note = "extend its attribute in the `#[aggregate]` impl of `{Self}`: `#[on_command(produces = [.., {E}])]`"
)]
pub trait Produces<C, E>: Apply<E> {}
