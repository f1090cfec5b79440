//! Laws of reservations: what is held stays held, and no decision leaves anything pending.

use super::{Law, Verdict, broken};
use crate::spec::events::short_name;
use crate::spec::keys;
use crate::spec::play::Play;
use crate::spec::report::Report;
use crate::spec::store::At;
use crate::spec::transcript::{self, Kind};
use freehold::observe::{ScopeCall, ScopeCallKind};
use freehold::reservation::{KeyId, Record, RecordState};
use freehold::{Aggregate, Error, Reserved};

/// What a key's last call in an attempt was.
fn last_calls(calls: &[ScopeCall]) -> Vec<&ScopeCall> {
    let is_last = |(index, call): &(usize, &ScopeCall)| {
        let later = calls[index + 1..].iter().filter(|later| !matches!(later.kind, ScopeCallKind::Holds(_)));
        !later.clone().any(|later| (later.namespace, &later.key) == (call.namespace, &call.key))
    };
    let changing = calls.iter().enumerate().filter(|(_, call)| !matches!(call.kind, ScopeCallKind::Holds(_)));
    changing.filter(is_last).map(|(_, call)| call).collect()
}

fn is_of<A: Aggregate>(play: &Play<A>, call: &ScopeCall, key: &KeyId) -> bool {
    let scope = key.scope.as_str();
    key.namespace == call.namespace
        && key.key == call.key
        && (scope.is_empty() || scope == play.world.subject.tenant_name())
}

fn record<'r>(records: &'r [(KeyId, Record)], key: &KeyId) -> Option<&'r Record> {
    records.iter().find(|(other, _)| other == key).map(|(_, record)| record)
}

/// The keys held before, and the call that let each go, if one did.
fn held_before<A: Aggregate>(play: &Play<A>) -> Vec<(KeyId, bool)> {
    let played = play.last();
    let is_committed =
        played.answer.as_ref().is_ok_and(|outcome| outcome.committed().is_some() && !outcome.is_replay());
    let last = played.calls.last().map(|calls| last_calls(calls)).unwrap_or_default();
    let released = |key: &KeyId| last.iter().any(|call| call.kind == ScopeCallKind::Release && is_of(play, call, key));
    let held = keys::held(&played.before, play.world.subject.stream());
    held.into_iter().map(|key| (key.clone(), is_committed && released(&key))).collect()
}

pub(super) fn held_stays_held<A: Aggregate>(play: &Play<A>) -> Verdict {
    let played = play.last();
    for (key, is_released) in held_before(play) {
        let mine = |call: &&ScopeCall| is_of(play, call, &key);
        let reserves = played.calls.iter().flatten().filter(mine);
        let answer = |call: &ScopeCall| match call.kind {
            ScopeCallKind::Reserve(answer) => Some(answer),
            ScopeCallKind::ReserveFailed | ScopeCallKind::Release | ScopeCallKind::Holds(_) => None,
        };
        let answers: Vec<_> = reserves.filter_map(answer).collect();
        let is_wrong = answers.iter().any(|answer| *answer != Reserved::AlreadyHeld);
        let is_changed =
            !answers.is_empty() && !is_released && record(&played.before, &key) != record(&played.after, &key);
        if is_wrong || is_changed {
            let what =
                if is_wrong { "a held key was not answered as held" } else { "a held key was changed by `reserve`" };
            return Err(about_keys(play, Law::HeldStaysHeld, what, &key));
        }
    }
    Ok(())
}

/// A lease that one of the attempts still has.
fn leftover<A: Aggregate>(play: &Play<A>) -> Option<KeyId> {
    let played = play.last();
    // A lease that could not be given up expires by itself (R7).
    if played.fired.iter().any(|(at, _)| *at == At::GiveUp) {
        return None;
    }
    let is_left = |record: &Record| match &record.state {
        RecordState::Pending(leases) => leases.iter().any(|lease| played.tokens.contains(&lease.token)),
        RecordState::Confirmed(_) => false,
    };
    played.after.iter().find(|(_, record)| is_left(record)).map(|(key, _)| key.clone())
}

pub(super) fn nothing_left<A: Aggregate>(play: &Play<A>) -> Verdict {
    let played = play.last();
    let is_without_events = match &played.answer {
        Ok(_) => Kind::of(&played.answer) == Kind::NoOp,
        Err(Error::OutcomeUnknown { .. }) => false,
        Err(_) => true,
    };
    if !is_without_events {
        return Ok(());
    }
    if let Some(key) = leftover(play) {
        return Err(about_keys(play, Law::NothingLeft, "a key is left pending", &key));
    }
    let held = keys::held(&played.after, play.world.subject.stream());
    match held_before(play).into_iter().find(|(key, _)| !held.contains(key)) {
        Some((key, _)) => Err(about_keys(play, Law::NothingLeft, "a key held before is held no longer", &key)),
        None => Ok(()),
    }
}

pub(super) fn settled<A: Aggregate>(play: &Play<A>) -> Verdict {
    let played = play.last();
    let is_new_commit =
        played.answer.as_ref().is_ok_and(|outcome| outcome.committed().is_some() && !outcome.is_replay());
    if !is_new_commit {
        return Ok(());
    }
    if let Some(key) = leftover(play) {
        return Err(about_keys(play, Law::Settled, "a key is left pending", &key));
    }
    let held = keys::held(&played.after, play.world.subject.stream());
    match held_before(play).into_iter().find(|(key, is_released)| *is_released && held.contains(key)) {
        Some((key, _)) => Err(about_keys(play, Law::Settled, "a released key is still held", &key)),
        None => Ok(()),
    }
}

fn about_keys<A: Aggregate>(play: &Play<A>, law: Law, what: &str, key: &KeyId) -> Report {
    let mut report = broken(play, law, what);
    report.row("key", "", &[format!("{} {:?}", key.namespace, key.key.as_str())]);
    transcript::calls(&mut report, play, true);
    keys::show(&mut report, play, &short_name::<A>());
    report
}
