//! Stores that are wrong on purpose, each as a real one has been, and the test that the simulation catches it.

use super::disagreement;
use freehold::reservation::lifecycle::KeyUse;
use freehold::reservation::{KeyId, Record, RecordState, Reserved};
use freehold::store::{
    Append, AppendReply, Check, Checked, GiveUp, KeyReading, Load, LoadedStream, Refusal, RequestKey, Reserve,
    ReserveReply, Settle, Settled, Written,
};
use freehold::{MemoryStore, RequestId, Store, StoreReply, StreamId, Text, Timestamp};
use freehold_testkit::conformance::Subject;
use freehold_testkit::store::{Alter, AlteredStore};
use freehold_testkit::{ManualClock, drive};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tokio::task::yield_now;

/// A sound store in memory, from which a wrong one can erase the record of a key, whoever has it.
#[derive(Debug, Clone)]
struct Erasable {
    inner: Arc<dyn Store>,
    /// How often each key was erased: it goes on under another name each time.
    erased: Arc<Mutex<HashMap<KeyId, u32>>>,
}

/// Between a key and the number of its erasures. No key of the simulation has it.
const ERASED: char = '\n';

impl Erasable {
    fn erase(&self, key: &KeyId) {
        *self.erased.lock().entry(key.clone()).or_default() += 1;
    }

    fn name(&self, key: KeyId) -> KeyId {
        match self.erased.lock().get(&key) {
            Some(times) => KeyId { key: Text::from(format!("{}{ERASED}{times}", key.key)), ..key },
            None => key,
        }
    }

    fn names(&self, keys: Vec<KeyId>) -> Vec<KeyId> {
        keys.into_iter().map(|key| self.name(key)).collect()
    }

    /// What a caller that looks is told.
    fn look(&self, key: &KeyId) -> KeyReading {
        drive(self.reservation(key.clone())).expect("read")
    }

    /// Whether another than `me` has the key: holds it, or has it pending and not expired.
    fn is_anothers(&self, key: &KeyId, me: &StreamId) -> bool {
        let reading = self.look(key);
        reading.record.is_some_and(|record| record.holder != *me && record.is_live(reading.now))
    }
}

impl Alter for Erasable {
    fn inner(&self) -> &Arc<dyn Store> {
        &self.inner
    }

    fn load(&self, load: Load) -> StoreReply<LoadedStream> {
        let mut loaded = drive(self.inner.load(load)).expect("loaded");
        for change in loaded.commits.iter_mut().flat_map(|commit| &mut Arc::make_mut(commit).keys) {
            change.key = change.key.split_once(ERASED).map_or(change.key.clone(), |(key, _)| Text::from(key));
        }
        StoreReply::ready(Ok(loaded))
    }

    fn reserve(&self, mut reserve: Reserve) -> StoreReply<ReserveReply> {
        for asked in &mut reserve.keys {
            asked.key = self.name(asked.key.clone());
        }
        self.inner.reserve(reserve)
    }

    fn give_up(&self, give_up: GiveUp) -> StoreReply<()> {
        self.inner.give_up(GiveUp { keys: self.names(give_up.keys), ..give_up })
    }

    fn append(&self, mut append: Append) -> StoreReply<AppendReply> {
        for claim in &mut append.keys {
            claim.key = self.name(claim.key.clone());
        }
        self.inner.append(append)
    }

    fn settle(&self, settle: Settle) -> StoreReply<Settled> {
        self.inner.settle(Settle { keys: self.names(settle.keys), ..settle })
    }

    fn reservation(&self, key: KeyId) -> StoreReply<KeyReading> {
        self.inner.reservation(self.name(key))
    }
}

/// Puts a wrong store to the seeds until one shows what is wrong with it; a sound one passes them all.
#[track_caller]
fn caught<A: Alter>(wrong: impl FnOnce(Erasable, Arc<dyn Store>) -> A, says: &[&str]) {
    const SEEDS: u64 = 2_000;
    let clock = ManualClock::default();
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::with_clock(Arc::new(clock.clone())));
    let erasable = Erasable { inner: memory, erased: Arc::default() };
    let inner: Arc<dyn Store> = Arc::new(AlteredStore(erasable.clone()));
    let store = AlteredStore(wrong(erasable, inner));
    let subject = Subject::new(store, move |duration| clock.advance(duration));
    let found = disagreement(&subject, 0..SEEDS);
    let found = found.unwrap_or_else(|| panic!("{SEEDS} seeds do not show it"));
    println!("{} seeds until it was caught:\n{found}", found.seed + 1);
    for phrase in says {
        assert!(found.to_string().contains(phrase), "it should say {phrase:?}:\n{found}");
    }
    let sound = disagreement(&freehold_tests::memory(), 0..found.seed + 1);
    assert!(sound.is_none(), "{}", sound.expect("a disagreement"));
}

