//! Mistakes that show only in a corner: where a key has two leases, a call two namespaces, a refusal two reasons.

use super::{ready, ready_or_error};
use freehold::reservation::lifecycle::KeyUse;
use freehold::reservation::{KeyId, Record, RecordState, RequestHash, Reserved};
use freehold::store::{
    Append, AppendReply, Check, Checked, CommitRecord, GiveUp, KeyReading, Load, LoadedStream, NamespaceRecord,
    Refusal, Registered, Rekey, RekeyNamespace, RekeyReply, RequestKey, Reserve, ReserveKey, ReserveReply, Settle,
    Settled, SnapshotRecord,
};
use freehold::{Clock, MemoryStore, Store, StoreError, StoreReply, StreamId, Text, Timestamp, Token};
use freehold_testkit::ManualClock;
use freehold_testkit::conformance::Subject;
use parking_lot::Mutex;
use std::sync::Arc;

/// What a store does wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mistake {
    /// None; the suite must pass.
    None,
    /// A snapshot comes back as one of an aggregate that is not deleted.
    SnapshotForgetsDeleted,
    /// The log has no time, request, command and attempt.
    LogLosesTimeRequestToken,
    /// An append that lost a key leaves its leases on the others.
    KeyLostKeepsLeases,
    /// A check finds the request of another aggregate type.
    CheckIgnoresType,
    /// The keys before the one that is refused are reserved.
    ReserveIsNotAtomic,
    /// Only the first lease of a key is asked for its request.
    SameRequestOfFirstLeaseOnly,
    /// The reply to a reserve does not say when it was given.
    ReserveNowIsZero,
    /// A sweep takes a record of which one lease has expired.
    SweepTakesPartlyExpired,
    /// Pending keys count as held.
    HeldByCountsPending,
    /// Held keys come in no order.
    HeldByUnordered,
    /// An append's first key speaks for the others.
    EpochOfFirstKeyOnly,
    /// A release is not checked for its epoch.
    ReleaseIgnoresEpoch,
    /// An append that is refused for its namespace leaves its leases.
    RefusedForNamespaceKeepsLeases,
    /// A rekey to what is recorded already raises the epoch.
    RekeyAgainRaises,
    /// Of several namespaces to rekey, those before the one that is refused are rekeyed.
    RekeysOneByOne,
    /// Namespaces are judged before the request.
    NamespaceBeforeRequest,
    /// A stream's commits don't tell what they freed.
    LoadLosesReleaseKeys,
}

/// A memory store that is sound, with the mistake around it.
#[derive(Debug, Clone)]
struct Mutant {
    inner: MemoryStore,
    mistake: Mistake,
    clock: ManualClock,
    rekeyed: Arc<Mutex<Vec<NamespaceRecord>>>,
    seen: Arc<Mutex<Vec<KeyId>>>,
}

pub(super) fn subject(mistake: Mistake) -> Subject {
    let clock = ManualClock::default();
    let inner = MemoryStore::with_clock(Arc::new(clock.clone()));
    let store = Mutant { inner, mistake, clock: clock.clone(), rekeyed: Arc::default(), seen: Arc::default() };
    Subject::new(store, move |duration| clock.advance(duration))
}

impl Mutant {
    /// The epoch of the key's namespace, of those that the suite rekeys at most once.
    fn epoch(&self, key: &KeyId) -> u64 {
        let is_of = |namespace: &NamespaceRecord| namespace.name == key.namespace && namespace.context == key.context;
        if self.rekeyed.lock().iter().any(is_of) { 2 } else { 1 }
    }

    /// The keys on which the append's attempt has a lease.
    fn leased(&self, append: &Append) -> Vec<KeyId> {
        let is_leased = |key: &KeyId| match ready(self.inner.reservation(key.clone())).record {
            Some(Record { holder, state: RecordState::Pending(leases) }) => {
                holder == append.stream && leases.iter().any(|lease| lease.token == append.token)
            }
            _ => false,
        };
        append.keys.iter().map(|claim| claim.key.clone()).filter(is_leased).collect()
    }

