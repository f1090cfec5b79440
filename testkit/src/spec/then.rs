//! Then: what must have come of the command. Each method fails at the line that calls it, with the whole story.

use super::events::{Shown, short_name};
use super::report::{Report, shows_all};
use super::transcript::{self, Kind};
use super::{Outcome, keys};
use freehold::{Aggregate, Apply, EncodedEvent, Error, Event, EventSet, Namespace, RejectionCode};

#[expect(clippy::return_self_not_must_use, reason = "nobody goes on after the last line of a spec")]
impl<A: Aggregate> Outcome<A> {
    /// These events and no others, in this order, whole: compared as the JSON that is stored.
    ///
    /// Lists are compared in order; an event with a `HashSet` has none, and is better given a `BTreeSet`.
    #[track_caller]
    pub fn then_events(self, events: impl IntoIterator<Item = A::Event>) -> Self {
        let events: Vec<A::Event> = events.into_iter().collect();
        let expected = match Shown::all(&events) {
            Ok(expected) => expected,
            Err(problem) => {
                return self.check(Some(Report::new(format!("the expected events can't be encoded: {problem}"))));
            }
        };
        let failure = match self.kind() {
            Kind::NoOp if expected.is_empty() => None,
            Kind::Events => self.events_differ(&expected),
            _ => Some(self.unlike(Kind::Events, &super::events::numbered(&expected, shows_all()))),
        };
        self.check(failure)
    }

    /// The event at `index`, from 0, is an `E` for which `is_right` holds; a weaker form, see
    /// [`then_event_matches!`](crate::then_event_matches). `what` describes it in the failure.
    #[track_caller]
    pub fn then_event_where<E: Event>(self, index: usize, what: &str, is_right: impl FnOnce(&E) -> bool) -> Self
    where
        A: Apply<E>,
    {
        let place = format!("{}  {what}", index + 1);
        if self.kind() != Kind::Events {
            let failure = self.unlike(Kind::Events, &[place]);
            return self.check(Some(failure));
        }
        let committed = self.last().answer.as_ref().ok().and_then(freehold::Outcome::committed);
        let event = committed.and_then(|committed| committed.events.get(index)?.encode().ok());
        let event = event.filter(EncodedEvent::is::<E>).and_then(|event| event.decode::<E>().ok());
        let failure = (!event.is_some_and(|event| is_right(&event)))
            .then(|| self.differs(&format!("event {} does not match", index + 1), "event", &[place]));
        self.check(failure)
    }

    /// The handler had nothing to do: no events, nothing written.
    #[track_caller]
    pub fn then_no_events(self) -> Self {
        let failure = (self.kind() != Kind::NoOp).then(|| self.unlike(Kind::NoOp, &[]));
        self.check(failure)
    }

    /// The command was rejected with this code, provisionally or not.
    #[track_caller]
    pub fn then_rejected(self, code: impl Into<RejectionCode>) -> Self {
        let code = code.into();
        let failure = self.not_rejected(code, &code.to_string());
        self.check(failure)
    }

    /// The command was rejected with this code, provisionally: the key in the way was only pending (R21).
    #[track_caller]
    pub fn then_rejected_provisionally(self, code: impl Into<RejectionCode>) -> Self {
        let code = code.into();
        let expected = format!("{code}, provisional");
        let rejection = self.last().answer.as_ref().err().and_then(Error::rejection);
        let failure = match rejection {
            Some(rejection) if rejection.code() == code && !rejection.is_provisional() => {
                Some(self.differs("expected a provisional rejection", "rejection", &[expected]))
            }
            _ => self.not_rejected(code, &expected),
        };
        self.check(failure)
    }

    /// The command failed, without being rejected, with the error of this [`code`](Error::code).
    #[track_caller]
    pub fn then_failed(self, code: &str) -> Self {
        let failure = match &self.last().answer {
            Err(error) if error.code() == code => None,
            Err(Error::Rejected(_)) | Ok(_) => Some(self.unlike(Kind::Error, &[code.to_owned()])),
            Err(error) => {
                Some(self.differs(&format!("expected error {code}, got {}", error.code()), "error", &[code.to_owned()]))
            }
        };
        self.check(failure)
    }

    /// The command failed, or was rejected, and `look` asserts what it likes of the error.
    #[track_caller]
    pub fn then_error(self, look: impl FnOnce(&Error)) -> Self {
        if self.last().answer.is_ok() {
            let failure = self.unlike(Kind::Error, &[]);
            return self.check(Some(failure));
        }
        self.looked.set(true);
        if let Err(error) = &self.last().answer {
            self.telling(|| look(error));
        }
        self
    }

