//! The world that a spec is played in: a domain on a store in memory, a clock that stands, ids that repeat, and an
//! observer that keeps what handlers asked. What is done in it is in `play`.

use super::store::{SpecStore, answer};
use crate::clock::ManualClock;
use crate::ids::SequentialIds;
use freehold::observe::{Decided, Observer, ScopeCall};
use freehold::reservation::lifecycle::KeyUse;
use freehold::reservation::{KeyId, Record, RequestHash};
use freehold::store::{
    Append, AppendReply, Check, CommitKind, CommitRecord, KeyClaim, Load, Refusal, RequestKey, Reserve, ReserveKey,
    SnapshotRecord,
};
use freehold::{
    Aggregate, AggregateId, Clock, Domain, DomainBuilder, EncodedEvent, MemoryStore, Namespace, Need, Reserved, Store,
    StreamId, Text, Timestamp,
};
use parking_lot::Mutex;
use std::any::TypeId;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How a service is given to a domain.
pub(super) type Provide = Arc<dyn Fn(DomainBuilder) -> DomainBuilder + Send + Sync>;

/// What a world is made from, whatever happens in it.
#[derive(Clone, Default)]
pub(super) struct Setup {
    pub(super) namespaces: Vec<Namespace>,
    pub(super) services: Vec<(TypeId, Provide)>,
    pub(super) tenant: Option<Text>,
    pub(super) id: Option<Text>,
    pub(super) start: Option<Timestamp>,
    pub(super) pending_wait: Duration,
}

impl Setup {
    /// What `needs` names and nothing gives.
    pub(super) fn missing<'n>(&self, needs: &'n [Need]) -> Option<&'n Need> {
        needs.iter().find(|need| !self.services.iter().any(|(given, _)| *given == need.type_id()))
    }

    pub(super) fn add_namespace(&mut self, namespace: Namespace) {
        if !self.namespaces.contains(&namespace) {
            self.namespaces.push(namespace);
        }
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("namespaces", &self.namespaces).finish_non_exhaustive()
    }
}

/// Keeps what handlers asked of their scopes.
#[derive(Debug, Default)]
struct Recorder(Mutex<Vec<(StreamId, Vec<ScopeCall>)>>);

impl Observer for Recorder {
    fn decided(&self, decided: &Decided<'_>) {
        self.0.lock().push((decided.stream.clone(), decided.calls.to_vec()));
    }
}

pub(super) struct World<A> {
    pub(super) domain: Domain,
    pub(super) store: Arc<SpecStore>,
    pub(super) clock: ManualClock,
    pub(super) start: Timestamp,
    pub(super) subject: AggregateId<A>,
    /// Another aggregate of the same type and tenant, which holds what is given as another's.
    pub(super) other: StreamId,
    recorder: Arc<Recorder>,
}

impl<A: Aggregate> World<A> {
    pub(super) async fn build(setup: &Setup) -> Result<Self, String> {
        let clock = setup.start.map_or_else(ManualClock::new, ManualClock::at);
        let store = Arc::new(SpecStore::new(MemoryStore::with_clock(Arc::new(clock.clone()))));
        let recorder = Arc::new(Recorder::default());
        let mut builder = Domain::builder()
            .shared_store(Arc::clone(&store) as Arc<dyn Store>)
            .clock(Arc::new(clock.clone()))
            .ids(Arc::new(SequentialIds::new()))
            .observer(Arc::clone(&recorder) as Arc<dyn Observer>)
            .without_discovery()
            .pause_between_attempts(false)
            .pending_wait(setup.pending_wait)
            .warm_states(0)
            .allow_missing_services()
            .aggregate::<A>();
        let discovered = freehold::registry::discovered_namespaces();
        for namespace in discovered.into_iter().filter(|found| !setup.namespaces.contains(found)) {
            builder = builder.namespace(namespace);
        }
        for namespace in &setup.namespaces {
            builder = builder.namespace(*namespace);
        }
        for (_, provide) in &setup.services {
            builder = provide(builder);
        }
        let domain = builder.build().await.map_err(|error| error.to_string())?;
        let (subject, other) = Self::names(setup).map_err(|error| error.to_string())?;
        Ok(Self { domain, store, start: clock.now(), clock, subject, other, recorder })
    }

    fn names(setup: &Setup) -> Result<(AggregateId<A>, StreamId), freehold::InvalidId> {
        let numbered = |number: u32| Text::from(format!("{}-{number}", A::NAME));
        let mut subject = AggregateId::<A>::new(setup.id.clone().unwrap_or_else(|| numbered(1)))?;
        if let Some(tenant) = &setup.tenant {
            subject = subject.tenant(tenant.clone())?;
        }
        let mut other = subject.stream().clone();
        other.id = if other.id == numbered(2) { numbered(1) } else { numbered(2) };
        Ok((subject, other))
    }

