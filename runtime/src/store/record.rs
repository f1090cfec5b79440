//! The shapes that go into a store and come out of it. Data only; what a store does with them is in its contract.

use crate::clock::Timestamp;
use crate::codec::EncodedEvent;
use crate::ids::{RequestId, StreamId, Token};
use crate::reservation::lifecycle::KeyUse;
use crate::reservation::{KeyId, Lease, Normalizer, Record, Reserved, Tenancy};
use crate::text::Text;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// A namespace as it is recorded, for one context.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamespaceRecord {
    /// The context whose aggregates reserve in it.
    pub context: Text,
    /// Its name.
    pub name: Text,
    /// Within what its keys are unique.
    pub tenancy: Tenancy,
    /// Name and version of its normaliser, such as `trim-lowercase@1`.
    pub normalizer: Text,
}

/// What came of registering a namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Registered {
    /// It is recorded as given, with this epoch.
    AsGiven {
        /// Raised by every rekey; calls carry the one their process was built with (R13).
        epoch: u64,
    },
    /// It is recorded differently, and the record stands.
    Differs {
        /// What is recorded.
        recorded: NamespaceRecord,
    },
}

/// What to read of a stream.
#[derive(Clone, Debug)]
pub struct Load {
    /// The stream.
    pub stream: StreamId,
    /// Only commits after this version; 0 for all, or for those after the snapshot.
    pub after_version: u64,
    /// The version of the state's shape that a snapshot must have; none to read without snapshot.
    pub snapshot_of: Option<u32>,
}

/// What was read of a stream.
#[derive(Clone, Debug, Default)]
pub struct LoadedStream {
    /// The newest snapshot of the wanted shape that lies after `after_version`.
    pub snapshot: Option<SnapshotRecord>,
    /// The commits after the snapshot, or after `after_version`, in order.
    pub commits: Vec<Arc<CommitRecord>>,
}

/// A state as of a version.
#[derive(Clone)]
pub struct SnapshotRecord {
    /// Whose state.
    pub stream: StreamId,
    /// As of which version.
    pub version: u64,
    /// The version of the state's shape.
    pub state_version: u32,
    /// Whether the aggregate exists: has a domain event (C2).
    pub exists: bool,
    /// Whether it is deleted (C10).
    pub deleted: bool,
    /// The state as JSON.
    pub state: Box<RawValue>,
}

/// Without the state: it may hold keys (R19).
impl fmt::Debug for SnapshotRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SnapshotRecord({}, version {}, {} bytes)", self.stream, self.version, self.state.get().len())
    }
}

/// What kind of commit it is (R20).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommitKind {
    /// A command's events.
    Command,
    /// An operator's release of a key. No events.
    Release,
    /// Keys taken over from elsewhere. No events.
    Import,
    /// A key in its new normal form. No events.
    Rekey,
}

impl CommitKind {
    /// The kind's name, as stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Release => "release",
            Self::Import => "import",
            Self::Rekey => "rekey",
        }
    }

    /// The kind stored under `name`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Command, Self::Release, Self::Import, Self::Rekey].into_iter().find(|kind| kind.as_str() == name)
    }
}

/// SHA-256 over what makes two requests the same: command, canonical JSON and, unless it creates, the id (C4).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A request: its id, and what it asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestKey {
    /// Unique per aggregate type and tenant.
    pub id: RequestId,
    /// Tells the same request from another one under the same id.
    pub fingerprint: Fingerprint,
}

impl RequestKey {
    /// The request of an administrative commit, which nobody sends again: its own token.
    #[must_use]
    pub fn of_token(token: Token) -> Self {
        Self { id: RequestId::from_stored(Text::from(token.to_string())), fingerprint: Fingerprint([0; 32]) }
    }
}

/// The name of the built-in event by which a commit deletes its aggregate (C10).
pub const DELETED: &str = "$deleted";
/// The name of the built-in event by which a commit restores its aggregate (C10).
pub const RESTORED: &str = "$restored";

/// A commit as it is read back. One version of its stream, one global position.
#[derive(Clone)]
pub struct CommitRecord {
    /// Global, unique and increasing; gaps are allowed.
    pub position: u64,
    /// The stream.
    pub stream: StreamId,
    /// The stream's version after it, from 1 without gaps.
    pub version: u64,
    /// What kind of commit.
    pub kind: CommitKind,
    /// The command's name, or who made the commit and why.
    pub command: Text,
    /// The request.
    pub request: RequestKey,
    /// The attempt that wrote it.
    pub token: Token,
    /// Its events; a built-in one has a name that starts with `$`.
    pub events: Vec<EncodedEvent>,
    /// The keys it took and freed (R20).
    pub keys: Vec<KeyChange>,
    /// What the caller said with `.metadata(..)`, as a JSON object.
    pub metadata: Option<Box<RawValue>>,
    /// When it was written.
    pub at: Timestamp,
}

