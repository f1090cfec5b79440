//! Mistakes that show at once: each has been made by a real system.

use super::{ready, ready_or_error};
use freehold::reservation::lifecycle::KeyUse;
use freehold::reservation::{KeyId, Record, Reserved};
use freehold::store::{
    Append, AppendReply, Check, Checked, CommitRecord, GiveUp, KeyReading, Load, LoadedStream, NamespaceRecord,
    Refusal, Registered, Rekey, RekeyReply, Reserve, ReserveReply, Settle, Settled, SnapshotRecord,
};
use freehold::{Clock, MemoryStore, Sleep, Store, StoreReply, StreamId, Text, Timestamp, Token};
use freehold_testkit::ManualClock;
use freehold_testkit::conformance::Subject;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// What a store does wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mistake {
    /// None; the suite must pass.
    None,
    /// A claim on a taken key is answered as if it were free (check, then insert).
    EveryClaimWins,
    /// Giving up frees whatever is there, by key.
    GiveUpByKey,
    /// A lease still stands at the instant of its end.
    ExpiryIsLate,
    /// The append confirms without looking whose the key is by now.
    NoFence,
    /// Keys are cut to 255 bytes.
    CutsKeys,
    /// Keys are compared without case.
    FoldsCase,
    /// A conflict is swallowed: told as written.
    SwallowsConflicts,
    /// A release frees the key whoever holds it.
    ReleasesAnyones,
    /// An unknown outcome is settled by looking, without a durable mark.
    SettlesByLooking,
    /// A refused append leaves its leases.
    KeepsLeasesOfTheRefused,
    /// The tenant is missing from the key.
    ForgetsTheTenant,
    /// A request id is not looked up.
    ForgetsRequests,
    /// Epochs are not checked.
    IgnoresEpochs,
    /// A sweep takes confirmed keys too.
    SweepsConfirmed,
    /// Two attempts of one aggregate share a lease.
    OneLeaseAHolder,
}

#[derive(Debug, Clone)]
struct Mutant {
    inner: MemoryStore,
    mistake: Mistake,
    clock: ManualClock,
    seen: Arc<Mutex<Vec<(StreamId, KeyId)>>>,
    tokens: Arc<Mutex<std::collections::HashMap<(StreamId, KeyId), Token>>>,
}

impl Mutant {
    fn key(&self, key: KeyId) -> KeyId {
        match self.mistake {
            Mistake::CutsKeys => {
                let end = (0..=255.min(key.key.len())).rev().find(|end| key.key.is_char_boundary(*end)).unwrap_or(0);
                KeyId { key: Text::from(&key.key[..end]), ..key }
            }
            Mistake::FoldsCase => KeyId { key: Text::from(key.key.to_lowercase()), ..key },
            Mistake::ForgetsTheTenant => KeyId { scope: Text::from_static(""), ..key },
            _ => key,
        }
    }

    fn token(&self, holder: &StreamId, key: &KeyId, token: Token) -> Token {
        if self.mistake != Mistake::OneLeaseAHolder {
            return token;
        }
        *self.tokens.lock().entry((holder.clone(), key.clone())).or_insert(token)
    }

    /// Takes `key` from whoever has it, as no store may.
    fn free(&self, key: &KeyId) {
        let owners: Vec<_> = self.seen.lock().iter().filter(|(_, seen)| seen == key).cloned().collect();
        for (owner, key) in owners {
            let version = ready(self.inner.check(Check { stream: owner.clone(), request: None })).version;
            let record = ready(self.inner.reservation(key.clone())).record;
            if let Some(Record { holder, state: freehold::reservation::RecordState::Pending(leases) }) = record {
                for lease in leases {
                    let keys = vec![key.clone()];
                    ready(self.inner.give_up(GiveUp { holder: holder.clone(), token: lease.token, keys }));
                }
            } else {
                let claim = freehold::store::KeyClaim { key, epoch: 1, key_use: KeyUse::Release };
                let token = Token::from_u128(fastrand::u128(..));
                ready(self.inner.append(Append {
                    stream: owner,
                    expected_version: version,
                    kind: freehold::store::CommitKind::Release,
                    command: Text::from_static("mistake"),
                    request: freehold::store::RequestKey::of_token(token),
                    token,
                    mark: 0,
                    events: Vec::new(),
                    keys: vec![claim],
                    metadata: None,
                }));
            }
        }
    }
}

impl Store for Mutant {
    fn register(&self, namespaces: Vec<NamespaceRecord>) -> StoreReply<Vec<Registered>> {
        self.inner.register(namespaces)
    }

    fn load(&self, load: Load) -> StoreReply<LoadedStream> {
        self.inner.load(load)
    }

    fn check(&self, mut check: Check) -> StoreReply<Checked> {
        if self.mistake == Mistake::ForgetsRequests {
            check.request = None;
        }
        self.inner.check(check)
    }

    fn reserve(&self, mut reserve: Reserve) -> StoreReply<ReserveReply> {
        for asked in &mut reserve.keys {
            asked.key = self.key(asked.key.clone());
            asked.token = self.token(&reserve.holder, &asked.key, asked.token);
            self.seen.lock().push((reserve.holder.clone(), asked.key.clone()));
            if self.mistake == Mistake::IgnoresEpochs {
                asked.epoch = asked.epoch.max(1);
                let record = NamespaceRecord {
                    context: asked.key.context.clone(),
                    name: asked.key.namespace.clone(),
                    tenancy: freehold::Tenancy::Tenant,
                    normalizer: "verbatim@1".into(),
                };
                if let [Registered::Differs { .. }] = &*ready(self.inner.register(vec![record])) {
                    asked.epoch = 2;
                }
            }
        }
        let mut reply = match ready_or_error(self.inner.reserve(reserve)) {
            Ok(reply) => reply,
            Err(error) => return StoreReply::ready(Err(error)),
        };
        if self.mistake == Mistake::EveryClaimWins {
            reply.answers.iter_mut().filter(|answer| !answer.is_ours()).for_each(|answer| *answer = Reserved::Newly);
        }
        StoreReply::ready(Ok(reply))
    }

