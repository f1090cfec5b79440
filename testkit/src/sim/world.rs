//! A world in which a schedule is run: deciders, the store under test, and the judge beside it.

use super::Simulation;
use super::audit::audit;
use super::call::{Answer, Call, fly};
use super::judge::{Exchange, Judge, Verdict};
use super::schedule::{Action, Move, PENDING_MS, Step};
use crate::conformance::Subject;
use freehold::reservation::lifecycle::KeyUse;
use freehold::reservation::{KeyId, RequestHash, Reserved};
use freehold::store::{
    Append, AppendReply, Check, CommitKind, Fingerprint, GiveUp, KeyClaim, NamespaceRecord, Refusal, RequestKey,
    Reserve, ReserveKey, Settle,
};
use freehold::{AggregateType, RequestId, Store, StoreError, StreamId, Tenancy, Text, Token};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Numbers the worlds of this process, so that each has a context and tokens of its own.
static WORLDS: AtomicU64 = AtomicU64::new(1);

pub(super) struct World<'s> {
    subject: &'s Subject,
    store: Arc<dyn Store>,
    judge: Judge,
    keys: Vec<KeyId>,
    deciders: Vec<Decider>,
    number: u64,
    attempts: u64,
}

struct Decider {
    stream: StreamId,
    token: Token,
    version: u64,
    request: RequestId,
    /// The newest mark of its request that it knows of.
    mark: u64,
    /// What the append would do with each key, by the last call on it (R11).
    uses: BTreeMap<KeyId, KeyUse>,
    /// Keys with a lease of this attempt.
    leased: Vec<KeyId>,
    held_back: Option<Append>,
}

impl<'s> World<'s> {
    pub(super) async fn run(simulation: &Simulation, subject: &'s Subject, schedule: &[Step]) -> Verdict {
        let mut world = Self::new(simulation, subject).await.map_err(|error| error.to_string())?;
        for (number, step) in schedule.iter().enumerate() {
            let done = world.step(step).await;
            done.map_err(|what| format!("at step {} ({step}): {what}", number + 1))?;
        }
        let streams = world.deciders.iter().map(|decider| &decider.stream);
        let audited = audit(&*world.store, &mut world.judge, &world.keys, streams).await;
        audited.map_err(|what| format!("at the end: {what}"))
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
        let key = |number: u8| KeyId {
            key: Text::from(format!("key-{number}")),
            namespace: Text::from_static("sim"),
            scope: Text::from_static("tenant"),
            context: context.clone(),
        };
        let keys = (0..simulation.keys).map(key).collect();
        let mut world = Self { subject, store, judge: Judge::new(now), keys, deciders: vec![], number, attempts: 0 };
        for decider in 0..simulation.deciders {
            let decider = world.attempt(stream(&context, decider % simulation.aggregates.max(1)), 0);
            world.deciders.push(decider);
        }
        Ok(world)
    }

    /// A fresh attempt, under a request of its own.
    fn attempt(&mut self, stream: StreamId, version: u64) -> Decider {
        self.attempts += 1;
        let token = Token::from_u128((u128::from(self.number) << 64) | u128::from(self.attempts));
        let request = RequestId::from_stored(Text::from(format!("own-{}", self.attempts)));
        let (uses, leased, held_back) = Default::default();
        Decider { stream, token, version, request, mark: 0, uses, leased, held_back }
    }

    async fn step(&mut self, step: &Step) -> Verdict {
        match *step.moves.as_slice() {
            [one @ Move { decider, action: Action::AppendTwice | Action::AppendAndSettle }] => {
                let append = Call::Append(self.append_of(usize::from(decider)));
                let again = if one.action == Action::AppendTwice { append.clone() } else { self.settle_of(decider) };
                let heard = self.fly(vec![(one, append)], step.turns).await?;
                self.fly(vec![(one, again)], step.turns).await?;
                heard.into_iter().for_each(|exchange| self.go_on(exchange));
            }
            [one] if self.alone(one).await => {}
            _ => {
                let calls = step.moves.iter().filter_map(|&one| Some((one, self.call(one)?))).collect();
                let heard = self.fly(calls, step.turns).await?;
                heard.into_iter().for_each(|exchange| self.go_on(exchange));
            }
        }
        Ok(())
    }

