//! The memory store: the contract in its simplest form, for tests and for what need not outlive the process.
//!
//! One lock guards everything, since an append is one atomic step over log, stream, request and keys, and draws a
//! global position that must become visible in order. Every call does its work before it returns, so no reply is ever
//! waited for, and no future that is dropped can leave anything half done.

use super::marks::{left_at, next_mark};
use super::rekeying::{RekeyPlan, key_changes};
use super::{
    Append, AppendReply, Check, Checked, CommitKind, CommitRecord, GiveUp, KeyClaim, KeyReading, Load, LoadedStream,
    NamespaceRecord, Refusal, Registered, Rekey, RekeyNamespace, RekeyReply, RequestKey, Reserve, ReserveReply, Settle,
    Settled, SnapshotRecord, Store, StoreError, StoreReply, Written,
};
use crate::clock::{Clock, SystemClock, Timestamp};
use crate::ids::{AggregateType, RequestId, StreamId, Token};
use crate::limits::LATE_APPEND_MAX;
use crate::reservation::lifecycle::{self, Change, KeyUse};
use crate::reservation::{KeyId, Record, RecordState};
use crate::text::Text;
use foldhash::HashMap;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;

/// A store in memory. Cheap to clone; clones share the data.
///
/// ```
/// use freehold::{Domain, MemoryStore};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), freehold::BuildError> {
/// let domain = Domain::builder().store(MemoryStore::new()).build().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    data: Arc<Mutex<Data>>,
}

#[derive(Default)]
struct Data {
    log: Vec<Arc<CommitRecord>>,
    /// The commits of each stream; never empty, and found by what the first one says.
    streams: HashTable<Vec<Arc<CommitRecord>>>,
    /// Each commit once more, found by its request.
    requests: HashTable<Arc<CommitRecord>>,
    hasher: RandomState,
    keys: HashMap<KeyId, Record>,
    namespaces: HashMap<(Text, Text), (NamespaceRecord, u64)>,
    snapshots: HashMap<StreamId, SnapshotRecord>,
    tombstones: HashMap<Token, Timestamp>,
    /// The newest mark of each request that was asked for and had no commit (C4).
    marks: HashMap<(AggregateType, Text, RequestId), u64>,
}

