//! A world in which a schedule is run: deciders, the store under test, and the model beside it.

use super::Simulation;
use super::schedule::{Action, PENDING_MS, Step};
use crate::conformance::Subject;
use crate::model::{Model, ModelAppend, ModelCommit};
use freehold::reservation::lifecycle::KeyUse;
use freehold::reservation::{KeyId, RecordState, RequestHash, Reserved};
use freehold::store::{
    Append, AppendReply, CommitKind, Fingerprint, GiveUp, KeyClaim, Load, NamespaceRecord, Refusal, RequestKey,
    Reserve, ReserveKey, Settle, Settled,
};
use freehold::{AggregateType, RequestId, Store, StoreError, StreamId, Tenancy, Text, Timestamp, Token};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Numbers the worlds of this process, so that each has a context and tokens of its own.
static WORLDS: AtomicU64 = AtomicU64::new(1);

pub(super) struct World<'s> {
    subject: &'s Subject,
    store: Arc<dyn Store>,
    model: Model,
    context: Text,
    keys: u8,
    deciders: Vec<Decider>,
    number: u64,
    attempts: u64,
}

#[derive(Clone)]
struct Decider {
    stream: StreamId,
    token: Token,
    version: u64,
    /// What the append would do with each key, by the last call on it (R11).
    uses: BTreeMap<KeyId, KeyUse>,
    /// Keys with a lease of this attempt.
    leased: Vec<KeyId>,
    held_back: Option<Append>,
}

type Outcome = Result<(), String>;

impl<'s> World<'s> {
    pub(super) async fn run(simulation: &Simulation, subject: &'s Subject, schedule: &[Step]) -> Outcome {
        let mut world = Self::new(simulation, subject).await.map_err(|error| error.to_string())?;
        for (number, step) in schedule.iter().enumerate() {
            let done = world.step(step).await;
            done.map_err(|what| format!("at step {} ({step}): {what}", number + 1))?;
        }
        world.audit().await.map_err(|what| format!("at the end: {what}"))
    }

