//! What every spec checks unasked after each command. Engine and store are judged here as much as the aggregate.

mod again;
mod order;
mod reservations;

use super::events::Shown;
use super::play::{Act, Play};
use super::report::{Report, shows_all};
use super::{diff, transcript};
use freehold::{Aggregate, EncodedEvent, EventSet};

/// A law, by which [`Spec::without_law`](super::Spec::without_law) turns it off.
///
/// Lists are compared as they are. A set, which comes out in another order when it is read and written again, is compared
/// without order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Law {
    /// Every given and produced event is the same after it was written as JSON and read again.
    EventRoundTrip,
    /// Decided twice from the same state, answers and time, a command has the same outcome. Not checked for
    /// handlers that ask for services, and in `when_async`.
    Purity,
    /// A command read from its own JSON has the outcome of the command as it was given.
    CommandRoundTrip,
    /// Replayed events give the state that the events gave as they happened, from a snapshot too, and
    /// decisions are the same on a state that came from a snapshot.
    Replay,
    /// After a rejection, a no-op or an error nothing of the attempt is pending, and every key held before is held.
    NothingLeft,
    /// After events nothing of the attempt is pending, and released keys are not held.
    Settled,
    /// Events are among those that the handler declares.
    Declared,
    /// `reserve` on a key that the aggregate holds says so, and changes nothing.
    HeldStaysHeld,
}

impl Law {
    const fn rule(self) -> &'static str {
        match self {
            Self::EventRoundTrip => "an event is the same after it was written as JSON and read again",
            Self::Purity => "the same state, scope answers and time give the same outcome",
            Self::CommandRoundTrip => "a command means the same after it was written as JSON and read again",
            Self::Replay => "events give the same state replayed, and from a snapshot of any version",
            Self::NothingLeft => "without events nothing stays pending, and what was held stays held",
            Self::Settled => "with events nothing stays pending, and what was released is free",
            Self::Declared => "a handler produces the events that it declares",
            Self::HeldStaysHeld => "reserving a held key says `already held`, and changes nothing",
        }
    }
}

/// Which laws are checked.
#[derive(Debug, Clone, Default)]
pub(super) struct Laws {
    off: Vec<Law>,
}

impl Laws {
    pub(super) fn without(&mut self, law: Law) {
        self.off.push(law);
    }

    fn has(&self, law: Law) -> bool {
        !self.off.contains(&law)
    }
}

type Verdict = Result<(), Report>;
type LawOf<A> = fn(&Play<A>) -> Verdict;

/// Checks the laws on the decision that was played last.
pub(super) async fn check<A: Aggregate>(play: &Play<A>, laws: &Laws, is_async: bool) -> Verdict {
    let at_rest: [(Law, LawOf<A>); 6] = [
        (Law::EventRoundTrip, event_round_trip),
        (Law::Declared, declared),
        (Law::HeldStaysHeld, reservations::held_stays_held),
        (Law::NothingLeft, reservations::nothing_left),
        (Law::Settled, reservations::settled),
        (Law::Replay, again::replay),
    ];
    at_rest.iter().filter(|(law, _)| laws.has(*law)).try_for_each(|(_, check)| check(play))?;
    if is_async || !play.is_repeatable() {
        return Ok(());
    }
    again::decided_again(play, laws).await
}

/// The report of a broken law, with the story.
fn broken<A: Aggregate>(play: &Play<A>, law: Law, what: &str) -> Report {
    let mut report = transcript::report(play, &format!("law broken, {what}"));
    transcript::story(&mut report, play, true);
    report.blank();
    report.row("law", &format!("{law:?}"), &[law.rule().to_owned()]);
    report.row("", "", &[format!("`.without_law(Law::{law:?})` turns it off")]);
    report
}

fn history<A: Aggregate>(play: &Play<A>) -> Vec<EncodedEvent> {
    let commits = play.world.history();
    let events = commits.iter().flat_map(|commit| commit.events.iter());
    events.filter(|event| !event.name.starts_with('$')).cloned().collect()
}

/// Whether two events are the same, but for the order of sets in them.
fn is_alike_event<A: Aggregate>(one: &Shown, other: &Shown) -> bool {
    order::is_alike(one, other, |json| {
        let read = A::Event::decode(&one.encoded(json)?).ok()?;
        Some(read.encode().ok()?.data.get().to_owned())
    })
}

fn event_round_trip<A: Aggregate>(play: &Play<A>) -> Verdict {
    for event in history(play) {
        let read = A::Event::decode(&event).and_then(|event| event.encode());
        let before = Shown::event(&event);
        let mut report = match read.as_ref().map(Shown::event) {
            Ok(after) if is_alike_event::<A>(&after, &before) => continue,
            Ok(after) => {
                let mut report = broken(play, Law::EventRoundTrip, "an event is another one once it was read again");
                report.blank();
                report.section("event", Some("- as written    + as read and written again"));
                diff::events(&mut report, &[before], &[after], shows_all());
                report
            }
            Err(error) => {
                let mut report = broken(play, Law::EventRoundTrip, "an event can't be read again");
                report.blank();
                report.row("event", "", &[before.show(shows_all())]);
                report.row("because", "", &[error.to_string()]);
                report
            }
        };
        transcript::calls(&mut report, play, false);
        return Err(report);
    }
    Ok(())
}

fn declared<A: Aggregate>(play: &Play<A>) -> Verdict {
    let played = play.last();
    let Act::When(command) = &play.steps[played.step].act else { return Ok(()) };
    let is_declared = |event: &&Shown| command.produces.iter().any(|declared| declared.name == event.name);
    let Some(event) = played.events.iter().find(|event| !is_declared(event)) else { return Ok(()) };
    let names: Vec<&str> = command.produces.iter().map(|declared| declared.name).collect();
    let mut report = broken(play, Law::Declared, &format!("`{}` is not declared", event.name));
    report.blank();
    report.row("declared", "", &[if names.is_empty() { "none".to_owned() } else { names.join(", ") }]);
    report.row("produced", "", &[event.show(shows_all())]);
    Err(report)
}
