//! How an outcome is judged: the comparisons behind `then`, and the reports of those that fail.

use super::events::{Shown, short_name};
use super::report::{Report, shows_all};
use super::transcript::{self, Kind};
use super::{Outcome, diff, keys};
use freehold::{Aggregate, Clock, Error, Namespace, RejectionCode};

impl<A: Aggregate> Outcome<A> {
    pub(super) fn told(&self, what: &str) -> Report {
        let mut report = transcript::report(&self.play, what);
        transcript::story(&mut report, &self.play, true);
        transcript::calls(&mut report, &self.play, false);
        keys::show(&mut report, &self.play, &short_name::<A>());
        report
    }

    #[track_caller]
    pub(super) fn check(self, failure: Option<Report>) -> Self {
        self.looked.set(true);
        if let Some(report) = failure {
            report.fail();
        }
        self
    }

    pub(super) fn last(&self) -> &super::play::Played<A> {
        self.play.last()
    }

    pub(super) fn kind(&self) -> Kind {
        Kind::of(&self.last().answer)
    }

    pub(super) fn events_differ(&self, expected: &[Shown]) -> Option<Report> {
        let actual = &self.last().events;
        if *actual == expected {
            return None;
        }
        let what = if actual.len() == expected.len() {
            format!("events differ at {} of {}", diff::positions(expected, actual).join(", "), actual.len())
        } else {
            format!("expected {} event(s), got {}", expected.len(), actual.len())
        };
        let mut report = transcript::report(&self.play, &what);
        transcript::story(&mut report, &self.play, false);
        report.blank();
        report.section("events", Some("- expected    + actual"));
        diff::events(&mut report, expected, actual, shows_all());
        self.rest(&mut report);
        Some(report)
    }

    pub(super) fn not_rejected(&self, code: RejectionCode, expected: &str) -> Option<Report> {
        let expected = [expected.to_owned()];
        match self.last().answer.as_ref().err().and_then(Error::rejection) {
            Some(rejection) if rejection.code() == code => None,
            Some(rejection) => {
                let what = format!("expected rejection {code}, got {}", rejection.code());
                Some(self.differs(&what, "rejection", &expected))
            }
            None => Some(self.unlike(Kind::Rejection, &expected)),
        }
    }

    /// Another kind of outcome than expected.
    pub(super) fn unlike(&self, expected: Kind, text: &[String]) -> Report {
        let what = format!("expected {}, got {}", expected.noun(), self.kind().noun());
        self.differs(&what, expected.label(), text)
    }

    /// Expected and actual outcome, one below the other.
    pub(super) fn differs(&self, what: &str, kind: &str, expected: &[String]) -> Report {
        let mut report = transcript::report(&self.play, what);
        transcript::story(&mut report, &self.play, false);
        report.blank();
        report.row("expected", kind, expected);
        transcript::outcome(&mut report, "actual", self.last());
        self.rest(&mut report);
        report
    }

    pub(super) fn number_differs(&self, what: &str, expected: &str, actual: &str) -> Option<Report> {
        (expected != actual).then(|| {
            let mut report = transcript::report(&self.play, &format!("{what}: expected {expected}, got {actual}"));
            transcript::story(&mut report, &self.play, true);
            report.blank();
            report.row("expected", what, &[expected.to_owned()]);
            report.row("actual", what, &[actual.to_owned()]);
            self.rest(&mut report);
            report
        })
    }

    pub(super) fn held_differs(&self, namespace: Namespace, key: &str, expected: bool) -> Option<Report> {
        let world = &self.play.world;
        let id = match world.key(namespace, key) {
            Ok(id) => id,
            Err(problem) => return Some(self.not_a_key(&problem)),
        };
        if self.holds(namespace, key) == expected {
            return None;
        }
        let what = if expected { "a key is not held" } else { "a key is held that should not be" };
        let mut report = transcript::report(&self.play, what);
        transcript::story(&mut report, &self.play, true);
        let row = |held: &str| vec![format!("{namespace} {:?}, {held}", id.key.as_str())];
        let actual = match world.record(&id) {
            Some(record) if record.holder == *world.subject.stream() => {
                format!("by this {}, {}", short_name::<A>(), keys::state(world, &record))
            }
            Some(record) if record.is_live(world.clock.now()) => {
                format!("by another aggregate, {}", keys::state(world, &record))
            }
            _ => "free".to_owned(),
        };
        report.blank();
        report.row("expected", "key", &row(if expected { "held" } else { "not held" }));
        report.row("actual", "key", &row(&actual));
        transcript::calls(&mut report, &self.play, true);
        keys::show(&mut report, &self.play, &short_name::<A>());
        Some(report)
    }

    pub(super) fn not_a_key(&self, problem: &str) -> Report {
        let mut report = transcript::report(&self.play, "the expected key can't be one");
        transcript::story(&mut report, &self.play, true);
        report.blank();
        report.row("because", "", &[problem.to_owned()]);
        report
    }

    fn rest(&self, report: &mut Report) {
        transcript::calls(report, &self.play, false);
        keys::show(report, &self.play, &short_name::<A>());
    }

    /// Runs the user's own assertions; when one fails, the story is told after its message.
    pub(super) fn telling(&self, look: impl FnOnce()) {
        struct Tell(Option<String>);
        impl Drop for Tell {
            fn drop(&mut self) {
                if let Some(text) = self.0.take().filter(|_| std::thread::panicking()) {
                    eprintln!("\n{text}");
                }
            }
        }
        let mut tell = Tell(Some(self.told("an assertion of the test's own failed").render(false)));
        look();
        tell.0 = None;
    }

    /// The failure of an outcome that nobody looked at.
    pub(super) fn unlooked(&self) -> Report {
        let mut report = transcript::report(&self.play, "nobody looked at the outcome");
        transcript::story(&mut report, &self.play, true);
        report.blank();
        report.row("at", "", &[self.at.to_string()]);
        report.row("instead", "", &["say what must have come of it with `.then_..`".to_owned()]);
        report
    }
}

impl<A: Aggregate> Drop for Outcome<A> {
    fn drop(&mut self) {
        if !self.looked.get() && !std::thread::panicking() {
            self.looked.set(true);
            self.unlooked().fail();
        }
    }
}