    fn lease_again(&self, holder: &StreamId, token: Token, keys: Vec<KeyId>) {
        for key in keys {
            let epoch = self.epoch(&key);
            let asked = ReserveKey { key, epoch, token, request: RequestHash(0), pending_ms: 30_000 };
            let _whatever = ready_or_error(self.inner.reserve(Reserve { holder: holder.clone(), keys: vec![asked] }));
        }
    }

    fn refuse_stale(&self, append: &Append) -> Option<StoreError> {
        let stale = append.keys.iter().find(|claim| claim.epoch != self.epoch(&claim.key))?;
        let keys = append.keys.iter().map(|claim| claim.key.clone()).collect();
        ready(self.inner.give_up(GiveUp { holder: append.stream.clone(), token: append.token, keys }));
        Some(StoreError::namespace_changed(&stale.key.namespace))
    }
}

impl Store for Mutant {
    fn register(&self, namespaces: Vec<NamespaceRecord>) -> StoreReply<Vec<Registered>> {
        self.inner.register(namespaces)
    }

    fn load(&self, load: Load) -> StoreReply<LoadedStream> {
        let mut loaded = ready(self.inner.load(load));
        if let (Mistake::SnapshotForgetsDeleted, Some(snapshot)) = (self.mistake, &mut loaded.snapshot) {
            snapshot.deleted = false;
        }
        if self.mistake == Mistake::LoadLosesReleaseKeys {
            for commit in &mut loaded.commits {
                Arc::make_mut(commit).keys.retain(|change| change.taken);
            }
        }
        StoreReply::ready(Ok(loaded))
    }

    fn check(&self, check: Check) -> StoreReply<Checked> {
        let mut checked = ready(self.inner.check(check.clone()));
        if let (Mistake::CheckIgnoresType, None, Some(id)) = (self.mistake, &checked.first, check.request) {
            let log = ready(self.inner.commits(0, usize::MAX)).into_iter();
            let mut alike = log.filter(|other| other.request.id == id && other.stream.tenant == check.stream.tenant);
            checked.first = alike.next().map(Arc::new);
        }
        StoreReply::ready(Ok(checked))
    }

    fn reserve(&self, reserve: Reserve) -> StoreReply<ReserveReply> {
        let Reserve { holder, keys: asked } = reserve.clone();
        self.seen.lock().extend(asked.iter().map(|key| key.key.clone()));
        if self.mistake == Mistake::ReserveIsNotAtomic {
            let one = |key: &ReserveKey| Reserve { holder: holder.clone(), keys: vec![key.clone()] };
            let _first_refusal =
                asked.iter().try_for_each(|key| ready_or_error(self.inner.reserve(one(key))).map(drop));
        }
        let mut reply = match ready_or_error(self.inner.reserve(reserve)) {
            Ok(reply) => reply,
            Err(error) => return StoreReply::ready(Err(error)),
        };
        if self.mistake == Mistake::SameRequestOfFirstLeaseOnly {
            for (answer, asked) in reply.answers.iter_mut().zip(&asked) {
                let record = ready(self.inner.reservation(asked.key.clone())).record;
                if let Reserved::TakenPending { same_request, .. } = answer
                    && let Some(Record { state: RecordState::Pending(leases), .. }) = record
                {
                    *same_request = leases[0].request == asked.request;
                }
            }
        }
        if self.mistake == Mistake::ReserveNowIsZero {
            reply.now = Timestamp::from_millis(0);
        }
        StoreReply::ready(Ok(reply))
    }

    fn give_up(&self, give_up: GiveUp) -> StoreReply<()> {
        self.inner.give_up(give_up)
    }

