//! The obviously right model of a store's reservations, versions and requests: plain maps and plain rules, no I/O.
//!
//! Written from the rules' text and not from `freehold::reservation::lifecycle`, so that a mistake there does not stand
//! here as well. The simulation compares every answer of a store with it. Its requests are of one aggregate type and
//! tenant.

use freehold::reservation::lifecycle::KeyUse;
use freehold::reservation::{KeyId, RequestHash, Reserved};
use freehold::{RequestId, StreamId, Timestamp, Token};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What the model knows of one key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelKey {
    /// Who holds it, confirmed.
    pub held_by: Option<StreamId>,
    /// Who claims it, by attempt.
    pub claims: BTreeMap<Token, ModelClaim>,
}

/// What an attempt claims a key with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelClaim {
    /// Whose attempt it is.
    pub who: StreamId,
    /// Under which request.
    pub request: RequestHash,
    /// Until when. At its end a claim has ended (R7).
    pub until: Timestamp,
}

impl ModelKey {
    /// How many claims stand at `now`.
    #[must_use]
    pub fn live_claims(&self, now: Timestamp) -> usize {
        self.claims.values().filter(|claim| now < claim.until).count()
    }

    /// Whether another than `me` claims it at `now`: until when, and under which requests.
    fn claimed_by_another(&self, me: &StreamId, now: Timestamp) -> Option<(Timestamp, Vec<RequestHash>)> {
        let others: Vec<&ModelClaim> =
            self.claims.values().filter(|claim| claim.who != *me && now < claim.until).collect();
        let until = others.iter().map(|claim| claim.until).max()?;
        Some((until, others.iter().map(|claim| claim.request).collect()))
    }
}

/// What became of an append, in the model's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelAppend {
    /// It is written.
    Written,
    /// It was settled as not written before, or its sender does not know this mark of its request; 0 for none.
    Fenced {
        /// The mark.
        mark: u64,
    },
    /// Its request has a commit: this attempt's.
    Replay(Token),
    /// The stream has another version.
    Conflict,
    /// A key is another's.
    KeyLost,
}

/// An append, as far as the model cares.
#[derive(Debug, Clone)]
pub struct ModelCommit {
    /// The stream.
    pub stream: StreamId,
    /// The version it expects.
    pub expected_version: u64,
    /// Its token.
    pub token: Token,
    /// Its request.
    pub request: RequestId,
    /// The newest mark of the request that its sender knows.
    pub mark: u64,
    /// Its keys.
    pub keys: Vec<(KeyId, KeyUse)>,
}

/// What a check finds, in the model's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCheck {
    /// The stream's version.
    pub version: u64,
    /// The attempt that wrote the request's commit.
    pub first: Option<Token>,
    /// The mark above which a new one has to be left; none when none may be.
    pub marks_above: Option<u64>,
}

/// The model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// The present.
    pub now: Timestamp,
    keys: BTreeMap<KeyId, ModelKey>,
    streams: BTreeMap<StreamId, Vec<Token>>,
    requests: BTreeMap<RequestId, Token>,
    marks: BTreeMap<RequestId, u64>,
    settled: BTreeSet<Token>,
}

impl Model {
    /// Nothing reserved, nothing written.
    #[must_use]
    pub const fn new(now: Timestamp) -> Self {
        Self {
            now,
            keys: BTreeMap::new(),
            streams: BTreeMap::new(),
            requests: BTreeMap::new(),
            marks: BTreeMap::new(),
            settled: BTreeSet::new(),
        }
    }

    /// Time passes.
    pub fn advance(&mut self, duration: Duration) {
        self.now = self.now + duration;
    }

    /// Forgets claims that have ended, and keys without any: they mean nothing (R7), and make equal models differ.
    pub fn forget_what_has_ended(&mut self) {
        let now = self.now;
        self.keys.retain(|_, key| {
            key.claims.retain(|_, claim| now < claim.until);
            key.held_by.is_some() || !key.claims.is_empty()
        });
    }

    /// What is known of `key`.
    #[must_use]
    pub fn key(&self, key: &KeyId) -> ModelKey {
        self.keys.get(key).cloned().unwrap_or_default()
    }

    /// The version of `stream`.
    #[must_use]
    pub fn version(&self, stream: &StreamId) -> u64 {
        self.commits(stream).len() as u64
    }

    /// The tokens of the commits of `stream`, in order.
    #[must_use]
    pub fn commits(&self, stream: &StreamId) -> &[Token] {
        self.streams.get(stream).map_or(&[], Vec::as_slice)
    }

