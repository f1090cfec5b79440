//! Records as JSON. The shapes are this store's own: the contract says what is kept, and not how.

use freehold::reservation::{Lease, Record, RecordState};
use freehold::store::{CommitKind, CommitRecord, Fingerprint, KeyChange, RequestKey, SnapshotRecord};
use freehold::{EncodedEvent, RequestId, StoreError, StoreErrorKind, StreamId, Text, Timestamp, Token};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A commit. Its position is the row's key.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredCommit {
    pub(crate) stream: StreamId,
    pub(crate) version: u64,
    kind: CommitKind,
    command: Text,
    request_id: RequestId,
    fingerprint: [u8; 32],
    pub(crate) token: Token,
    events: Vec<EncodedEvent>,
    keys: Vec<KeyChange>,
    metadata: Option<Box<RawValue>>,
    pub(crate) at: Timestamp,
}

impl StoredCommit {
    pub(crate) fn of(commit: CommitRecord) -> Self {
        let CommitRecord { stream, version, kind, command, request, token, events, keys, metadata, at, .. } = commit;
        let (request_id, fingerprint) = (request.id, request.fingerprint.0);
        Self { stream, version, kind, command, request_id, fingerprint, token, events, keys, metadata, at }
    }

    pub(crate) fn record(self, position: u64) -> CommitRecord {
        let Self { stream, version, kind, command, request_id, fingerprint, token, events, keys, metadata, at } = self;
        let request = RequestKey { id: request_id, fingerprint: Fingerprint(fingerprint) };
        CommitRecord { position, stream, version, kind, command, request, token, events, keys, metadata, at }
    }
}

/// Who has a key: confirmed by the commit at `position`, or pending under `leases`.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredRecord {
    holder: StreamId,
    position: Option<u64>,
    leases: Vec<Lease>,
}

impl From<Record> for StoredRecord {
    fn from(record: Record) -> Self {
        let (position, leases) = match record.state {
            RecordState::Confirmed(position) => (Some(position), Vec::new()),
            RecordState::Pending(leases) => (None, leases),
        };
        Self { holder: record.holder, position, leases }
    }
}

impl From<StoredRecord> for Record {
    fn from(stored: StoredRecord) -> Self {
        let state = stored.position.map_or(RecordState::Pending(stored.leases), RecordState::Confirmed);
        Self { holder: stored.holder, state }
    }
}

/// A state of a stream. Stream and shape are the row's key.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredSnapshot {
    pub(crate) version: u64,
    exists: bool,
    deleted: bool,
    state: Box<RawValue>,
}

impl StoredSnapshot {
    pub(crate) fn of(snapshot: &SnapshotRecord) -> Self {
        let SnapshotRecord { version, exists, deleted, ref state, .. } = *snapshot;
        Self { version, exists, deleted, state: state.clone() }
    }

    pub(crate) fn record(self, stream: StreamId, state_version: u32) -> SnapshotRecord {
        let Self { version, exists, deleted, state } = self;
        SnapshotRecord { stream, version, state_version, exists, deleted, state }
    }
}

pub(crate) fn to_json(record: &impl Serialize) -> Result<String, StoreError> {
    let unwritable = |_| StoreError::not_done(StoreErrorKind::Unusable, "a record can't be written as JSON");
    serde_json::to_string(record).map_err(unwritable)
}

pub(crate) fn from_json<T: DeserializeOwned>(json: &str) -> Result<T, StoreError> {
    let damaged = |_| StoreError::not_done(StoreErrorKind::Corrupt, "a row is not what this store writes");
    serde_json::from_str(json).map_err(damaged)
}
