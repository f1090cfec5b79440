//! The people of the suite: attempts that reserve, append and give up, one call at a time, on a store directly.

use super::Subject;
use freehold::reservation::lifecycle::KeyUse;
use freehold::reservation::{KeyId, Record, RequestHash, Reserved};
use freehold::store::{
    Append, AppendReply, CommitKind, Fingerprint, GiveUp, KeyClaim, KeyReading, Load, LoadedStream, NamespaceRecord,
    Refusal, Registered, RequestKey, Reserve, ReserveKey, Settle, Settled, Written,
};
use freehold::{AggregateType, EncodedEvent, RequestId, Store, StreamId, Tenancy, Text, Timestamp, Token};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const CONTEXT: &str = "conformance";
pub(super) const NAMESPACE: &str = "conformance.name";
pub(super) const SYSTEM_NAMESPACE: &str = "conformance.domain";
/// Half a minute, as most leases have.
pub(super) const PENDING_MS: u64 = 30_000;

static NEXT: AtomicU64 = AtomicU64::new(1);

/// A number that no other call gets, in this process.
pub(super) fn unique() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

pub(super) fn fresh_token() -> Token {
    Token::from_u128(u128::from(unique()) | 1 << 100)
}

pub(super) fn namespace(context: &str, name: &str, tenancy: Tenancy) -> NamespaceRecord {
    NamespaceRecord { context: context.into(), name: name.into(), tenancy, normalizer: "verbatim@1".into() }
}

/// Registers the namespaces of the suite.
pub(super) async fn registered(store: &dyn Store) {
    let mut namespaces = Vec::new();
    for context in [CONTEXT, "elsewhere"] {
        namespaces.push(namespace(context, NAMESPACE, Tenancy::Tenant));
        namespaces.push(namespace(context, SYSTEM_NAMESPACE, Tenancy::System));
    }
    let answers = store.register(namespaces).await.expect("the namespaces are registered");
    assert!(answers.iter().all(|answer| *answer == Registered::AsGiven { epoch: 1 }), "{answers:?}");
}

pub(super) fn stream(id: &str) -> StreamId {
    let aggregate = AggregateType { context: Text::from_static(CONTEXT), name: Text::from_static("brand") };
    StreamId { aggregate, tenant: Text::from_static("acme"), id: id.into() }
}

/// A key of the tenant namespace, as seen by `holder`.
pub(super) fn key_of(holder: &StreamId, key: &str) -> KeyId {
    KeyId {
        key: key.into(),
        namespace: Text::from_static(NAMESPACE),
        scope: holder.tenant.clone(),
        context: holder.aggregate.context.clone(),
    }
}

pub(super) fn event(name: &str) -> EncodedEvent {
    let data = serde_json::value::to_raw_value(&serde_json::json!({ "name": name })).expect("a literal is JSON");
    EncodedEvent { name: Text::from_static("Named"), version: 1, data }
}

/// One attempt of one aggregate.
#[derive(Clone)]
pub(super) struct Actor {
    pub(super) store: Arc<dyn Store>,
    pub(super) stream: StreamId,
    pub(super) token: Token,
    pub(super) request: RequestHash,
    pub(super) request_id: String,
    pub(super) epoch: u64,
    pub(super) expected_version: u64,
    pub(super) pending_ms: u64,
}

impl Actor {
    /// A fresh attempt of aggregate `id`, which has no commit yet.
    pub(super) fn new(subject: &Subject, id: &str) -> Self {
        Self::of(subject.store(), stream(id))
    }

    pub(super) fn of(store: &Arc<dyn Store>, stream: StreamId) -> Self {
        let number = unique();
        Self {
            store: Arc::clone(store),
            stream,
            token: fresh_token(),
            request: RequestHash(number),
            request_id: format!("request-{number}"),
            epoch: 1,
            expected_version: 0,
            pending_ms: PENDING_MS,
        }
    }

    /// Another attempt of the same aggregate, at `version`.
    pub(super) fn again(&self, version: u64) -> Self {
        Self { expected_version: version, ..Self::of(&self.store, self.stream.clone()) }
    }

    pub(super) fn key(&self, key: &str) -> KeyId {
        key_of(&self.stream, key)
    }

    pub(super) async fn reserve(&self, key: &str) -> Reserved {
        self.reserve_ids(vec![self.key(key)]).await[0]
    }