    /// C1, C4. The store numbers the marks: whoever compares tells the number with [`leave_mark`](Self::leave_mark).
    #[must_use]
    pub fn check(&self, stream: &StreamId, request: Option<&RequestId>) -> ModelCheck {
        let first = request.and_then(|request| self.requests.get(request)).copied();
        let marked = request.filter(|_| first.is_none());
        ModelCheck { version: self.version(stream), first, marks_above: marked.map(|request| self.mark(request)) }
    }

    /// C4: from here on an append of `request` has to know `mark`.
    pub fn leave_mark(&mut self, request: &RequestId, mark: u64) {
        self.marks.insert(request.clone(), mark);
    }

    fn mark(&self, request: &RequestId) -> u64 {
        self.marks.get(request).copied().unwrap_or_default()
    }

    /// R1, R3.
    pub fn reserve(
        &mut self,
        me: &StreamId,
        key: &KeyId,
        (token, request): (Token, RequestHash),
        pending: Duration,
    ) -> Reserved {
        let (now, key) = (self.now, self.keys.entry(key.clone()).or_default());
        match &key.held_by {
            Some(holder) if holder == me => return Reserved::AlreadyHeld,
            Some(_) => return Reserved::TakenHeld,
            None => {}
        }
        if let Some((until, requests)) = key.claimed_by_another(me, now) {
            return Reserved::TakenPending { until, same_request: requests.contains(&request) };
        }
        key.claims.retain(|_, claim| claim.who == *me && now < claim.until);
        key.claims.insert(token, ModelClaim { who: me.clone(), request, until: now + pending });
        Reserved::Newly
    }

    /// R5.
    pub fn give_up<'k>(&mut self, me: &StreamId, token: Token, keys: impl IntoIterator<Item = &'k KeyId>) {
        for key in keys {
            if let Some(key) = self.keys.get_mut(key) {
                key.claims.retain(|other, claim| claim.who != *me || *other != token);
            }
        }
    }

    /// R4, R8, R10, C4.
    pub fn append(&mut self, commit: &ModelCommit) -> ModelAppend {
        let verdict = self.verdict(commit);
        if verdict != ModelAppend::Written {
            self.give_up(&commit.stream, commit.token, commit.keys.iter().map(|(key, _)| key));
            return verdict;
        }
        for (key, key_use) in &commit.keys {
            let entry = self.keys.entry(key.clone()).or_default();
            match key_use {
                KeyUse::Take => *entry = ModelKey { held_by: Some(commit.stream.clone()), ..ModelKey::default() },
                KeyUse::Keep => {}
                KeyUse::Release if entry.held_by.as_ref() == Some(&commit.stream) => *entry = ModelKey::default(),
                KeyUse::Release => self.give_up(&commit.stream, commit.token, [key]),
            }
        }
        self.streams.entry(commit.stream.clone()).or_default().push(commit.token);
        self.requests.insert(commit.request.clone(), commit.token);
        ModelAppend::Written
    }

    fn verdict(&self, commit: &ModelCommit) -> ModelAppend {
        let mark = self.mark(&commit.request);
        if mark > commit.mark || self.settled.contains(&commit.token) {
            return ModelAppend::Fenced { mark };
        }
        if let Some(first) = self.requests.get(&commit.request) {
            return ModelAppend::Replay(*first);
        }
        if self.version(&commit.stream) != commit.expected_version {
            return ModelAppend::Conflict;
        }
        let lost = |(key, key_use): &(KeyId, KeyUse)| {
            let key = self.key(key);
            let mine = key.held_by.as_ref() == Some(&commit.stream);
            match key_use {
                KeyUse::Release => false,
                KeyUse::Keep => !mine,
                KeyUse::Take if mine => false,
                KeyUse::Take => key.held_by.is_some() || key.claimed_by_another(&commit.stream, self.now).is_some(),
            }
        };
        if commit.keys.iter().any(lost) { ModelAppend::KeyLost } else { ModelAppend::Written }
    }

    /// R9: whether the append is written; if not, it never will be.
    pub fn settle(&mut self, stream: &StreamId, version: u64, token: Token, keys: &[KeyId]) -> bool {
        let index = usize::try_from(version.saturating_sub(1)).unwrap_or(usize::MAX);
        if self.commits(stream).get(index) == Some(&token) {
            return true;
        }
        self.settled.insert(token);
        self.give_up(stream, token, keys);
        false
    }
}