    fn append(&self, mut append: Append) -> StoreReply<AppendReply> {
        let (leased, holder, token) = (self.leased(&append), append.stream.clone(), append.token);
        for (number, claim) in append.keys.iter_mut().enumerate() {
            let is_overlooked = match self.mistake {
                Mistake::EpochOfFirstKeyOnly => number > 0,
                Mistake::ReleaseIgnoresEpoch => claim.key_use == KeyUse::Release,
                _ => false,
            };
            if is_overlooked {
                claim.epoch = self.epoch(&claim.key);
            }
        }
        if self.mistake == Mistake::NamespaceBeforeRequest
            && let Some(error) = self.refuse_stale(&append)
        {
            return StoreReply::ready(Err(error));
        }
        let reply = ready_or_error(self.inner.append(append));
        match (self.mistake, &reply) {
            (Mistake::KeyLostKeepsLeases, Ok(AppendReply::Refused(Refusal::KeyLost)))
            | (Mistake::RefusedForNamespaceKeepsLeases, Err(_)) => self.lease_again(&holder, token, leased),
            _ => {}
        }
        StoreReply::ready(reply)
    }

    fn settle(&self, settle: Settle) -> StoreReply<Settled> {
        self.inner.settle(settle)
    }

    fn save_snapshot(&self, snapshot: SnapshotRecord) -> StoreReply<()> {
        self.inner.save_snapshot(snapshot)
    }

    fn commits(&self, after_position: u64, limit: usize) -> StoreReply<Vec<CommitRecord>> {
        let mut log = ready(self.inner.commits(after_position, limit));
        if self.mistake == Mistake::LogLosesTimeRequestToken {
            for commit in &mut log {
                (commit.at, commit.token) = (Timestamp::from_millis(0), Token::from_u128(0));
                (commit.request, commit.command) = (RequestKey::of_token(commit.token), Text::from_static(""));
            }
        }
        StoreReply::ready(Ok(log))
    }

    fn reservation(&self, key: KeyId) -> StoreReply<KeyReading> {
        self.inner.reservation(key)
    }

    fn held_by(&self, holder: StreamId) -> StoreReply<Vec<KeyId>> {
        let mut held = ready(self.inner.held_by(holder.clone()));
        if self.mistake == Mistake::HeldByUnordered {
            held.reverse();
        }
        if self.mistake == Mistake::HeldByCountsPending {
            let is_pending = |key: &&KeyId| {
                let record = ready(self.inner.reservation(KeyId::clone(key))).record;
                record.is_some_and(|record| record.holder == holder && !record.is_confirmed())
            };
            held.extend(self.seen.lock().iter().filter(is_pending).cloned());
            held.sort();
            held.dedup();
        }
        StoreReply::ready(Ok(held))
    }

    fn rekey(&self, rekey: Rekey) -> StoreReply<RekeyReply> {
        let alone = |change: &RekeyNamespace| Rekey { namespaces: vec![change.clone()], ..rekey.clone() };
        for change in &rekey.namespaces {
            if self.mistake == Mistake::RekeyAgainRaises && self.rekeyed.lock().contains(&change.namespace) {
                let namespace = NamespaceRecord { normalizer: "another@1".into(), ..change.namespace.clone() };
                ready(self.inner.rekey(alone(&RekeyNamespace { namespace, ..change.clone() })));
            }
            if self.mistake == Mistake::RekeysOneByOne {
                ready(self.inner.rekey(alone(change)));
            }
        }
        let reply = ready(self.inner.rekey(rekey.clone()));
        if matches!(reply, RekeyReply::Done { .. }) {
            self.rekeyed.lock().extend(rekey.namespaces.into_iter().map(|change| change.namespace));
        }
        StoreReply::ready(Ok(reply))
    }

    fn sweep(&self) -> StoreReply<u64> {
        let now = self.clock.now();
        let seen = if self.mistake == Mistake::SweepTakesPartlyExpired { self.seen.lock().clone() } else { Vec::new() };
        for key in seen {
            let record = ready(self.inner.reservation(key.clone())).record;
            let Some(Record { holder, state: RecordState::Pending(leases) }) = record else { continue };
            if leases.iter().any(|lease| !lease.is_live(now)) {
                for lease in leases {
                    let keys = vec![key.clone()];
                    ready(self.inner.give_up(GiveUp { holder: holder.clone(), token: lease.token, keys }));
                }
            }
        }
        self.inner.sweep()
    }

    fn drain(&self) -> StoreReply<()> {
        self.inner.drain()
    }
}
