//! One attempt at a command: its token, the keys it asked for, and what becomes of them, however it ends.
//!
//! An attempt that is dropped before its append is handed over gives up what it reserved (R5): there is no way out
//! of deciding, panic and cancellation included, that leaves a lease behind while the process lives.

use super::request::request_hash;
use crate::clock::Timestamp;
use crate::command::CommandContext;
use crate::decision::{DecideError, Kind};
use crate::domain::{Inner, RegisteredNamespace};
use crate::error::{Error, InvalidKey, StoreFailure};
use crate::ids::Token;
use crate::limits::{ASKED_AGAIN_MAX, KEYS_PER_DECISION_MAX};
use crate::observe::{ScopeCall, ScopeCallKind};
use crate::reservation::lifecycle::KeyUse;
use crate::reservation::{KeyId, Namespace, RequestHash, Reserved};
use crate::scope::too_many_keys;
use crate::store::{GiveUp, KeyClaim, Reserve, ReserveKey, ReserveReply, StoreError};
use crate::text::Text;
use foldhash::HashMap;
use std::sync::Arc;
use std::time::Duration;

const DROPPED: &str = "a handler dropped a `reserve` before its answer came, and went on; await it, or return";

/// Up to so many keys are found by looking at each.
const FEW_KEYS: usize = 16;

pub(crate) struct Attempt {
    domain: Arc<Inner>,
    context: Arc<CommandContext>,
    token: Token,
    /// Computed when the first key is reserved.
    request: Option<RequestHash>,
    basis: Basis,
    keys: Vec<KeyEntry>,
    /// Where a key stands in `keys`; kept only when there are many.
    by_key: HashMap<KeyId, usize>,
    poison: Option<Poison>,
    blocked: Option<Blocked>,
    same_request: bool,
    calls: Vec<ScopeCall>,
}

/// Why an attempt can't commit any more, whatever its handler returns (R2).
#[derive(Clone, Debug)]
pub(crate) enum Poison {
    Store(StoreError),
    Misconfigured(String),
    InvalidKey(InvalidKey),
}

impl From<Poison> for Error {
    fn from(poison: Poison) -> Self {
        match poison {
            Poison::Store(error) => error.into(),
            Poison::Misconfigured(problem) => Self::Misconfigured(problem),
            Poison::InvalidKey(error) => Self::InvalidKey(error),
        }
    }
}

/// The state that an attempt decides on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Basis {
    pub(crate) version: u64,
    pub(crate) exists: bool,
    pub(crate) deleted: bool,
}

struct KeyEntry {
    key: KeyId,
    epoch: u64,
    /// Whether a reserve was sent, so that a lease may exist.
    asked: bool,
    answer: Option<Reserved>,
    /// Whether the last call was `release` (R11).
    released: bool,
}

/// A key that was pending for another, and for how long it may stay so (R21).
#[derive(Clone, Debug)]
pub(crate) struct Blocked {
    pub(crate) key: KeyId,
    pub(crate) expires_in: Duration,
}

impl Attempt {
    pub(crate) fn new(domain: &Arc<Inner>, context: Arc<CommandContext>, basis: Basis) -> Self {
        Self {
            token: Token::from_u128(domain.ids.next()),
            domain: Arc::clone(domain),
            context,
            request: None,
            basis,
            keys: Vec::new(),
            by_key: HashMap::default(),
            poison: None,
            blocked: None,
            same_request: false,
            calls: Vec::new(),
        }
    }

    pub(crate) async fn reserve(&mut self, namespace: Namespace, keys: &[&str]) -> Result<Vec<Reserved>, DecideError> {
        let registered = self.registered(namespace)?;
        let mut ids = Vec::with_capacity(keys.len());
        for key in keys {
            match namespace.key_id(key, &self.context.stream) {
                Ok(id) => ids.push(id),
                Err(error) => {
                    self.note(namespace, Text::from(*key), ScopeCallKind::ReserveFailed);
                    return Err(error.into());
                }
            }
        }
        let entries = self.enter_all(namespace, &registered, &ids).inspect_err(|error| {
            self.poison.get_or_insert(Poison::InvalidKey(error.clone()));
        })?;
        let mut open: Vec<usize> = entries.iter().copied().filter(|&entry| !self.is_answered_ours(entry)).collect();
        open.sort_unstable();
        open.dedup();
        if !open.is_empty() {
            self.ask(namespace, &registered, &open).await?;
        }
        let mut answers = Vec::with_capacity(entries.len());
        for entry in entries {
            let answer = self.keys[entry].answer.expect("every key asked for has an answer");
            self.keys[entry].released = false;
            self.note(namespace, self.keys[entry].key.key.clone(), ScopeCallKind::Reserve(answer));
            answers.push(answer);
        }
        if self.same_request {
            return Err(DecideError(Kind::Wait));
        }
        Ok(answers)
    }