    /// The request had its outcome before, and this is that one (C4).
    #[track_caller]
    pub fn then_replayed(self) -> Self {
        let is_replay = self.last().answer.as_ref().is_ok_and(freehold::Outcome::is_replay);
        let expected = ["of the first outcome of its request".to_owned()];
        let failure = (!is_replay).then(|| self.differs("expected a replay", "replay", &expected));
        self.check(failure)
    }

    /// The aggregate is deleted by now (C10).
    #[track_caller]
    pub fn then_deleted(self) -> Self {
        let loaded = crate::driver::drive(self.play.world.domain.load(&self.play.world.subject).into_future());
        let is_deleted = loaded.is_ok_and(|loaded| loaded.is_deleted());
        let failure = (!is_deleted).then(|| self.differs("expected it to be deleted", "deleted", &[]));
        self.check(failure)
    }

    /// `look` asserts what it likes of the aggregate's state after the command.
    #[track_caller]
    pub fn then_state(self, look: impl FnOnce(&A)) -> Self {
        self.looked.set(true);
        match &self.last().state_after {
            Some(state) => self.telling(|| look(state)),
            None => self.differs("there is no state to look at", "events", &["at least one, ever".to_owned()]).fail(),
        }
        self
    }

    /// The command was decided so many times: once, and once more for each conflict.
    #[track_caller]
    pub fn then_attempts(self, attempts: usize) -> Self {
        let actual = self.last().calls.len();
        let failure = self.number_differs("attempts", &attempts.to_string(), &actual.to_string());
        self.check(failure)
    }

    /// The aggregate has this version after the command: one a commit, those that were given and foreign ones too.
    #[track_caller]
    pub fn then_version(self, version: u64) -> Self {
        let actual = self.play.world.version(self.play.world.subject.stream());
        let failure = self.number_differs("version", &version.to_string(), &actual.to_string());
        self.check(failure)
    }

    /// The aggregate holds these keys, confirmed, and no others: `[]` for none.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/spec/guide/brand.rs"));
    /// use freehold_testkit::aggregate_spec;
    ///
    /// # fn main() {
    /// aggregate_spec::<Brand>()
    ///     .when(CreateBrand { name: "Contoso".into() })
    ///     .then_holds_exactly([(BRAND_NAMES, "contoso")]);
    /// # }
    /// ```
    #[track_caller]
    pub fn then_holds_exactly<'k>(self, keys: impl IntoIterator<Item = (Namespace, &'k str)>) -> Self {
        let keys: Result<Vec<_>, String> =
            keys.into_iter().map(|(namespace, key)| self.play.world.key(namespace, key)).collect();
        let failure = match keys {
            Err(problem) => Some(self.not_a_key(&problem)),
            Ok(mut expected) => {
                let mut held = keys::held(&self.play.world.store.records(), self.play.world.subject.stream());
                expected.sort();
                expected.dedup();
                held.sort();
                (held != expected).then(|| {
                    let mut report = transcript::report(&self.play, "held keys differ");
                    transcript::story(&mut report, &self.play, true);
                    transcript::calls(&mut report, &self.play, true);
                    keys::compare(&mut report, &self.play, &short_name::<A>(), &expected);
                    report
                })
            }
        };
        self.check(failure)
    }

    /// The aggregate holds this key, confirmed.
    #[track_caller]
    pub fn then_holds(self, namespace: Namespace, key: &str) -> Self {
        let failure = self.held_differs(namespace, key, true);
        self.check(failure)
    }

    /// The aggregate does not hold this key; whether another does is not asked.
    #[track_caller]
    pub fn then_does_not_hold(self, namespace: Namespace, key: &str) -> Self {
        let failure = self.held_differs(namespace, key, false);
        self.check(failure)
    }

    /// Whether the aggregate holds this key, confirmed (R16). A text that is no key is held by nobody.
    #[must_use]
    pub fn holds(&self, namespace: Namespace, key: &str) -> bool {
        self.looked.set(true);
        let world = &self.play.world;
        let record = world.key(namespace, key).ok().and_then(|key| world.record(&key));
        record.is_some_and(|record| record.is_confirmed() && record.holder == *world.subject.stream())
    }

    /// What happened, as the failure texts tell it: for a snapshot test.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/spec/guide/brand.rs"));
    /// use freehold_testkit::aggregate_spec;
    ///
    /// # fn main() {
    /// let outcome = aggregate_spec::<Brand>().when(CreateBrand { name: "Contoso".into() });
    /// assert!(outcome.transcript().contains("reserve  eshop-catalog.brand-name \"contoso\"  -> newly reserved"));
    /// # }
    /// ```
    #[must_use]
    pub fn transcript(&self) -> String {
        self.looked.set(true);
        self.told("transcript").render(false)
    }
}