macro_rules! within {
    () => {
        fn inner(&self) -> &Arc<dyn Store> {
            &self.inner
        }
    };
}

/// Looks, lets others go on, and inserts without looking again.
#[derive(Debug)]
struct ChecksThenInserts {
    inner: Arc<dyn Store>,
    erasable: Erasable,
}

impl Alter for ChecksThenInserts {
    within!();

    fn reserve(&self, reserve: Reserve) -> StoreReply<ReserveReply> {
        let (inner, erasable, me) = (Arc::clone(&self.inner), self.erasable.clone(), reserve.holder.clone());
        let keys = reserve.keys.iter().map(|asked| asked.key.clone());
        let seen_free: Vec<KeyId> = keys.filter(|key| !erasable.is_anothers(key, &me)).collect();
        StoreReply::waiting(async move {
            yield_now().await;
            seen_free.iter().filter(|key| erasable.is_anothers(key, &me)).for_each(|key| erasable.erase(key));
            inner.reserve(reserve).await
        })
    }
}

/// R1, R3, S2.
#[test]
fn check_then_insert_is_caught() {
    caught(
        |erasable, inner| ChecksThenInserts { inner, erasable },
        &["in flight at once", "no order of these explains the answers", "[Newly] || ", "TakenPending"],
    );
}

/// Giving up frees a pending key, whoever claims it by now.
#[derive(Debug)]
struct GivesUpByKey {
    inner: Arc<dyn Store>,
    erasable: Erasable,
}

impl Alter for GivesUpByKey {
    within!();

    fn give_up(&self, give_up: GiveUp) -> StoreReply<()> {
        let is_pending = |key: &&KeyId| self.erasable.look(key).record.is_some_and(|record| !record.is_confirmed());
        give_up.keys.iter().filter(is_pending).for_each(|key| self.erasable.erase(key));
        self.inner.give_up(give_up)
    }
}

/// R5.
#[test]
fn giving_up_by_key_is_caught() {
    caught(|erasable, inner| GivesUpByKey { inner, erasable }, &["gives up", "reserves key"]);
}

/// The append confirms what it reserved, though the key is another's by now.
#[derive(Debug)]
struct ConfirmsWithoutFence {
    inner: Arc<dyn Store>,
    erasable: Erasable,
}

impl Alter for ConfirmsWithoutFence {
    within!();

    fn append(&self, append: Append) -> StoreReply<AppendReply> {
        let reply = drive(self.inner.append(append.clone())).expect("answered");
        if !matches!(reply, AppendReply::Refused(Refusal::KeyLost)) {
            return StoreReply::ready(Ok(reply));
        }
        for claim in append.keys.iter().filter(|claim| claim.key_use == KeyUse::Take) {
            if self.erasable.is_anothers(&claim.key, &append.stream) {
                self.erasable.erase(&claim.key);
            }
        }
        self.inner.append(append)
    }
}

/// R8.
#[test]
fn confirming_without_a_fence_is_caught() {
    caught(
        |erasable, inner| ConfirmsWithoutFence { inner, erasable },
        &["the answer to append: the store says Written, the model KeyLost"],
    );
}

/// A release frees the key, whoever holds it.
#[derive(Debug)]
struct ReleasesAnyones {
    inner: Arc<dyn Store>,
    erasable: Erasable,
}

impl Alter for ReleasesAnyones {
    within!();

    fn append(&self, append: Append) -> StoreReply<AppendReply> {
        let released = append.keys.iter().filter(|claim| claim.key_use == KeyUse::Release);
        let released: Vec<KeyId> = released.map(|claim| claim.key.clone()).collect();
        let reply = drive(self.inner.append(append)).expect("answered");
        if matches!(reply, AppendReply::Written(_)) {
            let is_held = |key: &&KeyId| self.erasable.look(key).record.is_some_and(|record| record.is_confirmed());
            released.iter().filter(is_held).for_each(|key| self.erasable.erase(key));
        }
        StoreReply::ready(Ok(reply))
    }
}

/// R10.
#[test]
fn releasing_anyones_key_is_caught() {
    caught(
        |erasable, inner| ReleasesAnyones { inner, erasable },
        &["for release", "the store says None, the model Some"],
    );
}

/// A lease still stands at the instant of its end.
#[derive(Debug)]
struct ExpiresLate {
    inner: Arc<dyn Store>,
}

fn a_millisecond_before(instant: Timestamp) -> Timestamp {
    Timestamp::from_millis(instant.as_millis() - 1)
}

impl Alter for ExpiresLate {
    within!();

    fn reserve(&self, mut reserve: Reserve) -> StoreReply<ReserveReply> {
        reserve.keys.iter_mut().for_each(|asked| asked.pending_ms += 1);
        let mut reply = drive(self.inner.reserve(reserve)).expect("answered");
        for answer in &mut reply.answers {
            if let Reserved::TakenPending { until, .. } = answer {
                *until = a_millisecond_before(*until);
            }
        }
        StoreReply::ready(Ok(reply))
    }

