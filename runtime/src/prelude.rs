//! The names that a domain file needs. For users; nothing in this workspace's libraries uses it.

pub use crate::{
    AggregateId, DecideError, DecideScope, Decision, Domain, Namespace, Rejection, RejectionCode, TRIM_LOWERCASE,
};
#[cfg(feature = "macros")]
pub use crate::{Event, aggregate, namespace, on_command, on_event};
#[doc(no_inline)]
pub use serde::{Deserialize, Serialize};