    pub(crate) fn release(&mut self, namespace: Namespace, key: &str) {
        let Ok(registered) = self.registered(namespace) else { return };
        let Ok(key) = namespace.key_id(key, &self.context.stream) else { return };
        self.note(namespace, key.key.clone(), ScopeCallKind::Release);
        match self.enter_all(namespace, &registered, std::slice::from_ref(&key)) {
            Ok(entries) => self.keys[entries[0]].released = true,
            // A release can't fail; the append must not go on without it.
            Err(error) => self.poison_with(Poison::InvalidKey(error)),
        }
    }

    pub(crate) async fn holds(&mut self, namespace: Namespace, key: &str) -> Result<bool, DecideError> {
        self.registered(namespace)?;
        let key = namespace.key_id(key, &self.context.stream)?;
        let noted = key.key.clone();
        match self.domain.reservation(namespace, key).await {
            Ok(reading) => {
                let holds =
                    reading.record.is_some_and(|record| record.is_confirmed() && record.holder == self.context.stream);
                self.note(namespace, noted, ScopeCallKind::Holds(holds));
                Ok(holds)
            }
            Err(error) => Err(self.poisoned(error)),
        }
    }

    /// Sends a reserve, and asks again with the same token when its answer was lost (R5, U19).
    async fn ask(
        &mut self,
        namespace: Namespace,
        registered: &RegisteredNamespace,
        open: &[usize],
    ) -> Result<(), DecideError> {
        let pending = namespace.pending().unwrap_or(self.domain.settings.pending);
        let pending_ms = u64::try_from(pending.as_millis()).unwrap_or(u64::MAX);
        let CommandContext { stream, request_id, .. } = &*self.context;
        let request = *self.request.get_or_insert_with(|| request_hash(stream, request_id));
        let mut asked = 0;
        let reply = loop {
            asked += 1;
            let keys = open.iter().map(|&entry| ReserveKey {
                key: self.keys[entry].key.clone(),
                epoch: registered.epoch_in(&self.context.stream.aggregate.context),
                token: self.token,
                request,
                pending_ms,
            });
            let reserve = Reserve { holder: self.context.stream.clone(), keys: keys.collect() };
            for &entry in open {
                self.keys[entry].asked = true;
                self.keys[entry].answer = None;
            }
            match self.domain.store.reserve(reserve).await {
                Ok(reply) => break reply,
                Err(error) if asked < ASKED_AGAIN_MAX && (error.is_retryable() || !error.surely_not_done()) => {}
                Err(error) => {
                    for &entry in open {
                        self.note(namespace, self.keys[entry].key.key.clone(), ScopeCallKind::ReserveFailed);
                    }
                    return Err(self.poisoned(error));
                }
            }
        };
        self.take_answers(open, &reply);
        Ok(())
    }

    fn take_answers(&mut self, open: &[usize], reply: &ReserveReply) {
        for (&entry, &answer) in open.iter().zip(&reply.answers) {
            self.keys[entry].answer = Some(answer);
            if let Reserved::TakenPending { until, same_request } = answer {
                let expires_in = until.saturating_since(reply.now);
                self.same_request |= same_request;
                self.blocked = Some(Blocked { key: self.keys[entry].key.clone(), expires_in });
            }
        }
    }

    fn is_answered_ours(&self, entry: usize) -> bool {
        self.keys[entry].answer.is_some_and(Reserved::is_ours)
    }

    /// The entries of `keys`, made when they are new; none is when they would be too many (R17).
    fn enter_all(
        &mut self,
        namespace: Namespace,
        registered: &RegisteredNamespace,
        keys: &[KeyId],
    ) -> Result<Vec<usize>, InvalidKey> {
        let epoch = registered.epoch_in(&self.context.stream.aggregate.context);
        let before = self.keys.len();
        let mut entries = Vec::with_capacity(keys.len());
        for key in keys {
            let entry = self.find(key).unwrap_or_else(|| self.enter(key, epoch));
            entries.push(entry);
        }
        if self.keys.len() > KEYS_PER_DECISION_MAX {
            for entry in self.keys.drain(before..) {
                self.by_key.remove(&entry.key);
            }
            if self.keys.len() < FEW_KEYS {
                self.by_key.clear();
            }
            return Err(too_many_keys(namespace.name()));
        }
        Ok(entries)
    }

    fn find(&self, key: &KeyId) -> Option<usize> {
        if self.by_key.is_empty() {
            return self.keys.iter().position(|entry| entry.key == *key);
        }
        self.by_key.get(key).copied()
    }