    async fn new(simulation: &Simulation, subject: &'s Subject) -> Result<World<'s>, StoreError> {
        let number = WORLDS.fetch_add(1, Ordering::Relaxed);
        let context = Text::from(format!("sim-{number}"));
        let store = Arc::clone(subject.store());
        let namespace = NamespaceRecord {
            context: context.clone(),
            name: Text::from_static("sim"),
            tenancy: Tenancy::Tenant,
            normalizer: Text::from_static("verbatim@1"),
        };
        store.register(vec![namespace]).await?;
        let now = store.reserve(Reserve { holder: stream(&context, 0), keys: Vec::new() }).await?.now;
        let mut world = Self {
            subject,
            store,
            model: Model::new(now),
            context,
            keys: simulation.keys,
            deciders: vec![],
            number,
            attempts: 0,
        };
        for decider in 0..simulation.deciders {
            let stream = stream(&world.context, decider % simulation.aggregates.max(1));
            let decider = world.attempt(stream, 0);
            world.deciders.push(decider);
        }
        Ok(world)
    }

    fn attempt(&mut self, stream: StreamId, version: u64) -> Decider {
        self.attempts += 1;
        let token = Token::from_u128((u128::from(self.number) << 64) | u128::from(self.attempts));
        Decider { stream, token, version, uses: BTreeMap::new(), leased: Vec::new(), held_back: None }
    }

    fn key(&self, number: u8) -> KeyId {
        KeyId {
            key: Text::from(format!("key-{number}")),
            namespace: Text::from_static("sim"),
            scope: Text::from_static("tenant"),
            context: self.context.clone(),
        }
    }

    async fn step(&mut self, step: &Step) -> Outcome {
        let who = usize::from(step.decider);
        match step.action {
            Action::Reserve(key) => self.reserve(who, vec![self.key(key)]).await,
            Action::ReserveTwo(one, other) if one == other => self.reserve(who, vec![self.key(one)]).await,
            Action::ReserveTwo(one, other) => self.reserve(who, vec![self.key(one), self.key(other)]).await,
            Action::Release(key) => {
                let key = self.key(key);
                self.deciders[who].uses.insert(key, KeyUse::Release);
                Ok(())
            }
            Action::Append => self.append(who).await,
            Action::AppendTwice => {
                let append = self.append_of(who);
                self.send_append(append.clone()).await?;
                self.send_append(append).await?;
                self.start_anew(who);
                Ok(())
            }
            Action::SettleBeforeItArrives => self.settle(who).await,
            Action::Arrives => match self.deciders[who].held_back.take() {
                Some(append) => self.send_append(append).await,
                None => Ok(()),
            },
            Action::GiveUp => self.give_up(who).await,
            Action::Die => {
                self.start_anew(who);
                Ok(())
            }
            Action::StayStale => {
                let Decider { stream, version, .. } = self.deciders[who].clone();
                self.deciders[who] = self.attempt(stream, version);
                Ok(())
            }
            Action::Wait(millis) => {
                let duration = Duration::from_millis(u64::from(millis));
                self.subject.advance(duration);
                self.model.advance(duration);
                Ok(())
            }
            Action::Sweep => self.store.sweep().await.map(drop).map_err(|error| error.to_string()),
            Action::Reopen => {
                self.store = self.subject.reopened().await;
                Ok(())
            }
        }
    }

    fn start_anew(&mut self, who: usize) {
        let Decider { stream, held_back, .. } = self.deciders[who].clone();
        let version = self.model.version(&stream);
        self.deciders[who] = Decider { held_back, ..self.attempt(stream, version) };
    }

    async fn reserve(&mut self, who: usize, keys: Vec<KeyId>) -> Outcome {
        let Decider { stream, token, .. } = self.deciders[who].clone();
        let request = RequestHash(u64::try_from(token.as_u128() & u128::from(u64::MAX)).unwrap_or_default());
        let asked =
            |key: &KeyId| ReserveKey { key: key.clone(), epoch: 1, token, request, pending_ms: u64::from(PENDING_MS) };
        let reserve = Reserve { holder: stream.clone(), keys: keys.iter().map(asked).collect() };
        let reply = self.store.reserve(reserve).await.map_err(|error| error.to_string())?;
        agree("the store's clock", &reply.now, &self.model.now)?;
        for (key, answer) in keys.iter().zip(reply.answers) {
            let pending = Duration::from_millis(u64::from(PENDING_MS));
            let expected = self.model.reserve(&stream, key, (token, request), pending);
            agree("the answer to reserve", &answer, &expected)?;
            let decider = &mut self.deciders[who];
            match answer {
                Reserved::Newly => {
                    decider.uses.insert(key.clone(), KeyUse::Take);
                    decider.leased.push(key.clone());
                }
                Reserved::AlreadyHeld => drop(decider.uses.insert(key.clone(), KeyUse::Keep)),
                Reserved::TakenHeld | Reserved::TakenPending { .. } => drop(decider.uses.remove(key)),
            }
        }
        Ok(())
    }

    fn append_of(&self, who: usize) -> Append {
        let decider = &self.deciders[who];
        let claim = |(key, key_use): (&KeyId, &KeyUse)| KeyClaim { key: key.clone(), epoch: 1, key_use: *key_use };
        Append {
            stream: decider.stream.clone(),
            expected_version: decider.version,
            kind: CommitKind::Command,
            command: Text::from_static("sim"),
            request: RequestKey {
                id: RequestId::from_stored(Text::from(decider.token.to_string())),
                fingerprint: Fingerprint([0; 32]),
            },
            token: decider.token,
            events: Vec::new(),
            keys: decider.uses.iter().map(claim).collect(),
            metadata: None,
        }
    }

    async fn append(&mut self, who: usize) -> Outcome {
        self.send_append(self.append_of(who)).await?;
        self.start_anew(who);
        Ok(())
    }

    async fn send_append(&mut self, append: Append) -> Outcome {
        let expected = self.model.append(&ModelCommit {
            stream: append.stream.clone(),
            expected_version: append.expected_version,
            token: append.token,
            request: append.request.id.as_str().to_owned(),
            keys: append.keys.iter().map(|claim| (claim.key.clone(), claim.key_use)).collect(),
        });
        let reply = self.store.append(append).await.map_err(|error| error.to_string())?;
        let answer = match reply {
            AppendReply::Written(_) => ModelAppend::Written,
            AppendReply::Refused(Refusal::Fenced) => ModelAppend::Fenced,
            AppendReply::Refused(Refusal::Replay(_)) => ModelAppend::Replay,
            AppendReply::Refused(Refusal::Conflict) => ModelAppend::Conflict,
            AppendReply::Refused(Refusal::KeyLost) => ModelAppend::KeyLost,
        };
        agree("the answer to append", &answer, &expected)
    }

    async fn settle(&mut self, who: usize) -> Outcome {
        let append = self.append_of(who);
        let Decider { stream, token, leased, .. } = self.deciders[who].clone();
        let version = append.expected_version + 1;
        let settle = Settle { stream: stream.clone(), version, token, keys: leased.clone() };
        let settled = self.store.settle(settle).await.map_err(|error| error.to_string())?;
        let expected = self.model.settle(&stream, version, token, &leased);
        agree("what was settled", &matches!(settled, Settled::Written(_)), &expected)?;
        self.start_anew(who);
        self.deciders[who].held_back = Some(append);
        Ok(())
    }

    async fn give_up(&mut self, who: usize) -> Outcome {
        let Decider { stream, token, leased, .. } = self.deciders[who].clone();
        self.model.give_up(&stream, token, &leased);
        let give_up = GiveUp { holder: stream, token, keys: leased };
        self.store.give_up(give_up).await.map_err(|error| error.to_string())?;
        self.start_anew(who);
        Ok(())
    }

    /// Compares what is stored, key by key and stream by stream, and the registry with the log (R20).
    async fn audit(&self) -> Outcome {
        let mut from_log: BTreeMap<KeyId, StreamId> = BTreeMap::new();
        let streams: std::collections::BTreeSet<_> = self.deciders.iter().map(|decider| &decider.stream).collect();
        let mut commits = Vec::new();
        for stream in streams {
            let load = Load { stream: stream.clone(), after_version: 0, snapshot_of: None };
            let loaded = self.store.load(load).await.map_err(|error| error.to_string())?;
            let tokens: Vec<Token> = loaded.commits.iter().map(|commit| commit.token).collect();
            agree("the commits of a stream", &&*tokens, &self.model.commits(stream))?;
            commits.extend(loaded.commits);
        }
        commits.sort_by_key(|commit| commit.position);
        for commit in commits {
            for change in &commit.keys {
                let key = KeyId { key: change.key.clone(), ..self.key(0) };
                match change.taken {
                    true => drop(from_log.insert(key, commit.stream.clone())),
                    false => {
                        agree("who frees a key, by the log", &from_log.remove(&key), &Some(commit.stream.clone()))?;
                    }
                }
            }
        }
        for number in 0..self.keys {
            let key = self.key(number);
            let record = self.store.reservation(key.clone()).await.map_err(|error| error.to_string())?;
            let expected = self.model.key(&key);
            let held_by = record.as_ref().filter(|record| record.is_confirmed()).map(|record| record.holder.clone());
            agree("the holder of a key", &held_by, &expected.held_by)?;
            agree("the holder by the log (R20)", &from_log.get(&key), &held_by.as_ref())?;
            let live = record.as_ref().is_some_and(|record| record.is_live(self.model.now));
            agree("whether a key is taken", &live, &self.model.is_taken(&key))?;
            let leases = record.map_or(0, |record| live_leases(&record.state, self.model.now));
            let claims = expected.claims.iter().filter(|(.., until)| self.model.now < *until).count();
            agree("the live leases of a key", &leases, &claims)?;
        }
        Ok(())
    }
}

fn live_leases(state: &RecordState, now: Timestamp) -> usize {
    match state {
        RecordState::Pending(leases) => leases.iter().filter(|lease| lease.is_live(now)).count(),
        RecordState::Confirmed(_) => 0,
    }
}

fn stream(context: &Text, number: u8) -> StreamId {
    StreamId {
        aggregate: AggregateType { context: context.clone(), name: Text::from_static("sim") },
        tenant: Text::from_static("tenant"),
        id: Text::from(format!("aggregate-{number}")),
    }
}

fn agree<T: PartialEq + std::fmt::Debug>(what: &str, store: &T, model: &T) -> Outcome {
    if store == model {
        return Ok(());
    }
    Err(format!("{what}: the store says {store:?}, the model {model:?}"))
}
