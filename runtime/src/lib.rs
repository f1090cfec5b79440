#![doc = include_str!("../../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod aggregate;
mod clock;
mod codec;
mod command;
mod decision;
mod domain;
mod engine;
mod error;
mod event;
#[cfg(any(doc, doctest))]
pub mod guide;
mod ids;
pub mod limits;
pub mod observe;
mod outcome;
pub mod prelude;
pub mod registry;
pub mod reservation;
mod scope;
mod services;
pub mod store;
mod text;

/// JSON as upcasters see it.
pub mod json {
    pub use serde_json::{Map, Value, json};
}

pub use aggregate::{Aggregate, Apply, Creates, Decide, Produces};
pub use clock::{Clock, Sleep, SystemClock, Timestamp};
pub use codec::{CodecError, EncodedEvent, UpcastError};
pub use command::{Command, CommandContext, CommandInfo, Delete, Restore};
pub use decision::{DecideError, Decision, IntoDecision, Rejection, RejectionCode};
pub use domain::{BuildError, Domain, DomainBuilder, Holding, LoadAggregate, Release, Reservations, SendCommand};
pub use error::{Error, InvalidId, InvalidKey, StoreFailure};
#[doc(inline)]
pub use event::{Event, EventInfo, EventSet, Upcaster};
pub use ids::{AggregateId, AggregateType, DEFAULT_TENANT, IdSource, RandomIds, RequestId, StreamId, Token};
pub use outcome::{Committed, Loaded, Outcome};
pub use registry::{AggregateDescriptor, NamespaceDescriptor, Need};
pub use reservation::{
    NFKC_CASEFOLD, Namespace, Normalizer, PRECIS_USERNAME, Reserved, TRIM_LOWERCASE, Tenancy, VERBATIM,
};
pub use scope::DecideScope;
pub use store::memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use store::postgres::PostgresStore;
#[cfg(feature = "sqlite")]
pub use store::sqlite::SqliteStore;
pub use store::{Store, StoreError, StoreErrorKind, StoreReply};
pub use text::Text;

/// Makes an aggregate of an `impl` block: reads its [`on_command`] and [`on_event`] methods, and implements
/// [`Aggregate`], [`Decide`], [`Apply`] and [`Produces`] for them, with an enum of the events and one registration.
///
/// | option | |
/// | --- | --- |
/// | `context = ".."` | the bounded context; needed |
/// | `name = ".."` | the aggregate's name in it, which is stored; by default the type's, in kebab case |
/// | `state_version = n` | raise it when the state's shape changes: older snapshots are then ignored; 1 by default |
/// | `snapshot_every = n` | how many versions lie between two snapshots; 100 by default, 0 for none |
/// | `event = Name`, `event = pub(crate) Name` | the enum of the events; by default `{Type}Event`, public |
/// | `crate = path` | where Freehold is, when it is not `::freehold` |
///
/// The state needs `Debug` for nothing, but `Default`, `Clone`, `Serialize` and `Deserialize`. What is generated is what
/// a person could write by hand: see [`Aggregate`].
///
/// ```standalone_crate
/// use freehold::prelude::*;
///
/// #[derive(Clone, Default, Serialize, Deserialize)]
/// struct Door { open: bool }
///
/// #[derive(Serialize, Deserialize)]
/// struct Open {}
/// #[derive(Event, Serialize, Deserialize)]
/// struct Opened {}
///
/// #[aggregate(context = "house", name = "door")]
/// impl Door {
///     #[on_command(creates = "allowed", produces = [Opened])]
///     fn open(&self, _: Open) -> Decision {
///         if self.open { Decision::no_op() } else { Decision::event(Opened {}) }
///     }
///
///     #[on_event]
///     fn opened(&mut self, _: &Opened) {
///         self.open = true;
///     }
/// }
/// # fn main() {}
/// ```
#[cfg(feature = "macros")]
pub use freehold_macros::aggregate;

/// Marks a method of an [`aggregate`] impl block as the handler of a command.
///
/// It takes `&self`, the command (by value or by reference), and then in any order what it asks for: `&mut
/// DecideScope<'_>`, `&CommandContext`, and services as `&dyn Trait`, which `DomainBuilder::provide` gives. It may be
/// `async`. It returns a [`Decision`], an event, `Option`, `Vec` or a tuple of events, or a `Result` of one of these.
///
/// | option | |
/// | --- | --- |
/// | `creates` | only on an aggregate that does not exist (C2) |
/// | `creates = "allowed"` | whether it exists or not |
/// | `produces = [A, B]` | the events that its `Decision` may have; an event that is not listed does not compile |
/// | `name = ".."` | the command's name, which is stored with its commits; by default the type's |
#[cfg(feature = "macros")]
pub use freehold_macros::on_command;

/// Marks a method of an [`aggregate`] impl block as what an event does to the state.
///
/// It takes `&mut self` and `&Event`, and returns nothing: no I/O, no clock, no randomness, and no failing.
#[cfg(feature = "macros")]
pub use freehold_macros::on_event;

/// Derives [`trait@Event`]: the name, the version and the upcasters of a domain event.
///
/// | option of `#[event(..)]` | |
/// | --- | --- |
/// | `name = ".."` | the name under which it is stored; by default the type's |
/// | `version = n` | the version of its shape, from 1; 1 by default |
/// | `upcasters = [f, g]` | what makes version 2 of 1, 3 of 2, and so on |
/// | `crate = path` | where Freehold is, when it is not `::freehold` |
#[cfg(feature = "macros")]
pub use freehold_macros::Event;

/// Registers a [`Namespace`] constant, so that every domain whose program links it knows it.
///
/// ```
/// use freehold::prelude::*;
///
/// #[namespace]
/// pub const USER_NAMES: Namespace = Namespace::new("accounts.user-name").normalized(TRIM_LOWERCASE);
/// ```
#[cfg(feature = "macros")]
pub use freehold_macros::namespace;
