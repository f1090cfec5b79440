//! The obviously right model of a store's reservations and versions: plain maps and plain rules, one thread, no I/O.
//!
//! Written from the rules' text and not from `freehold::reservation::lifecycle`, so that a mistake there does not stand
//! here as well. The simulation compares every answer of a store with it.

use freehold::reservation::lifecycle::KeyUse;
use freehold::reservation::{KeyId, RequestHash, Reserved};
use freehold::{StreamId, Timestamp, Token};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What the model knows of one key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelKey {
    /// Who holds it, confirmed.
    pub held_by: Option<StreamId>,
    /// Who claims it, under which token and request, and until when.
    pub claims: Vec<(StreamId, Token, RequestHash, Timestamp)>,
}

impl ModelKey {
    /// Whether another than `me` claims it at `now`, and until when. At its end a claim has ended (R7).
    fn claimed_by_another(&self, me: &StreamId, now: Timestamp) -> Option<(Timestamp, Vec<RequestHash>)> {
        let others = self.claims.iter().filter(|(who, .., until)| who != me && now < *until);
        let requests: Vec<RequestHash> = others.clone().map(|(_, _, request, _)| *request).collect();
        others.map(|(.., until)| *until).max().map(|until| (until, requests))
    }
}

/// What became of an append, in the model's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelAppend {
    /// It is written.
    Written,
    /// It was settled as not written before.
    Fenced,
    /// Its request has a commit.
    Replay,
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
    pub request: String,
    /// Its keys.
    pub keys: Vec<(KeyId, KeyUse)>,
}

/// The model.
#[derive(Debug, Clone)]
pub struct Model {
    /// The present.
    pub now: Timestamp,
    keys: BTreeMap<KeyId, ModelKey>,
    streams: BTreeMap<StreamId, Vec<Token>>,
    requests: BTreeSet<String>,
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
            requests: BTreeSet::new(),
            settled: BTreeSet::new(),
        }
    }

    /// Time passes.
    pub fn advance(&mut self, duration: Duration) {
        self.now = self.now + duration;
    }

    /// What is known of `key`.
    #[must_use]
    pub fn key(&self, key: &KeyId) -> ModelKey {
        self.keys.get(key).cloned().unwrap_or_default()
    }

    /// Whether `key` has a live claim or a holder.
    #[must_use]
    pub fn is_taken(&self, key: &KeyId) -> bool {
        let key = self.key(key);
        key.held_by.is_some() || key.claims.iter().any(|(.., until)| self.now < *until)
    }

    /// The version of `stream`.
    #[must_use]
    pub fn version(&self, stream: &StreamId) -> u64 {
        self.streams.get(stream).map_or(0, |commits| commits.len() as u64)
    }

    /// The tokens of the commits of `stream`, in order.
    #[must_use]
    pub fn commits(&self, stream: &StreamId) -> &[Token] {
        self.streams.get(stream).map_or(&[], Vec::as_slice)
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
        key.claims.retain(|(who, other, _, until)| who == me && *other != token && now < *until);
        key.claims.push((me.clone(), token, request, now + pending));
        Reserved::Newly
    }

    /// R5.
    pub fn give_up(&mut self, me: &StreamId, token: Token, keys: &[KeyId]) {
        for key in keys {
            if let Some(key) = self.keys.get_mut(key) {
                key.claims.retain(|(who, other, ..)| (who, *other) != (me, token));
            }
        }
    }

    /// R4, R8, R10, C4.
    pub fn append(&mut self, commit: &ModelCommit) -> ModelAppend {
        let verdict = self.verdict(commit);
        if verdict != ModelAppend::Written {
            let keys: Vec<KeyId> = commit.keys.iter().map(|(key, _)| key.clone()).collect();
            self.give_up(&commit.stream, commit.token, &keys);
            return verdict;
        }
        for (key, key_use) in &commit.keys {
            let entry = self.keys.entry(key.clone()).or_default();
            match key_use {
                KeyUse::Take => *entry = ModelKey { held_by: Some(commit.stream.clone()), claims: Vec::new() },
                KeyUse::Keep => {}
                KeyUse::Release if entry.held_by.as_ref() == Some(&commit.stream) => *entry = ModelKey::default(),
                KeyUse::Release => {
                    entry.claims.retain(|(who, token, ..)| (who, *token) != (&commit.stream, commit.token));
                }
            }
        }
        self.streams.entry(commit.stream.clone()).or_default().push(commit.token);
        self.requests.insert(commit.request.clone());
        ModelAppend::Written
    }

    fn verdict(&self, commit: &ModelCommit) -> ModelAppend {
        if self.settled.contains(&commit.token) {
            return ModelAppend::Fenced;
        }
        if self.requests.contains(&commit.request) {
            return ModelAppend::Replay;
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
