//! What generated code may touch. Not public API: anything here may change in any release.

pub use inventory;

use crate::command::CommandContext;
use crate::decision::{DecideError, Kind};
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