    fn give_up(&self, mut give_up: GiveUp) -> StoreReply<()> {
        give_up.keys = give_up.keys.into_iter().map(|key| self.key(key)).collect();
        if self.mistake == Mistake::GiveUpByKey {
            give_up.keys.iter().for_each(|key| self.free(key));
        }
        if let (Mistake::OneLeaseAHolder, Some(key)) = (self.mistake, give_up.keys.first()) {
            give_up.token = self.token(&give_up.holder, key, give_up.token);
        }
        self.inner.give_up(give_up)
    }

    fn append(&self, mut append: Append) -> StoreReply<AppendReply> {
        for claim in &mut append.keys {
            claim.key = self.key(claim.key.clone());
        }
        let released = append.keys.iter().filter(|claim| claim.key_use == KeyUse::Release);
        let released: Vec<KeyId> = released.map(|claim| claim.key.clone()).collect();
        if self.mistake == Mistake::NoFence {
            append.keys.retain(|claim| {
                claim.key_use == KeyUse::Release || {
                    let record = ready(self.inner.reservation(claim.key.clone())).record;
                    record.is_none_or(|record| record.holder == append.stream)
                }
            });
        }
        if self.mistake == Mistake::ForgetsRequests {
            append.request = freehold::store::RequestKey::of_token(Token::from_u128(fastrand::u128(..)));
        }
        let (stream, token) = (append.stream.clone(), append.token);
        let retaken: Vec<KeyId> = append.keys.iter().map(|claim| claim.key.clone()).collect();
        let pending = ready_or_error(self.inner.append(append));
        if let (Mistake::KeepsLeasesOfTheRefused, Ok(AppendReply::Refused(_))) = (self.mistake, &pending) {
            let key = |key: KeyId| freehold::store::ReserveKey {
                key,
                epoch: 1,
                token,
                request: freehold::reservation::RequestHash(0),
                pending_ms: 30_000,
            };
            let keys = retaken.into_iter().map(key).collect();
            drop(self.inner.reserve(Reserve { holder: stream, keys }));
        }
        match (self.mistake, pending) {
            (Mistake::SwallowsConflicts, Ok(AppendReply::Refused(Refusal::Conflict))) => {
                let at = self.clock.now();
                StoreReply::ready(Ok(AppendReply::Written(freehold::store::Written { position: 1, at })))
            }
            (Mistake::ReleasesAnyones, Ok(AppendReply::Written(written))) => {
                released.iter().for_each(|key| self.free(key));
                StoreReply::ready(Ok(AppendReply::Written(written)))
            }
            (_, reply) => StoreReply::ready(reply),
        }
    }

    fn settle(&self, settle: Settle) -> StoreReply<Settled> {
        if self.mistake != Mistake::SettlesByLooking {
            return self.inner.settle(settle);
        }
        let load = Load { stream: settle.stream.clone(), after_version: settle.version - 1, snapshot_of: None };
        let loaded = ready(self.inner.load(load));
        let there = loaded.commits.first().filter(|commit| commit.token == settle.token);
        ready(self.inner.give_up(GiveUp { holder: settle.stream, token: settle.token, keys: settle.keys }));
        StoreReply::ready(Ok(there.map_or(Settled::NotWritten, |commit| {
            Settled::Written(freehold::store::Written { position: commit.position, at: commit.at })
        })))
    }

    fn save_snapshot(&self, snapshot: SnapshotRecord) -> StoreReply<()> {
        self.inner.save_snapshot(snapshot)
    }

    fn commits(&self, after_position: u64, limit: usize) -> StoreReply<Vec<CommitRecord>> {
        self.inner.commits(after_position, limit)
    }

    fn reservation(&self, key: KeyId) -> StoreReply<KeyReading> {
        self.inner.reservation(self.key(key))
    }

    fn held_by(&self, holder: StreamId) -> StoreReply<Vec<KeyId>> {
        self.inner.held_by(holder)
    }

    fn rekey(&self, rekey: Rekey) -> StoreReply<RekeyReply> {
        self.inner.rekey(rekey)
    }

    fn sweep(&self) -> StoreReply<u64> {
        if self.mistake == Mistake::SweepsConfirmed {
            let seen: Vec<KeyId> = self.seen.lock().iter().map(|(_, key)| key.clone()).collect();
            seen.iter().for_each(|key| self.free(key));
        }
        self.inner.sweep()
    }

    fn drain(&self) -> StoreReply<()> {
        self.inner.drain()
    }
}

pub(super) fn subject(mistake: Mistake) -> Subject {
    let manual = ManualClock::default();
    let judged: Arc<dyn Clock> = Arc::new(LateLease { clock: manual.clone(), late: mistake == Mistake::ExpiryIsLate });
    let (seen, tokens) = Default::default();
    let store = Mutant { inner: MemoryStore::with_clock(judged), mistake, clock: manual.clone(), seen, tokens };
    Subject::new(store, move |duration| manual.advance(duration))
}

/// A clock by which a lease that ends at an instant still stands at it: it reaches each instant a millisecond late.
#[derive(Debug)]
struct LateLease {
    clock: ManualClock,
    late: bool,
}

impl Clock for LateLease {
    fn now(&self) -> Timestamp {
        let now = self.clock.now();
        let start = ManualClock::default().now();
        if self.late && now > start { Timestamp::from_millis(now.as_millis() - 1) } else { now }
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        self.clock.sleep(duration)
    }
}
