//! What each call does in its transaction. The verdicts on keys are `lifecycle`'s, the plan of a rekey is `rekeying`'s, and
//! the numbers of marks are `marks`': a store takes them from there, and writes what they say.

use crate::not_done;
use crate::stored::{StoredCommit, StoredRecord, StoredSnapshot, from_json, to_json};
use freehold::limits::LATE_APPEND_MAX;
use freehold::reservation::lifecycle::{self, Change, KeyUse};
use freehold::reservation::{KeyId, Record, RecordState};
use freehold::store::marks::{left_at, next_mark};
use freehold::store::rekeying::{RekeyPlan, key_changes};
use freehold::store::{
    Append, AppendReply, Check, Checked, CommitKind, CommitRecord, KeyReading, Load, LoadedStream, NamespaceRecord,
    Refusal, Registered, Rekey, RekeyNamespace, RekeyReply, RequestKey, Reserve, ReserveReply, Settle, Settled,
    SnapshotRecord, Written,
};
use freehold::{RequestId, StoreError, StoreErrorKind, StreamId, Tenancy, Text, Timestamp, Token};
use redb::{Key, ReadableTable, Table, TableDefinition, Value, WriteTransaction};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Parts stay parts, in every key: they are never joined into one text (R14).
type Four = (&'static str, &'static str, &'static str, &'static str);
type Five = (&'static str, &'static str, &'static str, &'static str, u64);

const COMMITS: TableDefinition<'_, u64, &str> = TableDefinition::new("commits");
const STREAMS: TableDefinition<'_, Five, u64> = TableDefinition::new("streams");
const REQUESTS: TableDefinition<'_, Four, u64> = TableDefinition::new("requests");
const KEYS: TableDefinition<'_, Four, &str> = TableDefinition::new("keys");
const NAMESPACES: TableDefinition<'_, (&str, &str), (&str, &str, u64)> = TableDefinition::new("namespaces");
const SNAPSHOTS: TableDefinition<'_, Five, &str> = TableDefinition::new("snapshots");
const TOMBSTONES: TableDefinition<'_, u128, i64> = TableDefinition::new("tombstones");
const MARKS: TableDefinition<'_, Four, u64> = TableDefinition::new("marks");

type Done<T> = Result<T, StoreError>;
type Verdict = (u64, Vec<(KeyId, Change)>, BTreeSet<KeyId>);

/// A write transaction, and the present.
pub(crate) struct Work<'t> {
    pub(crate) transaction: &'t WriteTransaction,
    pub(crate) now: Timestamp,
}

fn ok<T, E: Into<redb::Error>>(done: Result<T, E>) -> Done<T> {
    done.map_err(|error| not_done(&error.into()))
}

fn of_stream(stream: &StreamId, number: u64) -> (&str, &str, &str, &str, u64) {
    (&stream.id, &stream.aggregate.name, &stream.aggregate.context, &stream.tenant, number)
}

/// A request id is unique per aggregate type and tenant (C4).
fn of_request<'r>(stream: &'r StreamId, request: &'r RequestId) -> (&'r str, &'r str, &'r str, &'r str) {
    (request.as_str(), &stream.aggregate.name, &stream.aggregate.context, &stream.tenant)
}

fn of_key(key: &KeyId) -> (&str, &str, &str, &str) {
    (&key.key, &key.namespace, &key.scope, &key.context)
}

fn other_tenancy(name: &str) -> StoreError {
    let message = format!("namespace {name:?} is recorded with another tenancy; a rekey changes the normaliser only");
    StoreError::not_done(StoreErrorKind::Incompatible, message)
}

