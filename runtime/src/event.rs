//! Events: what a domain event is, and the set of events of one aggregate. How they are written is in `codec`.

use crate::codec::{CodecError, EncodedEvent, UpcastError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;

/// Turns the JSON of one version of an event into the next version's.
///
/// A JSON value has integers of 64 bits and floats: larger integers can't pass an upcaster, so store them as text.
pub type Upcaster = fn(Value) -> Result<Value, UpcastError>;

/// A domain event: a fact that an aggregate decided, stored as JSON. Derive it.
///
/// ```
/// use freehold::{Event, UpcastError, json::Value};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Event, Serialize, Deserialize)]
/// #[event(name = "brand-created", version = 2, upcasters = [with_country])]
/// struct BrandCreated { name: String, country: String }
///
/// fn with_country(mut event: Value) -> Result<Value, UpcastError> {
///     event["country"] = "unknown".into();
///     Ok(event)
/// }
/// # assert_eq!((BrandCreated::NAME, BrandCreated::VERSION), ("brand-created", 2));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event",
    label = "not an event",
    note = "derive it: `#[derive(Event, Serialize, Deserialize)]`"
)]
pub trait Event: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The name under which the event is stored. Never change it: rename the type instead, and keep this.
    const NAME: &'static str;
    /// The version of the event's shape, from 1.
    const VERSION: u32 = 1;
    /// What turns version 1 into 2, 2 into 3, and so on: `VERSION - 1` of them.
    const UPCASTERS: &'static [Upcaster] = &[];
}

/// The set of events that one aggregate applies: the enum that `#[aggregate]` generates.
pub trait EventSet: fmt::Debug + Send + Sync + Sized + 'static {
    /// The events of the set.
    const EVENTS: &'static [EventInfo];

    /// Name and version of this event.
    fn info(&self) -> EventInfo;

    /// Encodes this event.
    ///
    /// # Errors
    ///
    /// [`CodecError`] as in [`EncodedEvent::new`].
    fn encode(&self) -> Result<EncodedEvent, CodecError>;

    /// Decodes an event of this set.
    ///
    /// # Errors
    ///
    /// [`CodecError`] for an event that is not of this set, and as in [`EncodedEvent::decode`].
    fn decode(event: &EncodedEvent) -> Result<Self, CodecError>;
}

/// Name and version of a kind of event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct EventInfo {
    /// The name under which it is stored.
    pub name: &'static str,
    /// The version in which it is written.
    pub version: u32,
    upcasters: usize,
}

impl EventInfo {
    /// Name and version of `E`.
    #[must_use]
    pub const fn of<E: Event>() -> Self {
        Self { name: E::NAME, version: E::VERSION, upcasters: E::UPCASTERS.len() }
    }

    /// Whether there is an upcaster from every older version.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.version as usize == self.upcasters + 1
    }
}