impl MemoryStore {
    /// An empty store that judges expiry by the system's clock.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock))
    }

    /// An empty store that judges expiry by `clock` (R7).
    #[must_use]
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { clock, data: Arc::default() }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Data, Timestamp) -> Result<T, StoreError>) -> StoreReply<T> {
        let mut data = self.data.lock();
        // Read under the lock: time must not run backwards between two calls.
        let now = self.clock.now();
        StoreReply::ready(work(&mut data, now))
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for MemoryStore {
    fn register(&self, namespaces: Vec<NamespaceRecord>) -> StoreReply<Vec<Registered>> {
        self.with(|data, _| Ok(data.register(namespaces)))
    }

    fn load(&self, load: Load) -> StoreReply<LoadedStream> {
        self.with(|data, _| Ok(data.load(&load)))
    }

    fn check(&self, check: Check) -> StoreReply<Checked> {
        self.with(|data, now| Ok(data.check(check, now)))
    }

    fn reserve(&self, reserve: Reserve) -> StoreReply<ReserveReply> {
        self.with(|data, now| data.reserve(&reserve, now))
    }

    fn give_up(&self, give_up: GiveUp) -> StoreReply<()> {
        self.with(|data, _| {
            data.give_up(&give_up.holder, give_up.token, &give_up.keys);
            Ok(())
        })
    }

    fn append(&self, append: Append) -> StoreReply<AppendReply> {
        self.with(|data, now| data.append(append, now))
    }

    fn settle(&self, settle: Settle) -> StoreReply<Settled> {
        self.with(|data, now| Ok(data.settle(&settle, now)))
    }

    fn save_snapshot(&self, snapshot: SnapshotRecord) -> StoreReply<()> {
        self.with(|data, _| {
            data.save_snapshot(snapshot);
            Ok(())
        })
    }

    fn commits(&self, after_position: u64, limit: usize) -> StoreReply<Vec<CommitRecord>> {
        self.with(|data, _| {
            let skipped = usize::try_from(after_position).unwrap_or(usize::MAX);
            Ok(data.log.iter().skip(skipped).take(limit).map(|commit| CommitRecord::clone(commit)).collect())
        })
    }

    fn reservation(&self, key: KeyId) -> StoreReply<KeyReading> {
        self.with(|data, now| {
            let (record, epoch) = (data.keys.get(&key).cloned(), data.epoch(&key));
            Ok(KeyReading { record, epoch, now })
        })
    }

    fn held_by(&self, holder: StreamId) -> StoreReply<Vec<KeyId>> {
        self.with(|data, _| {
            let held = data.keys.iter().filter(|(_, record)| record.is_confirmed() && record.holder == holder);
            let mut keys: Vec<KeyId> = held.map(|(key, _)| key.clone()).collect();
            keys.sort();
            Ok(keys)
        })
    }

    fn rekey(&self, rekey: Rekey) -> StoreReply<RekeyReply> {
        self.with(|data, now| Ok(data.rekey(&rekey, now)))
    }

    fn sweep(&self) -> StoreReply<u64> {
        self.with(|data, now| {
            let before = data.keys.len();
            data.keys.retain(|_, record| lifecycle::sweep(Some(record), now) == Change::Keep);
            data.tombstones.retain(|_, at| *at + LATE_APPEND_MAX > now);
            data.marks.retain(|_, mark| left_at(*mark) + LATE_APPEND_MAX > now);
            Ok((before - data.keys.len()) as u64)
        })
    }

    fn drain(&self) -> StoreReply<()> {
        StoreReply::ready(Ok(()))
    }
}

impl Data {
    fn version(&self, stream: &StreamId) -> u64 {
        self.commits_of(stream).len() as u64
    }

    fn commits_of(&self, stream: &StreamId) -> &[Arc<CommitRecord>] {
        let hash = self.hasher.hash_one(stream);
        self.streams.find(hash, |commits| commits[0].stream == *stream).map_or(&[], Vec::as_slice)
    }

    /// The commit of a request, which is unique per aggregate type and tenant (C4).
    fn first_of(&self, stream: &StreamId, request: &RequestId) -> Option<&Arc<CommitRecord>> {
        self.requests.find(self.hasher.hash_one(request), |commit| {
            let CommitRecord { stream: other, request: first, .. } = &**commit;
            first.id == *request && other.aggregate == stream.aggregate && other.tenant == stream.tenant
        })
    }

    fn register(&mut self, namespaces: Vec<NamespaceRecord>) -> Vec<Registered> {
        let id = |namespace: &NamespaceRecord| (namespace.context.clone(), namespace.name.clone());
        let differs = |namespace: &NamespaceRecord| {
            let (recorded, _) = self.namespaces.get(&id(namespace))?;
            (recorded != namespace).then(|| recorded.clone())
        };
        let recorded: Vec<_> = namespaces.iter().map(differs).collect();
        let consent = recorded.iter().all(Option::is_none);
        let mut answers = Vec::with_capacity(namespaces.len());
        for (namespace, recorded) in namespaces.into_iter().zip(recorded) {
            answers.push(match recorded {
                Some(recorded) => Registered::Differs { recorded },
                None if consent => {
                    let (_, epoch) = self.namespaces.entry(id(&namespace)).or_insert((namespace, 1));
                    Registered::AsGiven { epoch: *epoch }
                }
                None => {
                    Registered::AsGiven { epoch: self.namespaces.get(&id(&namespace)).map_or(1, |(_, epoch)| *epoch) }
                }
            });
        }
        answers
    }

    fn load(&self, load: &Load) -> LoadedStream {
        let snapshot = load.snapshot_of.and_then(|state_version| {
            let snapshot = self.snapshots.get(&load.stream)?;
            let fits = snapshot.state_version == state_version && snapshot.version > load.after_version;
            fits.then(|| snapshot.clone())
        });
        let after = snapshot.as_ref().map_or(load.after_version, |snapshot| snapshot.version);
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        let commits = self.commits_of(&load.stream).iter().skip(after).cloned().collect();
        LoadedStream { snapshot, commits }
    }

    fn save_snapshot(&mut self, snapshot: SnapshotRecord) {
        let newest = self.snapshots.entry(snapshot.stream.clone()).or_insert_with(|| snapshot.clone());
        if (snapshot.state_version, snapshot.version) > (newest.state_version, newest.version) {
            *newest = snapshot;
        }
    }

    fn check(&mut self, check: Check, now: Timestamp) -> Checked {
        let version = self.version(&check.stream);
        let Some(request) = check.request else { return Checked { version, first: None, mark: 0 } };
        if let Some(first) = self.first_of(&check.stream, &request) {
            return Checked { version, first: Some(Arc::clone(first)), mark: 0 };
        }
        let StreamId { aggregate, tenant, .. } = check.stream;
        let mark = self.marks.entry((aggregate, tenant, request)).or_default();
        *mark = next_mark(*mark, now);
        Checked { version, first: None, mark: *mark }
    }

    /// The newest mark of the append's request; 0 when there is none.
    fn mark(&self, append: &Append) -> u64 {
        if self.marks.is_empty() {
            return 0;
        }
        let StreamId { aggregate, tenant, .. } = append.stream.clone();
        self.marks.get(&(aggregate, tenant, append.request.id.clone())).copied().unwrap_or_default()
    }

    fn epoch(&self, key: &KeyId) -> Option<u64> {
        self.namespaces.get(&(key.context.clone(), key.namespace.clone())).map(|(_, epoch)| *epoch)
    }

    fn check_epoch(&self, key: &KeyId, epoch: u64) -> Result<(), StoreError> {
        if self.epoch(key) == Some(epoch) {
            return Ok(());
        }
        Err(StoreError::namespace_changed(&key.namespace))
    }

    fn change(&mut self, key: &KeyId, change: Change) {
        match change {
            Change::Keep => {}
            Change::Delete => drop(self.keys.remove(key)),
            Change::Put(record) => drop(self.keys.insert(key.clone(), record)),
        }
    }

    fn reserve(&mut self, reserve: &Reserve, now: Timestamp) -> Result<ReserveReply, StoreError> {
        for asked in &reserve.keys {
            self.check_epoch(&asked.key, asked.epoch)?;
        }
        let mut answers = Vec::with_capacity(reserve.keys.len());
        for asked in &reserve.keys {
            let record = self.keys.get(&asked.key);
            let (change, answer) = lifecycle::reserve(record, &reserve.holder, asked.lease(now), now);
            self.change(&asked.key, change);
            answers.push(answer);
        }
        Ok(ReserveReply { answers, now })
    }

    fn give_up(&mut self, holder: &StreamId, token: Token, keys: &[KeyId]) {
        for key in keys {
            let change = lifecycle::give_up(self.keys.get(key), holder, token);
            self.change(key, change);
        }
    }

    fn append(&mut self, append: Append, now: Timestamp) -> Result<AppendReply, StoreError> {
        let changes = match self.verdict(&append, now) {
            Ok(Ok(changes)) => changes,
            refused => {
                let keys: Vec<KeyId> = append.keys.into_iter().map(|claim| claim.key).collect();
                self.give_up(&append.stream, append.token, &keys);
                return refused.map(|refusal| AppendReply::Refused(refusal.err().unwrap_or(Refusal::Conflict)));
            }
        };
        let mut idle = BTreeSet::new();
        for (KeyClaim { key, key_use, .. }, change) in append.keys.iter().zip(changes) {
            if *key_use == KeyUse::Release && !self.keys.get(key).is_some_and(|record| frees(record, &change)) {
                idle.insert(key.clone());
            }
            self.change(key, change);
        }
        let keys = append.key_changes_without(&idle);
        let Append { stream, kind, command, request, token, events, metadata, .. } = append;
        let written = self.write(CommitRecord {
            position: 0,
            version: 0,
            stream,
            kind,
            command,
            request,
            token,
            events,
            keys,
            metadata,
            at: now,
        });
        Ok(AppendReply::Written(written))
    }

    /// What becomes of each key, or why nothing is written; in the order that the contract names.
    fn verdict(&self, append: &Append, now: Timestamp) -> Result<Result<Vec<Change>, Refusal>, StoreError> {
        let mark = self.mark(append);
        if mark > append.mark || self.tombstones.contains_key(&append.token) {
            return Ok(Err(Refusal::Fenced { mark }));
        }
        if let Some(first) = self.first_of(&append.stream, &append.request.id) {
            return Ok(Err(Refusal::Replay(Arc::clone(first))));
        }
        if self.version(&append.stream) != append.expected_version {
            return Ok(Err(Refusal::Conflict));
        }
        for claim in &append.keys {
            self.check_epoch(&claim.key, claim.epoch)?;
        }
        let position = self.next_position();
        let change = |claim: &KeyClaim| {
            let record = self.keys.get(&claim.key);
            lifecycle::append(record, claim.key_use, &append.stream, append.token, position, now)
        };
        let changes: Result<Vec<Change>, _> = append.keys.iter().map(change).collect();
        Ok(changes.map_err(|lifecycle::Lost| Refusal::KeyLost))
    }

    fn next_position(&self) -> u64 {
        self.log.len() as u64 + 1
    }

    /// Writes a commit at the next position and version.
    fn write(&mut self, mut commit: CommitRecord) -> Written {
        commit.position = self.next_position();
        commit.version = self.version(&commit.stream) + 1;
        let written = Written { position: commit.position, at: commit.at };
        let commit = Arc::new(commit);
        self.log.push(Arc::clone(&commit));
        let hasher = &self.hasher;
        let request = hasher.hash_one(&commit.request.id);
        self.requests.insert_unique(request, Arc::clone(&commit), |commit| hasher.hash_one(&commit.request.id));
        let stream = hasher.hash_one(&commit.stream);
        match self.streams.find_mut(stream, |commits| commits[0].stream == commit.stream) {
            Some(commits) => commits.push(commit),
            None => {
                self.streams.insert_unique(stream, vec![commit], |commits| hasher.hash_one(&commits[0].stream));
            }
        }
        written
    }

    fn settle(&mut self, settle: &Settle, now: Timestamp) -> Settled {
        let index = usize::try_from(settle.version.saturating_sub(1)).unwrap_or(usize::MAX);
        let there = self.commits_of(&settle.stream).get(index);
        if let Some(commit) = there.filter(|commit| commit.token == settle.token) {
            return Settled::Written(Written { position: commit.position, at: commit.at });
        }
        self.tombstones.insert(settle.token, now);
        self.give_up(&settle.stream, settle.token, &settle.keys);
        Settled::NotWritten
    }

    fn rekey(&mut self, rekey: &Rekey, now: Timestamp) -> RekeyReply {
        let (mut plans, mut collisions) = (Vec::new(), Vec::new());
        for change in &rekey.namespaces {
            let namespace = &change.namespace;
            let id = (namespace.context.clone(), namespace.name.clone());
            // Another process did it already: raising the epoch again would lock that one out.
            if self.namespaces.get(&id).is_some_and(|(recorded, _)| recorded == namespace) {
                continue;
            }
            let held = self.keys.iter().filter(|(key, record)| is_of(namespace, key) && record.is_confirmed());
            let mut held: Vec<_> = held.map(|(key, record)| (key.clone(), record.holder.clone())).collect();
            held.sort();
            match RekeyPlan::new(held, change.normalizer) {
                Ok(plan) => plans.push((change, plan)),
                Err(more) => collisions.extend(more),
            }
        }
        if !collisions.is_empty() {
            return RekeyReply::Collides(collisions);
        }
        let moved = plans.iter().map(|(_, plan)| plan.moved).sum();
        for (change, plan) in plans {
            self.apply_rekey(change, plan, &*rekey.tokens, now);
        }
        RekeyReply::Done { moved }
    }

    fn apply_rekey(&mut self, change: &RekeyNamespace, plan: RekeyPlan, tokens: &dyn Fn() -> Token, now: Timestamp) {
        let namespace = &change.namespace;
        let recorded = self.namespaces.entry((namespace.context.clone(), namespace.name.clone()));
        let (record, epoch) = recorded.or_insert_with(|| (namespace.clone(), 0));
        (*record, *epoch) = (namespace.clone(), *epoch + 1);
        // The attempts of pending keys were built with the old epoch and can't commit.
        self.keys.retain(|key, record| !is_of(namespace, key) || record.is_confirmed());
        plan.freed.iter().for_each(|old| drop(self.keys.remove(old)));
        for (holder, changes) in plan.commits {
            let token = tokens();
            let position = self.write(CommitRecord {
                position: 0,
                version: 0,
                stream: holder.clone(),
                kind: CommitKind::Rekey,
                command: change.command.clone(),
                request: RequestKey::of_token(token),
                token,
                events: Vec::new(),
                keys: key_changes(&changes),
                metadata: None,
                at: now,
            });
            for (new, _) in changes.into_iter().filter(|(_, taken)| *taken) {
                let state = RecordState::Confirmed(position.position);
                self.keys.insert(new, Record { holder: holder.clone(), state });
            }
        }
    }
}

/// Whether `change` takes a held key from its holder.
fn frees(record: &Record, change: &Change) -> bool {
    record.is_confirmed() && *change == Change::Delete
}

fn is_of(namespace: &NamespaceRecord, key: &KeyId) -> bool {
    key.context == namespace.context && key.namespace == namespace.name
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("clock", &self.clock).finish_non_exhaustive()
    }
}