impl<'t> Work<'t> {
    fn table<K: Key + 'static, V: Value + 'static>(&self, of: TableDefinition<'_, K, V>) -> Done<Table<'t, K, V>> {
        ok(self.transaction.open_table(of))
    }

    // Namespaces (R12, R13).

    /// All are recorded, or none.
    pub(crate) fn register(&self, namespaces: &[NamespaceRecord]) -> Done<Vec<Registered>> {
        let recorded = namespaces.iter().map(|namespace| self.recorded(&namespace.context, &namespace.name));
        let recorded = recorded.collect::<Done<Vec<_>>>()?;
        let differs = |(found, asked): (&Option<(NamespaceRecord, u64)>, &NamespaceRecord)| {
            found.as_ref().is_some_and(|(recorded, _)| recorded != asked)
        };
        let consent = !recorded.iter().zip(namespaces).any(differs);
        let mut answers = Vec::with_capacity(namespaces.len());
        for (found, asked) in recorded.into_iter().zip(namespaces) {
            answers.push(match found {
                Some((recorded, _)) if recorded != *asked => Registered::Differs { recorded },
                Some((_, epoch)) => Registered::AsGiven { epoch },
                None => {
                    if consent {
                        self.record_namespace(asked, 1)?;
                    }
                    Registered::AsGiven { epoch: 1 }
                }
            });
        }
        Ok(answers)
    }

    fn recorded(&self, context: &Text, name: &Text) -> Done<Option<(NamespaceRecord, u64)>> {
        let namespaces = self.table(NAMESPACES)?;
        let Some(found) = ok(namespaces.get((&**context, &**name)))? else { return Ok(None) };
        let (tenancy, normalizer, epoch) = found.value();
        let tenancy = if tenancy == Tenancy::System.to_string() { Tenancy::System } else { Tenancy::Tenant };
        let (context, name, normalizer) = (context.clone(), name.clone(), Text::from(normalizer));
        Ok(Some((NamespaceRecord { context, name, tenancy, normalizer }, epoch)))
    }

    fn record_namespace(&self, namespace: &NamespaceRecord, epoch: u64) -> Done<()> {
        let NamespaceRecord { context, name, tenancy, normalizer } = namespace;
        let recorded = (&*tenancy.to_string(), &**normalizer, epoch);
        ok(self.table(NAMESPACES)?.insert((&**context, &**name), recorded)).map(drop)
    }

    fn check_epoch(&self, key: &KeyId, epoch: u64) -> Done<()> {
        match self.recorded(&key.context, &key.namespace)? {
            Some((_, recorded)) if recorded == epoch => Ok(()),
            _ => Err(StoreError::namespace_changed(&key.namespace)),
        }
    }

    // The log.

    pub(crate) fn load(&self, load: &Load) -> Done<LoadedStream> {
        let mut snapshot = None;
        if let Some(shape) = load.snapshot_of {
            let snapshots = self.table(SNAPSHOTS)?;
            if let Some(found) = ok(snapshots.get(of_stream(&load.stream, shape.into())))? {
                let kept: StoredSnapshot = from_json(found.value())?;
                snapshot = (kept.version > load.after_version).then(|| kept.record(load.stream.clone(), shape));
            }
        }
        let after = snapshot.as_ref().map_or(load.after_version, |snapshot| snapshot.version);
        let positions = self.positions(&load.stream, after.saturating_add(1))?;
        let commits = positions.into_iter().map(|position| self.commit(position).map(Arc::new)).collect::<Done<_>>()?;
        Ok(LoadedStream { snapshot, commits })
    }

    /// The positions of a stream's commits, from a version on.
    fn positions(&self, stream: &StreamId, from: u64) -> Done<Vec<u64>> {
        let streams = self.table(STREAMS)?;
        let rows = ok(streams.range(of_stream(stream, from)..=of_stream(stream, u64::MAX)))?;
        rows.map(|row| ok(row).map(|(_, position)| position.value())).collect()
    }

    fn commit(&self, position: u64) -> Done<CommitRecord> {
        let commits = self.table(COMMITS)?;
        let found = ok(commits.get(position))?;
        let json = found.as_ref().map_or("", |found| found.value());
        from_json::<StoredCommit>(json).map(|commit| commit.record(position))
    }

    fn version(&self, stream: &StreamId) -> Done<u64> {
        let streams = self.table(STREAMS)?;
        let newest = ok(streams.range(of_stream(stream, 0)..=of_stream(stream, u64::MAX)))?.next_back();
        newest.map_or(Ok(0), |row| ok(row).map(|(key, _)| key.value().4))
    }

    fn first_of(&self, stream: &StreamId, request: &RequestId) -> Done<Option<Arc<CommitRecord>>> {
        let requests = self.table(REQUESTS)?;
        let position = ok(requests.get(of_request(stream, request)))?.map(|found| found.value());
        position.map(|position| self.commit(position).map(Arc::new)).transpose()
    }

    pub(crate) fn commits(&self, after: u64, limit: usize) -> Done<Vec<CommitRecord>> {
        let commits = self.table(COMMITS)?;
        let rows = ok(commits.range(after.saturating_add(1)..))?.take(limit);
        rows.map(|row| {
            let (position, json) = ok(row)?;
            from_json::<StoredCommit>(json.value()).map(|commit| commit.record(position.value()))
        })
        .collect()
    }

    pub(crate) fn check(&self, check: &Check) -> Done<Checked> {
        let version = self.version(&check.stream)?;
        let Some(request) = &check.request else { return Ok(Checked { version, first: None, mark: 0 }) };
        if let Some(first) = self.first_of(&check.stream, request)? {
            return Ok(Checked { version, first: Some(first), mark: 0 });
        }
        let mark = next_mark(self.mark(&check.stream, request)?, self.now);
        ok(self.table(MARKS)?.insert(of_request(&check.stream, request), mark))?;
        Ok(Checked { version, first: None, mark })
    }

    fn mark(&self, stream: &StreamId, request: &RequestId) -> Done<u64> {
        let marks = self.table(MARKS)?;
        Ok(ok(marks.get(of_request(stream, request)))?.map_or(0, |found| found.value()))
    }

    // Reservations.

    fn record(&self, key: &KeyId) -> Done<Option<Record>> {
        let keys = self.table(KEYS)?;
        let found = ok(keys.get(of_key(key)))?;
        found.map(|found| from_json::<StoredRecord>(found.value()).map(Record::from)).transpose()
    }

    fn apply(&self, key: &KeyId, change: Change) -> Done<()> {
        let mut keys = self.table(KEYS)?;
        match change {
            Change::Keep => {}
            Change::Delete => drop(ok(keys.remove(of_key(key)))?),
            Change::Put(record) => drop(ok(keys.insert(of_key(key), &*to_json(&StoredRecord::from(record))?))?),
        }
        Ok(())
    }

    pub(crate) fn reserve(&self, reserve: &Reserve) -> Done<ReserveReply> {
        let mut answers = Vec::with_capacity(reserve.keys.len());
        for asked in &reserve.keys {
            // An error undoes the keys before it: all or none.
            self.check_epoch(&asked.key, asked.epoch)?;
            let record = self.record(&asked.key)?;
            let (change, answer) =
                lifecycle::reserve(record.as_ref(), &reserve.holder, asked.lease(self.now), self.now);
            self.apply(&asked.key, change)?;
            answers.push(answer);
        }
        Ok(ReserveReply { answers, now: self.now })
    }

    pub(crate) fn give_up(&self, holder: &StreamId, token: Token, keys: &[KeyId]) -> Done<()> {
        keys.iter().try_for_each(|key| self.apply(key, lifecycle::give_up(self.record(key)?.as_ref(), holder, token)))
    }

    pub(crate) fn reading(&self, key: &KeyId) -> Done<KeyReading> {
        let epoch = self.recorded(&key.context, &key.namespace)?.map(|(_, epoch)| epoch);
        Ok(KeyReading { record: self.record(key)?, epoch, now: self.now })
    }

    /// Every record that `wanted` says yes to.
    fn records(&self, wanted: impl Fn(&KeyId, &Record) -> bool) -> Done<Vec<(KeyId, Record)>> {
        let keys = self.table(KEYS)?;
        let mut found = Vec::new();
        for row in ok(keys.iter())? {
            let (key, json) = ok(row)?;
            let (key, namespace, scope, context) = key.value();
            let [key, namespace, scope, context] = [key, namespace, scope, context].map(Text::from);
            let (key, record) =
                (KeyId { key, namespace, scope, context }, from_json::<StoredRecord>(json.value())?.into());
            if wanted(&key, &record) {
                found.push((key, record));
            }
        }
        Ok(found)
    }

    pub(crate) fn held_by(&self, holder: &StreamId) -> Done<Vec<KeyId>> {
        let held = self.records(|_, record| record.is_confirmed() && record.holder == *holder)?;
        Ok(held.into_iter().map(|(key, _)| key).collect())
    }

    pub(crate) fn sweep(&self) -> Done<u64> {
        let expired = self.records(|_, record| lifecycle::sweep(Some(record), self.now) == Change::Delete)?;
        expired.iter().try_for_each(|(key, _)| self.apply(key, Change::Delete))?;
        // What no append can be on its way for any more.
        let is_recent = |left: Timestamp| left + LATE_APPEND_MAX > self.now;
        ok(self.table(TOMBSTONES)?.retain(|_, at| is_recent(Timestamp::from_millis(at))))?;
        ok(self.table(MARKS)?.retain(|_, mark| is_recent(left_at(mark))))?;
        Ok(expired.len() as u64)
    }

    // Appending and settling.

    /// Writes the commit and what becomes of its keys, or refuses, and gives the attempt's leases up in the same write.
    pub(crate) fn append(&self, append: Append) -> Done<Done<AppendReply>> {
        let (position, changes, idle) = match self.verdict(&append) {
            Ok(Ok(verdict)) => verdict,
            refused => {
                let keys: Vec<KeyId> = append.keys.into_iter().map(|claim| claim.key).collect();
                self.give_up(&append.stream, append.token, &keys)?;
                return Ok(refused.map(|refusal| AppendReply::Refused(refusal.err().unwrap_or(Refusal::Conflict))));
            }
        };
        let keys = append.key_changes_without(&idle);
        changes.into_iter().try_for_each(|(key, change)| self.apply(&key, change))?;
        let Append { stream, expected_version, kind, command, request, token, events, metadata, .. } = append;
        let (version, at) = (expected_version + 1, self.now);
        self.write(CommitRecord {
            position,
            stream,
            version,
            kind,
            command,
            request,
            token,
            events,
            keys,
            metadata,
            at,
        })?;
        Ok(Ok(AppendReply::Written(Written { position, at })))
    }

    /// Every verdict, in the contract's order, before the first write: where the commit goes, what becomes of each key, and
    /// which releases free none; or why nothing is written.
    fn verdict(&self, append: &Append) -> Done<Result<Verdict, Refusal>> {
        let mark = self.mark(&append.stream, &append.request.id)?;
        if mark > append.mark || ok(self.table(TOMBSTONES)?.get(append.token.as_u128()))?.is_some() {
            return Ok(Err(Refusal::Fenced { mark }));
        }
        if let Some(first) = self.first_of(&append.stream, &append.request.id)? {
            return Ok(Err(Refusal::Replay(first)));
        }
        if self.version(&append.stream)? != append.expected_version {
            return Ok(Err(Refusal::Conflict));
        }
        append.keys.iter().try_for_each(|claim| self.check_epoch(&claim.key, claim.epoch))?;
        let position = self.next_position()?;
        let (mut changes, mut idle) = (Vec::with_capacity(append.keys.len()), BTreeSet::new());
        for claim in &append.keys {
            let record = self.record(&claim.key)?;
            let (use_of, holder, token) = (claim.key_use, &append.stream, append.token);
            let Ok(change) = lifecycle::append(record.as_ref(), use_of, holder, token, position, self.now) else {
                return Ok(Err(Refusal::KeyLost));
            };
            let frees = record.is_some_and(|record| record.is_confirmed()) && change == Change::Delete;
            if use_of == KeyUse::Release && !frees {
                idle.insert(claim.key.clone());
            }
            changes.push((claim.key.clone(), change));
        }
        Ok(Ok((position, changes, idle)))
    }

    fn next_position(&self) -> Done<u64> {
        let commits = self.table(COMMITS)?;
        Ok(ok(commits.last())?.map_or(1, |(newest, _)| newest.value() + 1))
    }

    fn write(&self, commit: CommitRecord) -> Done<()> {
        let position = commit.position;
        ok(self.table(STREAMS)?.insert(of_stream(&commit.stream, commit.version), position))?;
        ok(self.table(REQUESTS)?.insert(of_request(&commit.stream, &commit.request.id), position))?;
        ok(self.table(COMMITS)?.insert(position, &*to_json(&StoredCommit::of(commit))?)).map(drop)
    }

    pub(crate) fn settle(&self, settle: &Settle) -> Done<Settled> {
        let position = {
            let streams = self.table(STREAMS)?;
            ok(streams.get(of_stream(&settle.stream, settle.version)))?.map(|found| found.value())
        };
        if let Some(commit) = position.map(|position| self.commit(position)).transpose()?
            && commit.token == settle.token
        {
            return Ok(Settled::Written(Written { position: commit.position, at: commit.at }));
        }
        ok(self.table(TOMBSTONES)?.insert(settle.token.as_u128(), self.now.as_millis()))?;
        self.give_up(&settle.stream, settle.token, &settle.keys)?;
        Ok(Settled::NotWritten)
    }

    /// An older state never replaces a newer one.
    pub(crate) fn save_snapshot(&self, snapshot: &SnapshotRecord) -> Done<()> {
        let mut snapshots = self.table(SNAPSHOTS)?;
        let place = of_stream(&snapshot.stream, snapshot.state_version.into());
        let kept = ok(snapshots.get(place))?.map(|found| from_json::<StoredSnapshot>(found.value())).transpose()?;
        if kept.is_none_or(|kept| kept.version < snapshot.version) {
            ok(snapshots.insert(place, &*to_json(&StoredSnapshot::of(snapshot))?))?;
        }
        Ok(())
    }

    // Rekeying (R13, R20).

    pub(crate) fn rekey(&self, rekey: &Rekey) -> Done<RekeyReply> {
        let (mut plans, mut collisions) = (Vec::new(), Vec::new());
        for change in &rekey.namespaces {
            let NamespaceRecord { context, name, .. } = &change.namespace;
            let epoch = match self.recorded(context, name)? {
                // Another process did it already.
                Some((recorded, _)) if recorded == change.namespace => continue,
                Some((recorded, _)) if recorded.tenancy != change.namespace.tenancy => return Err(other_tenancy(name)),
                recorded => recorded.map_or(1, |(_, epoch)| epoch + 1),
            };
            let of_namespace = |key: &KeyId, _: &Record| key.context == *context && key.namespace == *name;
            let (held, pending): (Vec<_>, Vec<_>) =
                self.records(of_namespace)?.into_iter().partition(|(_, record)| record.is_confirmed());
            let held = held.into_iter().map(|(key, record)| (key, record.holder)).collect();
            match RekeyPlan::new(held, change.normalizer) {
                Ok(plan) => plans.push((change, epoch, plan, pending)),
                Err(more) => collisions.extend(more),
            }
        }
        if !collisions.is_empty() {
            return Ok(RekeyReply::Collides(collisions));
        }
        let moved = plans.iter().map(|(_, _, plan, _)| plan.moved).sum();
        for (change, epoch, plan, pending) in plans {
            self.record_namespace(&change.namespace, epoch)?;
            // Their attempts were built with the old epoch, and can't commit.
            pending.iter().try_for_each(|(key, _)| self.apply(key, Change::Delete))?;
            self.apply_rekey(change, plan, &*rekey.tokens)?;
        }
        Ok(RekeyReply::Done { moved })
    }

    fn apply_rekey(&self, change: &RekeyNamespace, plan: RekeyPlan, tokens: &dyn Fn() -> Token) -> Done<()> {
        plan.freed.iter().try_for_each(|key| self.apply(key, Change::Delete))?;
        for (holder, changes) in plan.commits {
            let (position, token) = (self.next_position()?, tokens());
            self.write(CommitRecord {
                position,
                version: self.version(&holder)? + 1,
                stream: holder.clone(),
                kind: CommitKind::Rekey,
                command: change.command.clone(),
                request: RequestKey::of_token(token),
                token,
                events: Vec::new(),
                keys: key_changes(&changes),
                metadata: None,
                at: self.now,
            })?;
            for (key, _) in changes.into_iter().filter(|(_, taken)| *taken) {
                let state = RecordState::Confirmed(position);
                self.apply(&key, Change::Put(Record { holder: holder.clone(), state }))?;
            }
        }
        Ok(())
    }
}
