//! Commands: what one is, its context, and the two that every aggregate has.

use crate::aggregate::{Aggregate, Creates, Decide};
use crate::decision::{DecideError, Decision};
use crate::event::EventInfo;
use crate::ids::{RequestId, StreamId};
use crate::registry::Need;
use crate::scope::DecideScope;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::future::{Future, ready};

/// What can be sent: plain data, that serde can write and read.
///
/// A command that has to be decided again is read back from its JSON, so it need not be `Clone`; a field that serde
/// skips is then at its default.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a command",
    label = "not a command",
    note = "a command is plain data that may cross threads: `#[derive(Serialize, Deserialize)]`"
)]
pub trait Command: Serialize + DeserializeOwned + Send + Sync + 'static {}

// One error that says what to derive, in place of one for each trait that is missing.
#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Command for T {}

/// The circumstances under which a command is decided. A handler asks for it as `&CommandContext`.
#[derive(Debug, Clone)]
pub struct CommandContext {
    /// The aggregate that decides.
    pub stream: StreamId,
    /// The request, given by the caller or generated.
    pub request_id: RequestId,
    /// What the caller said with `.metadata(..)`; stored with the commit.
    pub metadata: Map<String, Value>,
    /// Which attempt this is, from 1.
    pub attempt: u32,
}

/// What is known of a command handler without running it.
#[derive(Clone, Copy, Debug)]
pub struct CommandInfo {
    /// The command's name.
    pub name: &'static str,
    /// Whether it creates the aggregate.
    pub creates: Creates,
    /// The events it may produce.
    pub produces: &'static [EventInfo],
    /// What the domain has to provide for it.
    pub needs: &'static [Need],
}

impl CommandInfo {
    /// What is known of `A`'s handler of `C`.
    #[must_use]
    pub const fn of<A: Decide<C>, C: Command>() -> Self {
        Self { name: A::COMMAND, creates: A::CREATES, produces: A::PRODUCES, needs: A::NEEDS }
    }
}

/// Marks the aggregate as deleted (C10). Its events stay, and so do its keys (R15); every command but this one and
/// [`Restore`] then fails with `Deleted`. Deleting a deleted aggregate is a no-op.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delete {}

/// Takes a [`Delete`] back (C10). Restoring what is not deleted is a no-op.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {}

impl<A: Aggregate> Decide<Delete> for A {
    const COMMAND: &'static str = "$delete";
    const CREATES: Creates = Creates::Never;
    const PRODUCES: &'static [EventInfo] = &[];

    fn decide(
        &self,
        _: Delete,
        scope: &mut DecideScope<'_>,
    ) -> impl Future<Output = Result<Decision<Self, Delete>, DecideError>> + Send {
        ready(Ok(if scope.is_deleted() { Decision::no_op() } else { Decision::mark_deleted(true) }))
    }
}

impl<A: Aggregate> Decide<Restore> for A {
    const COMMAND: &'static str = "$restore";
    const CREATES: Creates = Creates::Never;
    const PRODUCES: &'static [EventInfo] = &[];

    fn decide(
        &self,
        _: Restore,
        scope: &mut DecideScope<'_>,
    ) -> impl Future<Output = Result<Decision<Self, Restore>, DecideError>> + Send {
        ready(Ok(if scope.is_deleted() { Decision::mark_deleted(false) } else { Decision::no_op() }))
    }
}