/// Without metadata and the fields of events: they may hold keys (R19).
impl fmt::Debug for CommitRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommitRecord")
            .field("position", &self.position)
            .field("stream", &self.stream)
            .field("version", &self.version)
            .field("kind", &self.kind)
            .field("command", &self.command)
            .field("request", &self.request)
            .field("token", &self.token)
            .field("events", &self.events)
            .field("keys", &self.keys)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

/// A key that a commit took or freed (R20). Its context is the stream's.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyChange {
    /// The namespace.
    #[serde(rename = "ns")]
    pub namespace: Text,
    /// The tenant, or empty for the whole context.
    pub scope: Text,
    /// The normalised key.
    pub key: Text,
    /// True when it was taken, false when it was freed.
    pub taken: bool,
}

impl fmt::Debug for KeyChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.taken { "took" } else { "freed" };
        write!(f, "{verb} a key of namespace {:?}", self.namespace.as_str())
    }
}

/// A reserve of one attempt.
#[derive(Clone, Debug)]
pub struct Reserve {
    /// For whom.
    pub holder: StreamId,
    /// The keys, in any order, each once.
    pub keys: Vec<ReserveKey>,
}

/// A key to reserve, and how.
#[derive(Clone, Debug)]
pub struct ReserveKey {
    /// The key.
    pub key: KeyId,
    /// The namespace's epoch that the process was built with (R13).
    pub epoch: u64,
    /// The attempt's claim, but for its end: that is `pending_ms` from the store's own present.
    pub token: Token,
    /// The request's hash.
    pub request: crate::reservation::RequestHash,
    /// How long the key stays pending, in milliseconds.
    pub pending_ms: u64,
}

impl ReserveKey {
    /// The lease it asks for, at the store's present.
    #[must_use]
    pub fn lease(&self, now: Timestamp) -> Lease {
        let expires_at = now + std::time::Duration::from_millis(self.pending_ms);
        Lease { token: self.token, expires_at, request: self.request }
    }
}

/// The answers to a reserve, in the order of its keys, and the store's present when it gave them.
#[derive(Clone, Debug)]
pub struct ReserveReply {
    /// One answer a key.
    pub answers: Vec<Reserved>,
    /// The store's own present, which judged expiry (R7).
    pub now: Timestamp,
}

/// What an attempt gives up.
#[derive(Clone, Debug)]
pub struct GiveUp {
    /// Whose.
    pub holder: StreamId,
    /// The attempt.
    pub token: Token,
    /// The keys it asked for.
    pub keys: Vec<KeyId>,
}

/// A key of an append, and what becomes of it.
#[derive(Clone, Debug)]
pub struct KeyClaim {
    /// The key.
    pub key: KeyId,
    /// The namespace's epoch that the process was built with.
    pub epoch: u64,
    /// Confirm, keep or release.
    pub key_use: KeyUse,
}

/// A commit to write.
#[derive(Clone)]
pub struct Append {
    /// The stream.
    pub stream: StreamId,
    /// The version that the stream must have.
    pub expected_version: u64,
    /// What kind of commit.
    pub kind: CommitKind,
    /// The command's name, or who made the commit and why.
    pub command: Text,
    /// The request.
    pub request: RequestKey,
    /// The attempt, which is also the commit's own id (R9).
    pub token: Token,
    /// The newest mark of the request that its sender knows of; 0 for none (C4).
    pub mark: u64,
    /// The events.
    pub events: Vec<EncodedEvent>,
    /// The keys, each once.
    pub keys: Vec<KeyClaim>,
    /// What the caller said, as a JSON object.
    pub metadata: Option<Box<RawValue>>,
}

/// Without metadata and the fields of events: they may hold keys (R19).
impl fmt::Debug for Append {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Append")
            .field("stream", &self.stream)
            .field("expected_version", &self.expected_version)
            .field("kind", &self.kind)
            .field("command", &self.command)
            .field("request", &self.request)
            .field("token", &self.token)
            .field("mark", &self.mark)
            .field("events", &self.events)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

impl Append {
    /// The keys as the commit records them, when every release frees its key (R20).
    #[must_use]
    pub fn key_changes(&self) -> Vec<KeyChange> {
        self.key_changes_without(&BTreeSet::new())
    }

