//! The vocabulary of reservations: namespaces, keys, leases and records.
//!
//! The rules by which a record changes are in `lifecycle`; nothing here does I/O.

pub mod lifecycle;
mod namespace;
mod normalize;

pub use namespace::{Namespace, Tenancy};
pub use normalize::{NFKC_CASEFOLD, Normalizer, PRECIS_USERNAME, TRIM_LOWERCASE, VERBATIM};

use crate::clock::Timestamp;
use crate::ids::{StreamId, Token};
use crate::text::Text;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a reservation is about: `(context, scope, namespace, key)`.
///
/// The parts are columns of their own wherever they are stored; they are never joined into one text (R14). `Debug`
/// and `Display` name the namespace and leave the key out, for keys may be personal data (R19).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId {
    /// The normalised key.
    pub key: Text,
    /// The namespace's name.
    pub namespace: Text,
    /// The tenant within which the key is unique, or empty when it is unique in the whole context (R12).
    pub scope: Text,
    /// The bounded context of the reserving aggregate.
    pub context: Text,
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a key of namespace {:?}", self.namespace.as_str())
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyId")
            .field("context", &self.context)
            .field("scope", &self.scope)
            .field("namespace", &self.namespace)
            .field("key", &format_args!("<{} bytes>", self.key.len()))
            .finish()
    }
}

/// The hash of a request id, by which a pending key is recognised as the same request's (C4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestHash(pub u64);

/// One live attempt's claim on a pending key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Lease {
    /// The attempt's token.
    pub token: Token,
    /// When the claim ends by itself; it has ended at that very instant (R7).
    #[serde(rename = "expires_at_ms")]
    pub expires_at: Timestamp,
    /// Under which request the attempt runs.
    pub request: RequestHash,
}

impl Lease {
    /// Whether the claim still stands at `now`. The one function that judges the expiry of a reservation (R7).
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}

/// What a store keeps of one key. A key without a record is free.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Whose it is.
    pub holder: StreamId,
    /// Pending or confirmed.
    pub state: RecordState,
}

/// Whether a record is pending or confirmed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RecordState {
    /// Reserved by attempts whose events are not written yet. Live while one lease is; never empty.
    Pending(Vec<Lease>),
    /// Held, since the commit at this global position.
    Confirmed(u64),
}

impl Record {
    /// When the last lease of a pending record ends; none for a confirmed one, which never does (U18).
    #[must_use]
    pub fn expires_at(&self) -> Option<Timestamp> {
        match &self.state {
            RecordState::Pending(leases) => leases.iter().map(|lease| lease.expires_at).max(),
            RecordState::Confirmed(_) => None,
        }
    }

    /// Whether the record is confirmed.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        matches!(self.state, RecordState::Confirmed(_))
    }

    /// Whether the record stands at `now`: confirmed, or pending and not expired.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        match &self.state {
            RecordState::Pending(leases) => leases.iter().any(|lease| lease.is_live(now)),
            RecordState::Confirmed(_) => true,
        }
    }
}

#[must_use = "a taken key is not reserved; look at the answer, or turn it into a rejection with `or_reject`"]
/// How `reserve` answers. It never says whose a taken key is (R2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reserved {
    /// The key was free, expired or pending for this aggregate; it is now pending under this attempt's token.
    Newly,
    /// This aggregate holds the key, confirmed. Nothing was changed.
    AlreadyHeld,
    /// Another aggregate holds the key, confirmed.
    TakenHeld,
    /// Another aggregate has the key pending.
    TakenPending {
        /// When the last of its leases ends.
        until: Timestamp,
        /// Whether it is pending under the very request that asks (C4).
        same_request: bool,
    },
}

impl Reserved {
    /// Whether the asking aggregate has the key.
    #[must_use]
    pub fn is_ours(self) -> bool {
        matches!(self, Self::Newly | Self::AlreadyHeld)
    }
}