    pub(super) async fn reserve_ids(&self, keys: Vec<KeyId>) -> Vec<Reserved> {
        let reply = self.store.reserve(self.reserve_call(keys)).await;
        reply.expect("a reserve is answered").answers
    }

    pub(super) fn reserve_call(&self, keys: Vec<KeyId>) -> Reserve {
        let key = |key| ReserveKey {
            key,
            epoch: self.epoch,
            token: self.token,
            request: self.request,
            pending_ms: self.pending_ms,
        };
        Reserve { holder: self.stream.clone(), keys: keys.into_iter().map(key).collect() }
    }

    pub(super) async fn give_up(&self, key: &str) {
        self.give_up_ids(vec![self.key(key)]).await;
    }

    pub(super) async fn give_up_ids(&self, keys: Vec<KeyId>) {
        let give_up = GiveUp { holder: self.stream.clone(), token: self.token, keys };
        self.store.give_up(give_up).await.expect("a give-up is done");
    }

    fn request_key(&self) -> RequestKey {
        let id = RequestId::new(&*self.request_id).expect("a request id");
        RequestKey { id, fingerprint: Fingerprint([7; 32]) }
    }

    pub(super) fn append_call(&self, keys: Vec<(KeyId, KeyUse)>) -> Append {
        let claim = |(key, key_use)| KeyClaim { key, epoch: self.epoch, key_use };
        Append {
            stream: self.stream.clone(),
            expected_version: self.expected_version,
            kind: CommitKind::Command,
            command: Text::from_static("Name"),
            request: self.request_key(),
            token: self.token,
            mark: 0,
            events: vec![event(&self.request_id)],
            keys: keys.into_iter().map(claim).collect(),
            metadata: None,
        }
    }

    pub(super) async fn append(&self, keys: &[(&str, KeyUse)]) -> AppendReply {
        let keys = keys.iter().map(|(key, key_use)| (self.key(key), *key_use)).collect();
        self.store.append(self.append_call(keys)).await.expect("an append is answered")
    }

    /// Appends, and expects that it is written.
    #[track_caller]
    pub(super) fn wrote(reply: &AppendReply) -> Written {
        match reply {
            AppendReply::Written(written) => *written,
            AppendReply::Refused(refusal) => panic!("the append was refused: {refusal:?}"),
        }
    }

    /// Reserves `key` newly and commits it.
    pub(super) async fn take(&self, key: &str) -> Written {
        assert_eq!(self.reserve(key).await, Reserved::Newly);
        Self::wrote(&self.append(&[(key, KeyUse::Take)]).await)
    }

    pub(super) async fn settle(&self, keys: &[&str]) -> Settled {
        let settle = Settle {
            stream: self.stream.clone(),
            version: self.expected_version + 1,
            request: self.request_key().id,
            token: self.token,
            keys: keys.iter().map(|key| self.key(key)).collect(),
        };
        self.store.settle(settle).await.expect("an append is settled")
    }

    pub(super) async fn reading(&self, key: &str) -> KeyReading {
        self.store.reservation(self.key(key)).await.expect("a key is read")
    }

    pub(super) async fn record(&self, key: &str) -> Option<Record> {
        self.reading(key).await.record
    }

    pub(super) async fn holds(&self, key: &str) -> bool {
        self.record(key).await.is_some_and(|record| record.is_confirmed() && record.holder == self.stream)
    }

    pub(super) async fn load(&self) -> LoadedStream {
        let load = Load { stream: self.stream.clone(), after_version: 0, snapshot_of: None };
        self.store.load(load).await.expect("a stream is read")
    }
}

/// Expects that `reply` is the refusal named.
macro_rules! assert_refused {
    ($reply:expr, $refusal:pat) => {{
        let reply = $reply;
        assert!(
            matches!(reply, ::freehold::store::AppendReply::Refused($refusal)),
            "expected {}, got {reply:?}",
            stringify!($refusal)
        );
    }};
}
pub(super) use assert_refused;

pub(super) fn is_conflict(reply: &AppendReply) -> bool {
    matches!(reply, AppendReply::Refused(Refusal::Conflict))
}

pub(super) fn pending_until(answer: Reserved) -> Timestamp {
    match answer {
        Reserved::TakenPending { until, .. } => until,
        other => panic!("expected taken (pending), got {other:?}"),
    }
}
