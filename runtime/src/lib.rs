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
pub use event::{Event, EventInfo, EventSet, Upcaster};
pub use ids::{AggregateId, AggregateType, DEFAULT_TENANT, IdSource, RandomIds, RequestId, StreamId, Token};
pub use outcome::{Committed, Loaded, Outcome};
pub use registry::{AggregateDescriptor, NamespaceDescriptor, Need};
pub use reservation::{
    NFKC_CASEFOLD, Namespace, Normalizer, PRECIS_USERNAME, Reserved, TRIM_LOWERCASE, Tenancy, VERBATIM,
};
pub use scope::DecideScope;
pub use store::memory::MemoryStore;
#[cfg(feature = "sqlite")]
pub use store::sqlite::SqliteStore;
pub use store::{Store, StoreError, StoreErrorKind, StoreReply};
pub use text::Text;

#[cfg(feature = "macros")]
pub use freehold_macros::{Event, aggregate, namespace, on_command, on_event};
