//! The store under a spec: a memory store that knows which keys were touched, and fails where it is told to.

use freehold::reservation::{KeyId, Record};
use freehold::store::{
    Append, AppendReply, Check, Checked, CommitKind, CommitRecord, GiveUp, KeyReading, Load, LoadedStream,
    NamespaceRecord, Registered, Rekey, RekeyReply, RequestKey, Reserve, ReserveReply, Settle, Settled, SnapshotRecord,
};
use freehold::{MemoryStore, Store, StoreError, StoreErrorKind, StoreReply, StreamId, Text, Token};
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};

/// Which call on the store fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// Reading the aggregate.
    Load,
    /// Asking for its version, or for a request id.
    Check,
    /// Reserving keys.
    Reserve,
    /// Giving up what was reserved.
    GiveUp,
    /// Writing the events.
    Append,
}

/// How a call on the store fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is surely not done, and the error says so.
    FailBefore,
    /// It is not done, and the error can't say.
    FailUnknownBefore,
    /// It is done, and the answer is lost: the error can't say.
    AnswerLost,
}

impl Fault {
    pub(super) const fn describe(self) -> &'static str {
        match self {
            Self::FailBefore => "fails, surely not done",
            Self::FailUnknownBefore => "is not done, outcome unknown",
            Self::AnswerLost => "is done, its answer lost",
        }
    }
}

/// A bug that a test of the laws puts into the store.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sabotage {
    /// `give_up` does nothing.
    KeepsLeases,
    /// An append frees no key.
    KeepsReleased,
    /// A reserve forgets who holds the key.
    TakesHeldAnew,
}

#[derive(Debug)]
pub(super) struct SpecStore {
    inner: MemoryStore,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    keys: BTreeSet<KeyId>,
    epochs: HashMap<Text, u64>,
    tokens: BTreeSet<Token>,
    faults: Vec<(At, Fault)>,
    fired: Vec<(At, Fault)>,
    conflicts: u32,
    is_armed: bool,
    own_tokens: u128,
    #[cfg(test)]
    sabotage: Option<Sabotage>,
}

impl SpecStore {
    pub(super) fn new(inner: MemoryStore) -> Self {
        Self { inner, state: Mutex::default() }
    }

    pub(super) fn add_fault(&self, at: At, fault: Fault) {
        self.state.lock().faults.push((at, fault));
    }

    pub(super) fn add_conflicts(&self, times: u32) {
        self.state.lock().conflicts += times;
    }

    #[cfg(test)]
    pub(super) fn sabotage(&self, sabotage: Sabotage) {
        self.state.lock().sabotage = Some(sabotage);
    }

    #[cfg(test)]
    fn is(&self, sabotage: Sabotage) -> bool {
        let state = self.state.lock();
        state.is_armed && state.sabotage == Some(sabotage)
    }

    /// Faults and conflicts strike from here on; what is given is set up without them.
    pub(super) fn arm(&self) {
        let mut state = self.state.lock();
        state.is_armed = true;
        state.fired.clear();
        state.tokens.clear();
    }

    /// Nothing strikes any more. Returns what did, and the tokens of the attempts.
    pub(super) fn disarm(&self) -> (Vec<(At, Fault)>, BTreeSet<Token>) {
        let mut state = self.state.lock();
        state.is_armed = false;
        (std::mem::take(&mut state.fired), std::mem::take(&mut state.tokens))
    }

    /// A token that no id source draws.
    pub(super) fn own_token(&self) -> Token {
        let mut state = self.state.lock();
        state.own_tokens += 1;
        Token::from_u128(u128::MAX - state.own_tokens)
    }

    pub(super) fn epoch(&self, namespace: &str) -> u64 {
        self.state.lock().epochs.get(namespace).copied().unwrap_or(1)
    }

    /// Every record there is, of the keys that were ever touched.
    pub(super) fn records(&self) -> Vec<(KeyId, Record)> {
        let keys: Vec<KeyId> = self.state.lock().keys.iter().cloned().collect();
        let record = |key: KeyId| Some((key.clone(), answer(self.inner.reservation(key)).ok()?.record?));
        keys.into_iter().filter_map(record).collect()
    }

    fn note_keys(&self, keys: impl Iterator<Item = KeyId>) {
        self.state.lock().keys.extend(keys);
    }

    fn strike(&self, at: At) -> Option<Fault> {
        let mut state = self.state.lock();
        if !state.is_armed {
            return None;
        }
        let position = state.faults.iter().position(|(other, _)| *other == at)?;
        let (_, fault) = state.faults.remove(position);
        state.fired.push((at, fault));
        Some(fault)
    }

