//! A request: who asks what of whom, and what makes two of them the same (C4).

use crate::aggregate::{Aggregate, Creates, Decide};
use crate::codec::{canonical, digest, from_json};
use crate::command::Command;
use crate::domain::Inner;
use crate::error::Error;
use crate::ids::{AggregateId, RequestId, StreamId};
use crate::reservation::RequestHash;
use crate::store::{Fingerprint, RequestKey};
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A command to execute, without the command itself.
#[derive(Debug)]
pub(crate) struct Request<A> {
    pub(crate) aggregate: AggregateId<A>,
    pub(crate) id: RequestId,
    /// Whether the caller gave the id, so that the request may have been sent before.
    pub(crate) is_given: bool,
    pub(crate) expected_version: Option<u64>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) metadata: Map<String, Value>,
    /// The newest mark of the request that this send has seen (C4).
    mark: AtomicU64,
    fingerprint: Fingerprint,
    command: String,
}

impl<A: Aggregate> Request<A> {
    pub(crate) fn new<C: Command>(
        domain: &Inner,
        aggregate: AggregateId<A>,
        id: Option<RequestId>,
        command: &C,
    ) -> Result<Self, Error>
    where
        A: Decide<C>,
    {
        let json = canonical(command).map_err(|_| {
            let problem = "can't be written as JSON; a command is plain data, with texts as the keys of its maps";
            Error::Misconfigured(format!("command {} {problem}", A::COMMAND))
        })?;
        let is_given = id.is_some();
        let id = id.unwrap_or_else(|| RequestId::generated(uuid::Uuid::from_u128(domain.ids.next())));
        // A command that creates is the same wherever it goes: the caller may draw a new id each time.
        let target = if A::CREATES == Creates::Only { "" } else { aggregate.id() };
        let fingerprint = Fingerprint(digest(&[A::COMMAND.as_bytes(), target.as_bytes(), json.as_bytes()]));
        let (expected_version, deadline, metadata, mark) = (None, None, Map::new(), AtomicU64::new(0));
        Ok(Self { aggregate, id, is_given, expected_version, deadline, metadata, mark, fingerprint, command: json })
    }

    pub(crate) fn stream(&self) -> &StreamId {
        self.aggregate.stream()
    }

    pub(crate) fn key(&self) -> RequestKey {
        RequestKey { id: self.id.clone(), fingerprint: self.fingerprint }
    }

    pub(crate) fn is_same(&self, other: &RequestKey) -> bool {
        self.fingerprint == other.fingerprint
    }

    /// The mark that an append of this send carries: whoever left it was answered before this send decides again (C4).
    pub(crate) fn mark(&self) -> u64 {
        self.mark.load(Ordering::Relaxed)
    }

    pub(crate) fn has_seen_mark(&self, mark: u64) {
        self.mark.fetch_max(mark, Ordering::Relaxed);
    }

    /// The command once more, for another attempt.
    pub(crate) fn command_again<C: Command>(&self) -> Result<C, Error>
    where
        A: Decide<C>,
    {
        from_json(&self.command).map_err(|problem| {
            let name = A::COMMAND;
            Error::Misconfigured(format!(
                "command {name} can't be read back from its own JSON to be decided again: {problem}"
            ))
        })
    }

    pub(crate) fn conflict(&self, attempts: u32) -> Error {
        Error::Conflict { stream: Box::new(self.stream().clone()), attempts, expected: None, actual: None }
    }
}

/// The hash that a pending key carries, by which the same request is recognised (C4).
pub(super) fn request_hash(stream: &StreamId, id: &RequestId) -> RequestHash {
    let parts = [&*stream.aggregate.context, &stream.aggregate.name, &stream.tenant, id.as_str()];
    let digest = digest(&parts.map(str::as_bytes));
    let first = digest.first_chunk().expect("a digest has 32 bytes");
    RequestHash(u64::from_le_bytes(*first))
}