    fn reservation(&self, key: KeyId) -> StoreReply<KeyReading> {
        let mut reading = drive(self.inner.reservation(key)).expect("read");
        if let Some(Record { state: RecordState::Pending(leases), .. }) = &mut reading.record {
            leases.iter_mut().for_each(|lease| lease.expires_at = a_millisecond_before(lease.expires_at));
        }
        StoreReply::ready(Ok(reading))
    }
}

/// R7.
#[test]
fn an_expiry_that_comes_late_is_caught() {
    caught(|_, inner| ExpiresLate { inner }, &["ms pass", "TakenPending"]);
}

/// An unknown outcome is settled by reading, without a durable mark.
#[derive(Debug)]
struct SettlesByReading {
    inner: Arc<dyn Store>,
}

impl Alter for SettlesByReading {
    within!();

    fn settle(&self, settle: Settle) -> StoreReply<Settled> {
        let load = Load { stream: settle.stream.clone(), after_version: settle.version - 1, snapshot_of: None };
        let loaded = drive(self.inner.load(load)).expect("loaded");
        let found = loaded.commits.first().filter(|commit| commit.token == settle.token);
        drop(self.inner.give_up(GiveUp { holder: settle.stream, token: settle.token, keys: settle.keys }));
        let written = found.map(|commit| Settled::Written(Written { position: commit.position, at: commit.at }));
        StoreReply::ready(Ok(written.unwrap_or(Settled::NotWritten)))
    }
}

/// R9.
#[test]
fn settling_by_reading_is_caught() {
    caught(
        |_, inner| SettlesByReading { inner },
        &["settles its append", "held back arrives", "the store says Written, the model Fenced"],
    );
}

/// A check answers the version that it found when it was first asked.
#[derive(Debug)]
struct ChecksACache {
    inner: Arc<dyn Store>,
    versions: Mutex<HashMap<StreamId, u64>>,
}

impl Alter for ChecksACache {
    within!();

    fn check(&self, check: Check) -> StoreReply<Checked> {
        let stream = check.stream.clone();
        let mut checked = drive(self.inner.check(check)).expect("checked");
        checked.version = *self.versions.lock().entry(stream).or_insert(checked.version);
        StoreReply::ready(Ok(checked))
    }
}

/// C1.
#[test]
fn a_version_from_a_cache_is_caught() {
    caught(
        |_, inner| ChecksACache { inner, versions: Mutex::default() },
        &["asks for", "the version that a check found: the store says 0, the model 1"],
    );
}

/// A check that finds no commit leaves nothing, so an append of before lands after it.
#[derive(Debug)]
struct ChecksWithoutMark {
    inner: Arc<dyn Store>,
}

impl Alter for ChecksWithoutMark {
    within!();

    fn append(&self, append: Append) -> StoreReply<AppendReply> {
        self.inner.append(Append { mark: u64::MAX, ..append })
    }
}

/// C4.
#[test]
fn an_append_that_lands_after_a_check_without_commit_is_caught() {
    caught(
        |_, inner| ChecksWithoutMark { inner },
        &["asks for version and request", "the store says Written, the model Fenced"],
    );
}

/// An append looks for its request, lets others go on, and writes without looking again.
#[derive(Debug)]
struct LooksForTheRequestBefore {
    inner: Arc<dyn Store>,
    seen: Arc<Mutex<HashSet<(StreamId, RequestId)>>>,
}

impl Alter for LooksForTheRequestBefore {
    within!();

    fn append(&self, append: Append) -> StoreReply<AppendReply> {
        let (inner, seen) = (Arc::clone(&self.inner), Arc::clone(&self.seen));
        let request = (StreamId { id: "whichever".into(), ..append.stream.clone() }, append.request.id.clone());
        let has_commit = seen.lock().contains(&request);
        StoreReply::waiting(async move {
            yield_now().await;
            let mut reply = inner.append(append.clone()).await?;
            if let (false, AppendReply::Refused(Refusal::Replay(_))) = (has_commit, &reply) {
                let unseen = Append { request: RequestKey::of_token(append.token), ..append };
                if let written @ AppendReply::Written(_) = inner.append(unseen).await? {
                    reply = written;
                }
            }
            if matches!(reply, AppendReply::Written(_)) {
                seen.lock().insert(request);
            }
            Ok(reply)
        })
    }
}

/// C4, S3.
#[test]
fn a_request_that_is_looked_up_too_early_is_caught() {
    caught(
        |_, inner| LooksForTheRequestBefore { inner, seen: Arc::default() },
        &[
            "in flight at once",
            "under the shared request",
            "no order of these explains the answers",
            "the store says Written, the model Replay",
        ],
    );
}