    /// What needs no answer of the store: whether the move was of that kind.
    async fn alone(&mut self, Move { decider, action }: Move) -> bool {
        let who = usize::from(decider);
        match action {
            Action::Release(key) => {
                let key = self.keys[usize::from(key)].clone();
                self.deciders[who].uses.insert(key, KeyUse::Release);
            }
            Action::DieAppending => {
                let (append, request) = (self.append_of(who), self.deciders[who].request.clone());
                self.start_anew(who);
                (self.deciders[who].held_back, self.deciders[who].request) = (Some(append), request);
            }
            Action::Die => self.start_anew(who),
            Action::TakeUp(number) => {
                self.start_anew(who);
                self.deciders[who].request = RequestId::from_stored(Text::from(format!("shared-{number}")));
            }
            Action::StayStale => self.attempt_again(who, self.deciders[who].version),
            Action::Wait(millis) => {
                let duration = Duration::from_millis(u64::from(millis));
                self.subject.advance(duration);
                self.judge.advance(duration);
            }
            Action::Reopen => self.store = self.subject.reopened().await,
            _ => return false,
        }
        true
    }

    fn start_anew(&mut self, who: usize) {
        self.attempt_again(who, self.judge.version(&self.deciders[who].stream));
    }

    /// A fresh attempt of the decider. What is held back of the one before stays on its way.
    fn attempt_again(&mut self, who: usize, version: u64) {
        let next = self.attempt(self.deciders[who].stream.clone(), version);
        let before = std::mem::replace(&mut self.deciders[who], next);
        self.deciders[who].held_back = before.held_back;
    }

    /// Decides the same request once more, knowing `mark`.
    fn decide_again(&mut self, who: usize, mark: u64) {
        let (request, known) = (self.deciders[who].request.clone(), self.deciders[who].mark);
        self.start_anew(who);
        (self.deciders[who].request, self.deciders[who].mark) = (request, known.max(mark));
    }

    /// The call that a move makes; none when there is nothing to call for.
    fn call(&self, Move { decider, action }: Move) -> Option<Call> {
        let who = usize::from(decider);
        let Decider { stream, token, request, leased, held_back, .. } = &self.deciders[who];
        let check = |request| Call::Check(Check { stream: stream.clone(), request });
        Some(match action {
            Action::Reserve(key) => Call::Reserve(self.reserve_of(who, &[key])),
            Action::ReserveTwo(one, other) => Call::Reserve(self.reserve_of(who, &[one, other])),
            Action::Append => Call::Append(self.append_of(who)),
            Action::Arrives => Call::Append(held_back.clone()?),
            Action::SettleBeforeItArrives => self.settle_of(decider),
            Action::Check => check(None),
            Action::CheckRequest => check(Some(request.clone())),
            Action::GiveUp => Call::GiveUp(GiveUp { holder: stream.clone(), token: *token, keys: leased.clone() }),
            Action::Sweep => Call::Sweep,
            _ => return None,
        })
    }

    fn reserve_of(&self, who: usize, keys: &[u8]) -> Reserve {
        let Decider { stream, token, request, .. } = &self.deciders[who];
        let request = hash(request);
        let asked = |key: &u8| ReserveKey {
            key: self.keys[usize::from(*key)].clone(),
            epoch: 1,
            token: *token,
            request,
            pending_ms: u64::from(PENDING_MS),
        };
        Reserve { holder: stream.clone(), keys: keys.iter().map(asked).collect() }
    }

