//! The judge: whether the model explains what a store answered, in any one order of the calls that were in flight.
//!
//! More than one order may explain the answers, and they may leave different things behind. All of these are kept, until
//! a later answer tells them apart.

use super::call::{Answer, Call};
use super::schedule::{Move, PENDING_MS};
use crate::model::{Model, ModelAppend, ModelCheck, ModelCommit};
use freehold::reservation::KeyId;
use freehold::reservation::lifecycle::KeyUse;
use freehold::store::{AppendReply, Check, Checked, Refusal, Reserve, ReserveReply, Settled};
use freehold::{StreamId, Timestamp};
use std::fmt;
use std::time::Duration;

pub(super) type Verdict = Result<(), String>;

/// A call, whose move it was, and its answer.
pub(super) struct Exchange {
    pub(super) by: Move,
    pub(super) call: Call,
    pub(super) answer: Answer,
}

/// What may be true of the store, each as a model. Never empty.
pub(super) struct Judge(Vec<Model>);

impl Judge {
    pub(super) fn new(now: Timestamp) -> Self {
        Self(vec![Model::new(now)])
    }

    pub(super) fn advance(&mut self, duration: Duration) {
        self.0.iter_mut().for_each(|model| model.advance(duration));
    }

    /// The version of a stream: its commits were told one by one, so all models agree.
    pub(super) fn version(&self, stream: &StreamId) -> u64 {
        self.0[0].version(stream)
    }

    /// Compares the answers with the models, and keeps those that explain them.
    pub(super) fn hear(&mut self, exchanges: &[Exchange]) -> Verdict {
        if let ([model], [Exchange { call, answer, .. }]) = (&mut *self.0, exchanges) {
            return explain(model, call, answer);
        }
        let (mut explained, mut unexplained) = (Vec::new(), None);
        for model in &self.0 {
            let mut rest: Vec<&Exchange> = exchanges.iter().collect();
            in_any_order(model, &mut rest, &mut explained, &mut unexplained);
        }
        if explained.is_empty() {
            let first = unexplained.unwrap_or_default();
            if let [_] = exchanges {
                return Err(first);
            }
            let told: Vec<String> =
                exchanges.iter().map(|Exchange { by, answer, .. }| format!("{by}: {answer}")).collect();
            return Err(format!(
                "no order of these explains the answers: {}; in this order, {first}",
                told.join(" || ")
            ));
        }
        self.0 = explained;
        Ok(())
    }

    /// Keeps the models of which `is_so` holds.
    pub(super) fn keep(&mut self, is_so: impl Fn(&Model) -> Verdict) -> Verdict {
        let verdicts: Vec<Verdict> = self.0.iter().map(is_so).collect();
        if !verdicts.iter().any(Result::is_ok) {
            return verdicts.into_iter().next().unwrap_or(Ok(()));
        }
        let mut kept = verdicts.iter().map(Result::is_ok);
        self.0.retain(|_| kept.next().unwrap_or(false));
        Ok(())
    }
}

/// Adds to `explained` what each order of `rest` leaves that explains the answers, each once; and notes why the first one
/// does not.
fn in_any_order(
    model: &Model,
    rest: &mut Vec<&Exchange>,
    explained: &mut Vec<Model>,
    unexplained: &mut Option<String>,
) {
    if rest.is_empty() {
        let mut model = model.clone();
        model.forget_what_has_ended();
        if !explained.contains(&model) {
            explained.push(model);
        }
        return;
    }
    for number in 0..rest.len() {
        let next = rest.remove(number);
        let mut after = model.clone();
        match explain(&mut after, &next.call, &next.answer) {
            Ok(()) => in_any_order(&after, rest, explained, unexplained),
            Err(why) => drop(unexplained.get_or_insert(why)),
        }
        rest.insert(number, next);
    }
}

/// Whether the model answers this very call, now, as the store did.
fn explain(model: &mut Model, call: &Call, answer: &Answer) -> Verdict {
    match (call, answer) {
        (Call::Reserve(reserve), Answer::Reserved(reply)) => reserved(model, reserve, reply),
        (Call::GiveUp(give_up), Answer::GivenUp) => {
            model.give_up(&give_up.holder, give_up.token, &give_up.keys);
            Ok(())
        }
        (Call::Append(append), Answer::Appended(reply)) => {
            let expected = model.append(&ModelCommit {
                stream: append.stream.clone(),
                expected_version: append.expected_version,
                token: append.token,
                request: append.request.id.clone(),
                mark: append.mark,
                keys: append
                    .keys
                    .iter()
                    .map(|claim| (claim.key.clone(), claim.key_use))
                    .collect::<Vec<(KeyId, KeyUse)>>(),
            });
            agree("the answer to append", &appended(reply), &expected)
        }
        (Call::Settle(settle), Answer::Settled(settled)) => {
            let expected = model.settle(&settle.stream, settle.version, settle.token, &settle.keys);
            agree("what was settled as written", &matches!(settled, Settled::Written(_)), &expected)
        }
        (Call::Check(check), Answer::Checked(found)) => checked(model, check, found),
        (Call::Sweep, Answer::Swept) => Ok(()),
        _ => Err("an answer to another call".to_owned()),
    }
}

fn reserved(model: &mut Model, reserve: &Reserve, reply: &ReserveReply) -> Verdict {
    agree("the store's clock", &reply.now, &model.now)?;
    agree("the number of answers", &reply.answers.len(), &reserve.keys.len())?;
    for (asked, answer) in reserve.keys.iter().zip(&reply.answers) {
        let pending = Duration::from_millis(u64::from(PENDING_MS));
        let expected = model.reserve(&reserve.holder, &asked.key, (asked.token, asked.request), pending);
        agree("the answer to reserve", answer, &expected)?;
    }
    Ok(())
}

fn appended(reply: &AppendReply) -> ModelAppend {
    match reply {
        AppendReply::Written(_) => ModelAppend::Written,
        AppendReply::Refused(Refusal::Fenced { mark }) => ModelAppend::Fenced { mark: *mark },
        AppendReply::Refused(Refusal::Replay(first)) => ModelAppend::Replay(first.token),
        AppendReply::Refused(Refusal::Conflict) => ModelAppend::Conflict,
        AppendReply::Refused(Refusal::KeyLost) => ModelAppend::KeyLost,
    }
}

fn checked(model: &mut Model, check: &Check, found: &Checked) -> Verdict {
    let ModelCheck { version, first, marks_above } = model.check(&check.stream, check.request.as_ref());
    agree("the version that a check found", &found.version, &version)?;
    agree("the commit of a request", &found.first.as_ref().map(|first| first.token), &first)?;
    match (marks_above, &check.request) {
        (Some(last), Some(_)) if found.mark <= last => {
            Err(format!("the mark of a request: the store says {}, the model more than {last}", found.mark))
        }
        (Some(_), Some(request)) => {
            model.leave_mark(request, found.mark);
            Ok(())
        }
        _ => agree("the mark of a check that leaves none", &found.mark, &0),
    }
}

pub(super) fn agree<T: PartialEq + fmt::Debug>(what: &str, store: &T, model: &T) -> Verdict {
    if store == model {
        return Ok(());
    }
    Err(format!("{what}: the store says {store:?}, the model {model:?}"))
}