    fn call<T>(&self, at: At, call: impl FnOnce() -> StoreReply<T>) -> StoreReply<T> {
        let kind = StoreErrorKind::Unavailable;
        StoreReply::ready(Err(match self.strike(at) {
            None => return call(),
            Some(Fault::FailBefore) => StoreError::not_done(kind, "the spec's store failed before the call was done"),
            Some(Fault::FailUnknownBefore) => StoreError::unknown(kind, "the spec's store lost the connection"),
            Some(Fault::AnswerLost) => {
                // The work is done when the memory store's call returns.
                drop(call());
                StoreError::unknown(kind, "the spec's store lost the connection")
            }
        }))
    }

    /// Lets somebody else write to the stream first, a commit without events.
    fn conflict(&self, append: &Append) {
        let mut state = self.state.lock();
        if !state.is_armed || state.conflicts == 0 || append.kind != CommitKind::Command {
            return;
        }
        state.conflicts -= 1;
        drop(state);
        let token = self.own_token();
        drop(self.inner.append(Append {
            stream: append.stream.clone(),
            expected_version: append.expected_version,
            kind: CommitKind::Release,
            command: Text::from_static("$foreign"),
            request: RequestKey::of_token(token),
            token,
            mark: 0,
            events: Vec::new(),
            keys: Vec::new(),
            metadata: None,
        }));
    }
}

/// The answer of a store in memory, which is there when the call returns.
pub(super) fn answer<T>(reply: StoreReply<T>) -> Result<T, StoreError> {
    crate::driver::drive(reply)
}

impl Store for SpecStore {
    fn register(&self, namespaces: Vec<NamespaceRecord>) -> StoreReply<Vec<Registered>> {
        let names: Vec<Text> = namespaces.iter().map(|namespace| namespace.name.clone()).collect();
        let answers = answer(self.inner.register(namespaces));
        for (name, answer) in names.into_iter().zip(answers.iter().flatten()) {
            if let Registered::AsGiven { epoch } = answer {
                self.state.lock().epochs.insert(name, *epoch);
            }
        }
        StoreReply::ready(answers)
    }

    fn load(&self, load: Load) -> StoreReply<LoadedStream> {
        self.call(At::Load, || self.inner.load(load))
    }

    fn check(&self, check: Check) -> StoreReply<Checked> {
        self.call(At::Check, || self.inner.check(check))
    }

    fn reserve(&self, reserve: Reserve) -> StoreReply<ReserveReply> {
        self.note_keys(reserve.keys.iter().map(|asked| asked.key.clone()));
        self.state.lock().tokens.extend(reserve.keys.iter().map(|asked| asked.token));
        #[cfg(test)]
        if self.is(Sabotage::TakesHeldAnew) {
            let newly = vec![freehold::Reserved::Newly; reserve.keys.len()];
            return StoreReply::ready(Ok(ReserveReply { answers: newly, now: freehold::Timestamp::from_millis(0) }));
        }
        self.call(At::Reserve, || self.inner.reserve(reserve))
    }

    fn give_up(&self, give_up: GiveUp) -> StoreReply<()> {
        #[cfg(test)]
        if self.is(Sabotage::KeepsLeases) {
            return StoreReply::ready(Ok(()));
        }
        self.call(At::GiveUp, || self.inner.give_up(give_up))
    }

    #[cfg_attr(not(test), expect(unused_mut, reason = "tests of the laws break it"))]
    fn append(&self, mut append: Append) -> StoreReply<AppendReply> {
        self.note_keys(append.keys.iter().map(|claim| claim.key.clone()));
        self.conflict(&append);
        #[cfg(test)]
        if self.is(Sabotage::KeepsReleased) {
            append.keys.retain(|claim| claim.key_use != freehold::reservation::lifecycle::KeyUse::Release);
        }
        self.call(At::Append, || self.inner.append(append))
    }

    fn settle(&self, settle: Settle) -> StoreReply<Settled> {
        self.inner.settle(settle)
    }

    fn save_snapshot(&self, snapshot: SnapshotRecord) -> StoreReply<()> {
        self.inner.save_snapshot(snapshot)
    }

    fn commits(&self, after_position: u64, limit: usize) -> StoreReply<Vec<CommitRecord>> {
        self.inner.commits(after_position, limit)
    }

    fn reservation(&self, key: KeyId) -> StoreReply<KeyReading> {
        self.inner.reservation(key)
    }

    fn held_by(&self, holder: StreamId) -> StoreReply<Vec<KeyId>> {
        self.inner.held_by(holder)
    }

    fn rekey(&self, rekey: Rekey) -> StoreReply<RekeyReply> {
        self.inner.rekey(rekey)
    }

    fn sweep(&self) -> StoreReply<u64> {
        self.inner.sweep()
    }

    fn drain(&self) -> StoreReply<()> {
        self.inner.drain()
    }
}