    /// What handlers of the subject asked since this was called last, attempt by attempt.
    pub(super) fn take_calls(&self) -> Vec<Vec<ScopeCall>> {
        let seen = std::mem::take(&mut *self.recorder.0.lock());
        seen.into_iter().filter(|(stream, _)| stream == self.subject.stream()).map(|(_, calls)| calls).collect()
    }

    pub(super) fn key(&self, namespace: Namespace, key: &str) -> Result<KeyId, String> {
        namespace.key_id(key, self.subject.stream()).map_err(|error| error.to_string())
    }

    pub(super) fn record(&self, key: &KeyId) -> Option<Record> {
        answer(self.store.reservation(key.clone())).ok()?.record
    }

    pub(super) fn version(&self, stream: &StreamId) -> u64 {
        answer(self.store.check(Check { stream: stream.clone(), request: None })).map_or(0, |checked| checked.version)
    }

    /// The commits of the subject.
    pub(super) fn history(&self) -> Vec<Arc<CommitRecord>> {
        let load = Load { stream: self.subject.stream().clone(), after_version: 0, snapshot_of: None };
        answer(self.store.load(load)).map(|loaded| loaded.commits).unwrap_or_default()
    }

    /// Writes events as they are given, as one commit.
    pub(super) fn append_events(&self, events: Vec<EncodedEvent>) -> Result<(), String> {
        self.append(self.subject.stream(), CommitKind::Command, events, Vec::new())
    }

    /// Lets `holder` hold a key, by a commit without events.
    pub(super) fn hold(&self, holder: &StreamId, namespace: Namespace, key: &str) -> Result<(), String> {
        let key = self.key(namespace, key)?;
        let claim = KeyClaim { key, epoch: self.store.epoch(namespace.name()), key_use: KeyUse::Take };
        self.append(holder, CommitKind::Import, Vec::new(), vec![claim])
    }

    fn append(
        &self,
        stream: &StreamId,
        kind: CommitKind,
        events: Vec<EncodedEvent>,
        keys: Vec<KeyClaim>,
    ) -> Result<(), String> {
        let token = self.store.own_token();
        let reply = answer(self.store.append(Append {
            stream: stream.clone(),
            expected_version: self.version(stream),
            kind,
            command: Text::from_static("$given"),
            request: RequestKey::of_token(token),
            token,
            mark: 0,
            events,
            keys,
            metadata: None,
        }));
        match reply {
            Ok(AppendReply::Written(_)) => Ok(()),
            Ok(AppendReply::Refused(Refusal::KeyLost)) => Err("somebody else has the key already".to_owned()),
            Ok(AppendReply::Refused(refusal)) => Err(format!("the store refused it: {refusal:?}")),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Lets the other aggregate have a key pending.
    pub(super) fn leave_pending(&self, namespace: Namespace, key: &str, ttl: Duration) -> Result<(), String> {
        let asked = ReserveKey {
            key: self.key(namespace, key)?,
            epoch: self.store.epoch(namespace.name()),
            token: self.store.own_token(),
            request: RequestHash(0),
            pending_ms: u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX),
        };
        let reply = answer(self.store.reserve(Reserve { holder: self.other.clone(), keys: vec![asked] }));
        match reply.map(|reply| reply.answers) {
            Ok(answers) if answers == [Reserved::Newly] => Ok(()),
            Ok(_) => Err("the key is held already".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Keeps a snapshot of the subject as it is, so that the next decision is made on it.
    pub(super) async fn keep_snapshot(&self) {
        let Ok(loaded) = self.domain.load(&self.subject).await else { return };
        let Ok(state) = serde_json::value::to_raw_value(loaded.state()) else { return };
        drop(self.store.save_snapshot(SnapshotRecord {
            stream: self.subject.stream().clone(),
            version: loaded.version(),
            state_version: A::STATE_VERSION,
            exists: true,
            deleted: loaded.is_deleted(),
            state,
        }));
    }

    /// `time` as seen from the start of the spec.
    pub(super) fn since_start(&self, time: Timestamp) -> String {
        show_millis(time.as_millis().saturating_sub(self.start.as_millis()))
    }
}

pub(super) fn show_duration(duration: Duration) -> String {
    show_millis(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
}

fn show_millis(millis: i64) -> String {
    let sign = if millis < 0 { "-" } else { "" };
    let (seconds, rest) = (millis.unsigned_abs() / 1_000, millis.unsigned_abs() % 1_000);
    if rest == 0 {
        return format!("{sign}{seconds} s");
    }
    format!("{sign}{} s", format!("{seconds}.{rest:03}").trim_end_matches('0'))
}