    /// The keys as the commit records them, but for the releases in `idle`, which freed nothing: the log says what
    /// happened, so that the registry follows from it alone (R20).
    #[must_use]
    pub fn key_changes_without(&self, idle: &BTreeSet<KeyId>) -> Vec<KeyChange> {
        let is_change = |claim: &&KeyClaim| claim.key_use != KeyUse::Keep && !idle.contains(&claim.key);
        let changes = self.keys.iter().filter(is_change);
        changes
            .map(|claim| KeyChange {
                namespace: claim.key.namespace.clone(),
                scope: claim.key.scope.clone(),
                key: claim.key.key.clone(),
                taken: claim.key_use == KeyUse::Take,
            })
            .collect()
    }
}

/// What came of an append.
#[derive(Clone, Debug)]
pub enum AppendReply {
    /// It is written, durably.
    Written(Written),
    /// It is not written and never will be; the attempt's leases are given up.
    Refused(Refusal),
}

/// Where a commit stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// Its global position.
    pub position: u64,
    /// When it was written.
    pub at: Timestamp,
}

/// Why an append was refused. Never one for another (S3).
#[derive(Clone, Debug)]
pub enum Refusal {
    /// The stream has another version than expected.
    Conflict,
    /// The request id has its commit already: this one.
    Replay(Arc<CommitRecord>),
    /// A key that `reserve` answered held is another's by now (R8).
    KeyLost,
    /// It came too late: this very append was settled as not written before it arrived (R9), or its request was answered
    /// without a commit since its sender last looked (C4). Decide again, and send the mark along.
    Fenced {
        /// The request's mark; 0 when it has none.
        mark: u64,
    },
}

/// What to ask after a decision without append.
#[derive(Clone, Debug)]
pub struct Check {
    /// The stream whose version is asked for.
    pub stream: StreamId,
    /// The request id to look up, if the caller gave one.
    pub request: Option<RequestId>,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The stream's version; 0 when it has no commit.
    pub version: u64,
    /// The first commit under the request id.
    pub first: Option<Arc<CommitRecord>>,
    /// The mark that was left under a request id without a commit; 0 for none. Each one is higher than those before it.
    pub mark: u64,
}

/// What there is to know of one key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyReading {
    /// Its record; an expired one too, until it is swept.
    pub record: Option<Record>,
    /// The epoch of its namespace; none when that is not recorded (R13).
    pub epoch: Option<u64>,
    /// The store's own present, which judges expiry (R7).
    pub now: Timestamp,
}

/// An append to settle.
#[derive(Clone, Debug)]
pub struct Settle {
    /// The stream of the append.
    pub stream: StreamId,
    /// The version it would have written.
    pub version: u64,
    /// The id of its request.
    pub request: RequestId,
    /// Its token.
    pub token: Token,
    /// The keys to give up when it was not written.
    pub keys: Vec<KeyId>,
}

/// What an append had come to.
#[derive(Clone, Debug)]
pub enum Settled {
    /// It is written.
    Written(Written),
    /// It is not written, and can't be any more.
    NotWritten,
}

/// A namespace whose normaliser changes.
#[derive(Clone, Debug)]
pub struct RekeyNamespace {
    /// The namespace as it shall be recorded.
    pub namespace: NamespaceRecord,
    /// The new normaliser, applied to the keys as they are stored.
    pub normalizer: Normalizer,
    /// What is changed, and why; the command of the commits.
    pub command: Text,
}

/// Normalisers to change, all or none.
#[derive(Clone)]
pub struct Rekey {
    /// The namespaces.
    pub namespaces: Vec<RekeyNamespace>,
    /// Fresh tokens for the commits.
    pub tokens: Arc<dyn Fn() -> Token + Send + Sync>,
}

impl fmt::Debug for Rekey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rekey").field("namespaces", &self.namespaces).finish_non_exhaustive()
    }
}

/// What came of a rekey.
#[derive(Clone, Debug)]
pub enum RekeyReply {
    /// The namespace is recorded anew.
    Done {
        /// How many keys have another form now.
        moved: u64,
    },
    /// Nothing was changed: two holders' keys would be one, or a key would be none.
    Collides(Vec<RekeyCollision>),
}

/// Two keys that would become one, or a key that the normaliser refuses (then without `other`). Names holders, not keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RekeyCollision {
    /// The namespace.
    pub namespace: Text,
    /// The holder of the first.
    pub holder: StreamId,
    /// The holder of the second.
    pub other: Option<StreamId>,
}