    fn append_of(&self, who: usize) -> Append {
        let decider = &self.deciders[who];
        let claim = |(key, key_use): (&KeyId, &KeyUse)| KeyClaim { key: key.clone(), epoch: 1, key_use: *key_use };
        Append {
            stream: decider.stream.clone(),
            expected_version: decider.version,
            kind: CommitKind::Command,
            command: Text::from_static("sim"),
            request: RequestKey { id: decider.request.clone(), fingerprint: Fingerprint([0; 32]) },
            token: decider.token,
            mark: decider.mark,
            events: Vec::new(),
            keys: decider.uses.iter().map(claim).collect(),
            metadata: None,
        }
    }

    fn settle_of(&self, decider: u8) -> Call {
        let Decider { stream, token, version, request, leased, .. } = &self.deciders[usize::from(decider)];
        Call::Settle(Settle {
            stream: stream.clone(),
            version: version + 1,
            request: request.clone(),
            token: *token,
            keys: leased.clone(),
        })
    }

    /// Makes calls that are in flight at once, and has the answers judged.
    async fn fly(&mut self, calls: Vec<(Move, Call)>, turns: u64) -> Result<Vec<Exchange>, String> {
        let (moves, calls): (Vec<Move>, Vec<Call>) = calls.into_iter().unzip();
        let answers = fly(&*self.store, &calls, turns).await.map_err(|error| error.to_string())?;
        let exchange = |((by, call), answer): ((Move, Call), Answer)| Exchange { by, call, answer };
        let exchanges: Vec<Exchange> = moves.into_iter().zip(calls).zip(answers).map(exchange).collect();
        self.judge.hear(&exchanges)?;
        Ok(exchanges)
    }

    /// Lets the decider go on from the answer.
    fn go_on(&mut self, Exchange { by: Move { decider, action }, call, answer }: Exchange) {
        let who = usize::from(decider);
        match (action, call, answer) {
            (Action::Arrives, ..) => self.deciders[who].held_back = None,
            (_, Call::Reserve(reserve), Answer::Reserved(reply)) => {
                for (asked, answer) in reserve.keys.into_iter().zip(reply.answers) {
                    self.was_reserved(who, asked.key, answer);
                }
            }
            (Action::AppendTwice | Action::AppendAndSettle, ..) => self.decide_again(who, 0),
            (_, Call::Append(_), Answer::Appended(reply)) => match reply {
                AppendReply::Written(_) | AppendReply::Refused(Refusal::Replay(_)) => self.start_anew(who),
                AppendReply::Refused(Refusal::Fenced { mark }) => self.decide_again(who, mark),
                AppendReply::Refused(Refusal::Conflict | Refusal::KeyLost) => self.decide_again(who, 0),
            },
            (_, Call::Settle(_), _) => {
                let append = self.append_of(who);
                self.start_anew(who);
                self.deciders[who].held_back = Some(append);
            }
            (_, Call::GiveUp(_), _) => self.start_anew(who),
            (Action::CheckRequest, _, Answer::Checked(found)) => match found.first {
                Some(_) => self.start_anew(who),
                None => self.deciders[who].mark = found.mark,
            },
            _ => {}
        }
    }

    fn was_reserved(&mut self, who: usize, key: KeyId, answer: Reserved) {
        let decider = &mut self.deciders[who];
        match answer {
            Reserved::Newly => {
                decider.uses.insert(key.clone(), KeyUse::Take);
                decider.leased.push(key);
            }
            Reserved::AlreadyHeld => drop(decider.uses.insert(key, KeyUse::Keep)),
            Reserved::TakenHeld | Reserved::TakenPending { .. } => drop(decider.uses.remove(&key)),
        }
    }
}

fn stream(context: &Text, number: u8) -> StreamId {
    StreamId {
        aggregate: AggregateType { context: context.clone(), name: Text::from_static("sim") },
        tenant: Text::from_static("tenant"),
        id: Text::from(format!("aggregate-{number}")),
    }
}

/// FNV-1a. Any will do that tells a few requests apart.
fn hash(request: &RequestId) -> RequestHash {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    RequestHash(request.as_str().bytes().fold(0xcbf2_9ce4_8422_2325, mix))
}
