//! Laws of repetition: states that are rebuilt, and decisions that are made again.

use super::{Law, Laws, Verdict, broken, history, is_alike_event, order};
use crate::spec::diff;
use crate::spec::events::Shown;
use crate::spec::play::{Play, Played, chain};
use crate::spec::report::{Mark, Report, shows_all};
use crate::spec::transcript::{self, Kind};
use freehold::{Aggregate, EventSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// At how many positions of a history a snapshot is tried; of a longer one only some are.
const SNAPSHOTS_MAX: usize = 128;

/// Where a state comes from, and its JSON.
type Told = (String, Result<Shown, String>);

pub(super) fn replay<A: Aggregate>(play: &Play<A>) -> Verdict {
    let events: Vec<A::Event> = history(play).iter().filter_map(|event| A::Event::decode(event).ok()).collect();
    let mut states = vec![A::default()];
    for event in &events {
        let mut next = states[states.len() - 1].clone();
        next.evolve(event);
        states.push(next);
    }
    let whole = ("replayed".to_owned(), json(&states[events.len()]));
    let mut told: Vec<Told> = as_happened(play.last()).into_iter().collect();
    let step = states.len().div_ceil(SNAPSHOTS_MAX);
    for (position, state) in states.iter().enumerate().step_by(step) {
        let from = format!("from a snapshot after {position} of {} event(s)", events.len());
        told.push((from, from_snapshot(state, &events[position..])));
    }
    match told.into_iter().find(|(_, state)| !is_alike::<A>(state, &whole.1)) {
        Some(other) => Err(states_differ(play, &whole, &other)),
        None => Ok(()),
    }
}

/// The state after `events`, from what the JSON of `state` keeps of it.
fn from_snapshot<A: Aggregate>(state: &A, events: &[A::Event]) -> Result<Shown, String> {
    let restored = serde_json::to_string(state).and_then(|json| serde_json::from_str::<A>(&json));
    let mut state = restored.map_err(|error| format!("its JSON can't be written or read: {error}"))?;
    let evolved = catch_unwind(AssertUnwindSafe(|| events.iter().for_each(|event| state.evolve(event))));
    evolved.map_err(|_| "applying an event panicked".to_owned())?;
    json(&state)
}

/// Whether two states are the same, but for the order of sets in them.
fn is_alike<A: Aggregate>(one: &Result<Shown, String>, other: &Result<Shown, String>) -> bool {
    let reread = |json: &str| serde_json::to_string(&serde_json::from_str::<A>(json).ok()?).ok();
    match (one, other) {
        (Ok(one), Ok(other)) => order::is_alike(one, other, reread),
        (one, other) => one == other,
    }
}

/// The state before, and the events applied to it as the handler made them.
fn as_happened<A: Aggregate>(played: &Played<A>) -> Option<Told> {
    let outcome = played.answer.as_ref().ok().filter(|outcome| !outcome.is_replay())?;
    let mut state = played.state_before.clone().unwrap_or_default();
    outcome.committed()?.events.iter().for_each(|event| state.evolve(event));
    Some(("as it happened".to_owned(), json(&state)))
}

fn json<A: Aggregate>(state: &A) -> Result<Shown, String> {
    serde_json::to_string(state).map(|json| Shown::command::<A>(&json)).map_err(|error| error.to_string())
}

fn states_differ<A: Aggregate>(play: &Play<A>, whole: &Told, other: &Told) -> Report {
    let mut report = broken(play, Law::Replay, "two ways to the state give two states");
    report.blank();
    report.section(format!("state        - {}    + {}", whole.0, other.0), None);
    match (&whole.1, &other.1) {
        (Ok(one), Ok(two)) => {
            diff::events(&mut report, std::slice::from_ref(one), std::slice::from_ref(two), shows_all());
        }
        (one, two) => {
            let show = |state: &Result<Shown, String>| match state {
                Ok(state) => state.show(shows_all()),
                Err(problem) => problem.clone(),
            };
            report.item(Mark::Minus, 0, show(one));
            report.item(Mark::Plus, 0, show(two));
        }
    }
    report
}

/// The laws that need the decision to be made again, in worlds of their own.
pub(super) async fn decided_again<A: Aggregate>(play: &Play<A>, laws: &Laws) -> Verdict {
    if laws.has(Law::Purity) || laws.has(Law::CommandRoundTrip) {
        let again = match play.again(false).await {
            Ok(again) => again,
            Err(problem) if laws.has(Law::CommandRoundTrip) => {
                let mut report = broken(play, Law::CommandRoundTrip, "a command can't be decided again");
                report.row("because", "", &[problem]);
                return Err(report);
            }
            Err(_) => return Ok(()),
        };
        if !is_same(play, &again) {
            let is_stable = play.again(false).await.is_ok_and(|third| is_same(&again, &third));
            let law = if is_stable { Law::CommandRoundTrip } else { Law::Purity };
            let what = if is_stable {
                "a command read from its JSON is decided otherwise"
            } else {
                "decided twice, a command had two outcomes"
            };
            return if laws.has(law) { Err(outcomes_differ(play, &again, law, what)) } else { Ok(()) };
        }
    }
    if laws.has(Law::Replay) && A::SNAPSHOT_EVERY > 0 {
        let from_snapshot = play.again(true).await;
        if let Ok(again) = from_snapshot.as_ref()
            && !is_same(play, again)
        {
            let what = "on a state from its snapshot a command is decided otherwise";
            return Err(outcomes_differ(play, again, Law::Replay, what));
        }
    }
    Ok(())
}

fn is_same<A: Aggregate>(one: &Play<A>, other: &Play<A>) -> bool {
    let (one, other) = (one.last(), other.last());
    Kind::of(&one.answer) == Kind::of(&other.answer)
        && one.events.len() == other.events.len()
        && one.events.iter().zip(&other.events).all(|(one, other)| is_alike_event::<A>(one, other))
        && one.calls == other.calls
        && one.answer.as_ref().err().map(chain) == other.answer.as_ref().err().map(chain)
}

fn outcomes_differ<A: Aggregate>(play: &Play<A>, again: &Play<A>, law: Law, what: &str) -> Report {
    let (one, other) = (play.last(), again.last());
    let mut report = broken(play, law, what);
    report.blank();
    let legend = Some("- first    + again");
    if Kind::of(&one.answer) == Kind::Events && Kind::of(&other.answer) == Kind::Events {
        report.section("events", legend);
        diff::events(&mut report, &one.events, &other.events, shows_all());
    } else {
        transcript::outcome(&mut report, "first", one);
        transcript::outcome(&mut report, "again", other);
    }
    let calls = |play: &Play<A>| -> Vec<String> {
        play.last().calls.iter().flat_map(|calls| transcript::show_calls(&play.world, calls)).collect()
    };
    report.blank();
    report.section("scope calls while deciding", legend);
    let (one, other) = (calls(play), calls(again));
    if one.is_empty() && other.is_empty() {
        report.item(Mark::Both, 0, "none");
    }
    for index in 0..one.len().max(other.len()) {
        match (one.get(index), other.get(index)) {
            (Some(first), Some(again)) if first == again => report.item(Mark::Both, 0, first),
            (first, again) => {
                if let Some(line) = first {
                    report.item(Mark::Minus, 0, line);
                }
                if let Some(line) = again {
                    report.item(Mark::Plus, 0, line);
                }
            }
        }
    }
    report
}
