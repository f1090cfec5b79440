//! What generated code may touch. Not public API: anything here may change in any release.

pub use inventory;

use crate::codec::{CodecError, EncodedEvent};
use crate::command::CommandContext;
use crate::decision::{DecideError, Kind};
use crate::event::{Event, EventInfo};
use crate::scope::DecideScope;
use std::any::type_name;
use std::sync::Arc;

/// The place in the source where it is invoked, as a [`Source`](crate::registry::Source): for descriptors by hand.
#[macro_export]
macro_rules! source {
    () => {
        $crate::registry::Source {
            package: ::core::env!("CARGO_PKG_NAME"),
            version: ::core::env!("CARGO_PKG_VERSION"),
            module: ::core::module_path!(),
            file: ::core::file!(),
            line: ::core::line!(),
        }
    };
}
pub use crate::source;

/// The service that a handler asked for. `build()` has checked that it is there.
///
/// # Errors
///
/// When the aggregate was registered with a domain that was built without it, which `build()` refuses.
pub fn service<T: ?Sized + 'static>(scope: &DecideScope<'_>) -> Result<Arc<T>, DecideError> {
    let service = scope.inner().domain().services.get::<T>();
    service.ok_or_else(|| DecideError(Kind::Misconfigured(format!("no service `{}` is provided", type_name::<T>()))))
}

/// What a handler may take as `&dyn Pricing`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a service of a handler",
    label = "not `Send + Sync`",
    note = "a handler may move between threads with it: write `trait Pricing: Send + Sync`"
)]
pub trait Service {}

#[diagnostic::do_not_recommend]
impl<T: ?Sized + Send + Sync + 'static> Service for T {}

/// Compiles when `T` can be a service.
pub const fn assert_service<T: ?Sized + Service>() {}

/// What the set of an aggregate's events asks of each: all through one trait, so that an event that is none is
/// reported once.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event",
    label = "not an event",
    note = "derive it: `#[derive(Event, Serialize, Deserialize)]`"
)]
pub trait OneOfSet: Sized {
    /// Name and version.
    const INFO: EventInfo;

    /// As it is stored.
    ///
    /// # Errors
    ///
    /// As [`EncodedEvent::new`].
    fn encode(event: &Self) -> Result<EncodedEvent, CodecError>;

    /// Whether it is what is stored.
    fn is(event: &EncodedEvent) -> bool;

    /// From what is stored.
    ///
    /// # Errors
    ///
    /// As [`EncodedEvent::decode`].
    fn decode(event: &EncodedEvent) -> Result<Self, CodecError>;
}

#[diagnostic::do_not_recommend]
impl<E: Event> OneOfSet for E {
    const INFO: EventInfo = EventInfo::of::<E>();

    fn encode(event: &Self) -> Result<EncodedEvent, CodecError> {
        EncodedEvent::new(event)
    }

    fn is(event: &EncodedEvent) -> bool {
        event.is::<E>()
    }

    fn decode(event: &EncodedEvent) -> Result<Self, CodecError> {
        event.decode()
    }
}

/// The context of the command being decided.
#[must_use]
pub fn context(scope: &DecideScope<'_>) -> Arc<CommandContext> {
    Arc::clone(scope.inner().context())
}

/// The descriptor that `#[aggregate]` registers.
#[must_use]
pub const fn aggregate_descriptor<A: crate::Aggregate>(
    commands: &'static [crate::CommandInfo],
    source: crate::registry::Source,
) -> crate::AggregateDescriptor {
    crate::AggregateDescriptor::new::<A>(commands, source)
}