    fn enter(&mut self, key: &KeyId, epoch: u64) -> usize {
        let entry = self.keys.len();
        self.keys.push(KeyEntry { key: key.clone(), epoch, asked: false, answer: None, released: false });
        if self.keys.len() == FEW_KEYS {
            self.by_key = self.keys.iter().enumerate().map(|(entry, known)| (known.key.clone(), entry)).collect();
        } else if self.keys.len() > FEW_KEYS {
            self.by_key.insert(key.clone(), entry);
        }
        entry
    }

    fn registered(&mut self, namespace: Namespace) -> Result<RegisteredNamespace, DecideError> {
        let found = self.domain.namespace(namespace, &self.context.stream.aggregate.context);
        found.map_err(|problem| {
            self.poison_with(Poison::Misconfigured(problem.clone()));
            DecideError(Kind::Misconfigured(problem))
        })
    }

    fn poisoned(&mut self, error: StoreError) -> DecideError {
        self.poison_with(Poison::Store(error.clone()));
        DecideError(Kind::Store(StoreFailure(error)))
    }

    fn poison_with(&mut self, poison: Poison) {
        self.poison.get_or_insert(poison);
    }

    fn note(&mut self, namespace: Namespace, key: Text, kind: ScopeCallKind) {
        if self.domain.observer.is_some() {
            self.calls.push(ScopeCall { namespace: namespace.name(), key, kind });
        }
    }

    /// What the append does with the keys (R4, R10, R11).
    pub(crate) fn claims(&self) -> Vec<KeyClaim> {
        let claim = |entry: &KeyEntry| {
            let key_use = match entry.answer {
                _ if entry.released => KeyUse::Release,
                Some(Reserved::Newly) => KeyUse::Take,
                Some(Reserved::AlreadyHeld) => KeyUse::Keep,
                _ => return None,
            };
            Some(KeyClaim { key: entry.key.clone(), epoch: entry.epoch, key_use })
        };
        self.keys.iter().filter_map(claim).collect()
    }

    /// The keys on which this attempt may have a lease.
    pub(crate) fn leased(&self) -> Vec<KeyId> {
        let may_have = |entry: &&KeyEntry| entry.asked && matches!(entry.answer, None | Some(Reserved::Newly));
        self.keys.iter().filter(may_have).map(|entry| entry.key.clone()).collect()
    }

    /// The store settles the attempt from here on: nothing is left to give up.
    pub(crate) fn handed_over(&mut self) {
        self.keys.clear();
        self.by_key.clear();
    }

    fn take_give_up(&mut self) -> Option<GiveUp> {
        let keys = self.leased();
        self.handed_over();
        let give_up = GiveUp { holder: self.context.stream.clone(), token: self.token, keys };
        (!give_up.keys.is_empty()).then_some(give_up)
    }

    /// Gives up what the attempt reserved, and waits until that is done (R5).
    ///
    /// A give-up that fails is harmless: the leases expire (R7).
    pub(crate) async fn give_up(&mut self) {
        let Some(give_up) = self.take_give_up() else { return };
        if let Err(error) = self.domain.store.give_up(give_up).await {
            tracing::warn!(code = error.code(), "reservations could not be given up; they will expire");
        }
    }

    pub(crate) fn token(&self) -> Token {
        self.token
    }

    pub(crate) fn context(&self) -> &Arc<CommandContext> {
        &self.context
    }

    pub(crate) fn domain(&self) -> &Arc<Inner> {
        &self.domain
    }

    pub(crate) const fn version(&self) -> u64 {
        self.basis.version
    }

    pub(crate) const fn exists(&self) -> bool {
        self.basis.exists
    }

    pub(crate) const fn is_deleted(&self) -> bool {
        self.basis.deleted
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.domain.clock.now()
    }

    /// Why the attempt can't commit: a call failed, or was dropped before it was answered, so that nobody knows what is
    /// reserved (R2).
    pub(crate) fn poison(&self) -> Option<Poison> {
        let dropped = || {
            let unanswered = self.keys.iter().any(|entry| entry.asked && entry.answer.is_none());
            unanswered.then(|| Poison::Misconfigured(DROPPED.to_owned()))
        };
        self.poison.clone().or_else(dropped)
    }

    pub(crate) const fn met_same_request(&self) -> bool {
        self.same_request
    }

    pub(crate) fn blocked(&self) -> Option<&Blocked> {
        self.blocked.as_ref()
    }

    pub(crate) fn calls(&self) -> &[ScopeCall] {
        &self.calls
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(give_up) = self.take_give_up() {
            // Handed over by the call itself; nobody waits for the answer.
            drop(self.domain.store.give_up(give_up));
        }
    }
}
