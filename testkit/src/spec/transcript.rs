//! What happened, told in order: what was given, each command, what came of it, and what was asked while deciding.

use super::events::{numbered, short_name};
use super::play::{Act, Answer, Play, Played, chain};
use super::report::{Mark, Report, ascii, shows_all};
use super::world::World;
use freehold::observe::{ScopeCall, ScopeCallKind};
use freehold::{Aggregate, Clock, Error, Reserved};

/// What kind of answer a command had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Events,
    NoOp,
    Deleted,
    Restored,
    Rejection,
    Error,
}

impl Kind {
    pub(super) fn of<A: Aggregate>(answer: &Answer<A>) -> Self {
        match answer {
            Ok(outcome) => match outcome.committed() {
                None => Self::NoOp,
                Some(committed) if !committed.events.is_empty() => Self::Events,
                Some(committed) if committed.deleted == Some(false) => Self::Restored,
                Some(_) => Self::Deleted,
            },
            Err(Error::Rejected(_)) => Self::Rejection,
            Err(_) => Self::Error,
        }
    }

    /// As a column's text.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::NoOp => "no-op",
            Self::Deleted => "deleted",
            Self::Restored => "restored",
            Self::Rejection => "rejection",
            Self::Error => "error",
        }
    }

    /// As a part of a sentence.
    pub(super) const fn noun(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::NoOp => "a no-op",
            Self::Deleted => "a deletion",
            Self::Restored => "a restoration",
            Self::Rejection => "a rejection",
            Self::Error => "an error",
        }
    }
}

/// A report whose headline names the aggregate and, from the second on, the step.
pub(super) fn report<A: Aggregate>(play: &Play<A>, what: &str) -> Report {
    let name = short_name::<A>();
    match play.played.len() {
        0 | 1 => Report::new(format!("{name}: {what}")),
        step => Report::new(format!("{name}: {what} (step {step})")),
    }
}

/// Adds the steps in order, and what came of each command; of the last one only with `with_last`.
pub(super) fn story<A: Aggregate>(report: &mut Report, play: &Play<A>, with_last: bool) {
    let is_when = |act: &Act<A>| matches!(act, Act::When(_));
    let is_long = play.steps.iter().filter(|step| is_when(&step.act)).count() > 1;
    let mut number = 0;
    report.blank();
    for (index, step) in play.steps.iter().enumerate() {
        if !is_when(&step.act) {
            let word = if number > 0 { "then" } else { "given" };
            report.row(word, step.kind, &step.text);
            continue;
        }
        number += 1;
        let played = play.played.iter().find(|played| played.step == index);
        if is_long {
            let at = played.map_or_else(|| play.world.clock.now(), |played| played.at);
            report.row(&format!("step {number}"), &format!("at {}", play.world.since_start(at)), &[]);
        }
        report.row("when", step.kind, &step.text);
        let Some(played) = played else { continue };
        for (at, fault) in &played.fired {
            report.row("struck", "store", &[format!("{at:?} {}", fault.describe())]);
        }
        if with_last || played.step != play.last().step {
            outcome(report, "outcome", played);
        }
    }
}

/// Adds what came of a command.
pub(super) fn outcome<A: Aggregate>(report: &mut Report, word: &str, played: &Played<A>) {
    let kind = Kind::of(&played.answer);
    let mut text = match &played.answer {
        Ok(_) if kind == Kind::Events => numbered(&played.events, shows_all()),
        Ok(_) => Vec::new(),
        Err(error) => chain(error),
    };
    if let Err(Error::Rejected(rejection)) = &played.answer
        && rejection.is_provisional()
    {
        text[0].push_str(", provisional");
    }
    report.row(word, kind.label(), &text);
    if played.answer.as_ref().is_ok_and(freehold::Outcome::is_replay) {
        report.row("", "replay", &["of the first outcome of its request".to_owned()]);
    }
}

/// Adds what the handler asked of its scope; about keys, it also says when nothing was released.
pub(super) fn calls<A: Aggregate>(report: &mut Report, play: &Play<A>, about_keys: bool) {
    let Some(played) = play.played.last() else { return };
    report.blank();
    report.section("scope calls while deciding", None);
    if played.calls.is_empty() {
        report.item(Mark::Both, 0, "the handler was not called");
        return;
    }
    for (index, calls) in played.calls.iter().enumerate() {
        if played.calls.len() > 1 {
            report.item(Mark::Both, 0, format!("attempt {}", index + 1));
        }
        for line in show_calls(&play.world, calls) {
            report.item(Mark::Both, 0, line);
        }
        if calls.is_empty() {
            report.item(Mark::Both, 0, "none");
        } else if about_keys && !calls.iter().any(|call| call.kind == ScopeCallKind::Release) {
            report.item(Mark::Both, 0, "no release");
        }
    }
}

/// The calls of one attempt, numbered and aligned.
pub(super) fn show_calls<A: Aggregate>(world: &World<A>, calls: &[ScopeCall]) -> Vec<String> {
    let parts: Vec<_> = calls.iter().map(|call| parts(world, call)).collect();
    let width = |part: fn(&(&'static str, String, String)) -> usize| parts.iter().map(part).max().unwrap_or(0);
    let (verbs, keys) = (width(|(verb, ..)| verb.len()), width(|(_, key, _)| key.chars().count()));
    let numbers = parts.len().to_string().len();
    let line = |(index, (verb, key, answer)): (usize, &(&'static str, String, String))| {
        format!("{:>numbers$}  {verb:<verbs$}  {key:<keys$}  {answer}", index + 1)
    };
    parts.iter().enumerate().map(line).collect()
}

fn parts<A: Aggregate>(world: &World<A>, call: &ScopeCall) -> (&'static str, String, String) {
    let key = ascii(&format!("{} {:?}", call.namespace, call.key.as_str()));
    let (verb, answer) = match call.kind {
        ScopeCallKind::Reserve(reserved) => ("reserve", format!("-> {}", answer(world, reserved))),
        ScopeCallKind::ReserveFailed => ("reserve", "-> failed".to_owned()),
        ScopeCallKind::Release => ("release", String::new()),
        ScopeCallKind::Holds(holds) => ("holds", format!("-> {holds}")),
    };
    (verb, key, answer)
}

fn answer<A: Aggregate>(world: &World<A>, reserved: Reserved) -> String {
    match reserved {
        Reserved::Newly => "newly reserved".to_owned(),
        Reserved::AlreadyHeld => "already held".to_owned(),
        Reserved::TakenHeld => "taken, held".to_owned(),
        Reserved::TakenPending { until, same_request: false } => {
            format!("taken, pending until {}", world.since_start(until))
        }
        Reserved::TakenPending { until, same_request: true } => {
            format!("taken, pending until {}, by the same request", world.since_start(until))
        }
    }
}
