//! When: the command in question. It is decided at once, on this thread, and the laws are checked.

use super::events::short_name;
use super::play::{Act, Command, Play, Step, Trouble};
use super::report::{Mark, Report};
use super::{Outcome, Spec, laws, transcript};
use crate::driver::try_drive;
use freehold::{Aggregate, Decide, SendCommand, Text};
use std::cell::Cell;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

impl<A: Aggregate> Spec<A> {
    /// Decides a command.
    ///
    /// # Panics
    ///
    /// When a given line could not be carried out, a law is broken, or the handler waits for something that only a
    /// runtime can bring: then use [`when_async`](Self::when_async).
    #[track_caller]
    pub fn when<C: freehold::Command>(self, command: C) -> Outcome<A>
    where
        A: Decide<C>,
    {
        self.when_with(command, |send| send)
    }

    /// Decides a command under a request id of the caller's (C4).
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/spec/guide/brand.rs"));
    /// use freehold_testkit::aggregate_spec;
    ///
    /// # fn main() {
    /// aggregate_spec::<Brand>()
    ///     .when_request("r-1", CreateBrand { name: "Contoso".into() })
    ///     .then_version(1)
    ///     .and_when_request("r-1", CreateBrand { name: "Contoso".into() })
    ///     .then_replayed();
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// As [`when`](Self::when).
    #[track_caller]
    pub fn when_request<C: freehold::Command>(self, id: impl Into<Text>, command: C) -> Outcome<A>
    where
        A: Decide<C>,
    {
        let (kind, step) = requested(id.into(), command);
        decide_now(self.play_with(kind, step))
    }

    /// Decides a command that expects a version (C5).
    ///
    /// # Panics
    ///
    /// As [`when`](Self::when).
    #[track_caller]
    pub fn when_expecting<C: freehold::Command>(self, version: u64, command: C) -> Outcome<A>
    where
        A: Decide<C>,
    {
        let (text, command) = expecting(version, command);
        decide_now(self.play_with(text, command))
    }

    /// Decides a command with options of the sender's, such as `|send| send.metadata("by", "me")`.
    ///
    /// # Panics
    ///
    /// As [`when`](Self::when).
    #[track_caller]
    pub fn when_with<C: freehold::Command>(
        self,
        command: C,
        options: impl Fn(SendCommand<A, C>) -> SendCommand<A, C> + Send + Sync + 'static,
    ) -> Outcome<A>
    where
        A: Decide<C>,
    {
        let (text, command) = Command::new(command, options);
        decide_now(self.play_with(vec![text], command))
    }

    /// Decides a command whose handler needs a runtime. Laws that decide again are off: what needs one is not pure.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/spec/guide/brand.rs"));
    /// use freehold_testkit::aggregate_spec;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// aggregate_spec::<Brand>().when_async(CreateBrand { name: "Contoso".into() }).await.then_version(1);
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// As [`when`](Self::when), when it is awaited.
    #[track_caller]
    #[must_use = "a command is decided when this is awaited"]
    pub fn when_async<C: freehold::Command>(self, command: C) -> impl Future<Output = Outcome<A>> + Send
    where
        A: Decide<C>,
    {
        let (text, command) = Command::new(command, |send| send);
        decide_later(self.play_with(vec![text], command))
    }

    #[track_caller]
    fn play_with(mut self, text: Vec<String>, command: Command<A>) -> Self {
        self.steps.push(when_step(text, command));
        self
    }
}

/// Goes on after an outcome.
#[expect(clippy::return_self_not_must_use, reason = "an outcome that nobody looks at fails by itself")]
impl<A: Aggregate> Outcome<A> {
    /// Lets time pass before the next command.
    #[must_use = "time passes for the command that follows: `.and_when(..)`"]
    #[track_caller]
    pub fn and_after(mut self, duration: std::time::Duration) -> Self {
        let text = vec![super::world::show_duration(duration)];
        let step = Step { kind: "after", text, at: Location::caller(), act: Act::Pass(duration) };
        self.play.steps.push(Arc::new(step));
        self
    }

    /// Decides another command, after this one.
    ///
    /// # Panics
    ///
    /// As [`Spec::when`]; and when nobody looked at the outcome before.
    #[track_caller]
    pub fn and_when<C: freehold::Command>(self, command: C) -> Self
    where
        A: Decide<C>,
    {
        self.and_when_with(command, |send| send)
    }

    /// Decides another command under a request id of the caller's, the same one perhaps (C4).
    ///
    /// # Panics
    ///
    /// As [`and_when`](Self::and_when).
    #[track_caller]
    pub fn and_when_request<C: freehold::Command>(self, id: impl Into<Text>, command: C) -> Self
    where
        A: Decide<C>,
    {
        let (text, command) = requested(id.into(), command);
        self.go_on(text, command)
    }

    /// Decides another command that expects a version (C5).
    ///
    /// # Panics
    ///
    /// As [`and_when`](Self::and_when).
    #[track_caller]
    pub fn and_when_expecting<C: freehold::Command>(self, version: u64, command: C) -> Self
    where
        A: Decide<C>,
    {
        let (text, command) = expecting(version, command);
        self.go_on(text, command)
    }

    /// Decides another command with options of the sender's.
    ///
    /// # Panics
    ///
    /// As [`and_when`](Self::and_when).
    #[track_caller]
    pub fn and_when_with<C: freehold::Command>(
        self,
        command: C,
        options: impl Fn(SendCommand<A, C>) -> SendCommand<A, C> + Send + Sync + 'static,
    ) -> Self
    where
        A: Decide<C>,
    {
        let (text, command) = Command::new(command, options);
        self.go_on(vec![text], command)
    }

    #[track_caller]
    fn go_on(mut self, text: Vec<String>, command: Command<A>) -> Self {
        if !self.looked.get() {
            self.looked.set(true);
            self.unlooked().fail();
        }
        self.play.steps.push(when_step(text, command));
        drive_on(&mut self.play, &self.laws, self.is_async);
        self.looked.set(false);
        self.at = Location::caller();
        self
    }
}

#[track_caller]
fn when_step<A: Aggregate>(text: Vec<String>, command: Command<A>) -> Arc<Step<A>> {
    Arc::new(Step { kind: "command", text, at: Location::caller(), act: Act::When(command) })
}

fn requested<A: Decide<C>, C: freehold::Command>(id: Text, command: C) -> (Vec<String>, Command<A>) {
    let request = format!("request {:?}", id.as_str());
    let (text, command) = Command::new(command, move |send| send.request_id(id.clone()));
    (vec![text, request], command)
}

fn expecting<A: Decide<C>, C: freehold::Command>(version: u64, command: C) -> (Vec<String>, Command<A>) {
    let (text, command) = Command::new(command, move |send| send.expect_version(version));
    (vec![text, format!("expecting version {version}")], command)
}

#[track_caller]
fn decide_now<A: Aggregate>(spec: Spec<A>) -> Outcome<A> {
    let Spec { setup, steps, laws } = spec;
    let mut play = match try_drive(Play::start(setup, steps), None) {
        Ok(Ok(play)) => play,
        Ok(Err(problem)) => unbuilt_report::<A>(&problem).fail(),
        Err(stuck) => unbuilt_report::<A>(&stuck.to_string()).fail(),
    };
    drive_on(&mut play, &laws, false);
    Outcome { play, laws, looked: Cell::new(false), is_async: false, at: Location::caller() }
}

/// Carries out the steps that are left, on this thread, and fails at the caller's line when that can't be.
#[track_caller]
fn drive_on<A: Aggregate>(play: &mut Play<A>, laws: &laws::Laws, is_async: bool) {
    match try_drive(play_on(play, laws, is_async), None) {
        Ok(Ok(())) => {}
        Ok(Err(report)) => report.fail(),
        Err(stuck) => stuck_report(play, &stuck.to_string()).fail(),
    }
}

#[track_caller]
fn decide_later<A: Aggregate>(spec: Spec<A>) -> impl Future<Output = Outcome<A>> + Send {
    let at = Location::caller();
    async move {
        let Spec { setup, steps, laws } = spec;
        let mut play = match Play::start(setup, steps).await {
            Ok(play) => play,
            Err(problem) => fail_at(unbuilt_report::<A>(&problem), at),
        };
        if let Err(report) = play_on(&mut play, &laws, true).await {
            fail_at(report, at);
        }
        Outcome { play, laws, looked: Cell::new(false), is_async: true, at }
    }
}

/// Fails in a future, where the panic's own line is not the user's.
fn fail_at(mut report: Report, at: &'static Location<'static>) -> ! {
    report.blank();
    report.row("when", "", &[format!("at {at}")]);
    report.fail()
}

async fn play_on<A: Aggregate>(play: &mut Play<A>, laws: &laws::Laws, is_async: bool) -> Result<(), Report> {
    play.go_on().await.map_err(|trouble| trouble_report(play, &trouble))?;
    laws::check(play, laws, is_async).await
}

fn unbuilt_report<A: Aggregate>(problem: &str) -> Report {
    let mut report = Report::new(format!("{}: the domain of this spec can't be built", short_name::<A>()));
    report.blank();
    problem.lines().skip(1).for_each(|line| report.item(Mark::Both, 0, line.trim()));
    if problem.lines().count() < 2 {
        report.item(Mark::Both, 0, problem);
    }
    report
}

fn stuck_report<A: Aggregate>(play: &Play<A>, problem: &str) -> Report {
    let step = &play.steps[play.current_step()];
    let mut report = transcript::report(play, "the decision did not end");
    transcript::story(&mut report, play, true);
    report.blank();
    report.row("failed", step.kind, &step.text);
    report.row("because", "", &[problem.to_owned()]);
    report.row("instead", "", &["`.when_async(..).await` inside a runtime, such as in a `#[tokio::test]`".to_owned()]);
    report
}

fn trouble_report<A: Aggregate>(play: &Play<A>, trouble: &Trouble) -> Report {
    let step = &play.steps[trouble.step];
    let is_when = matches!(step.act, Act::When(_));
    let what = if is_when { "the command can't be sent" } else { "what is given can't be so" };
    let mut report = transcript::report(play, what);
    transcript::story(&mut report, play, true);
    report.blank();
    report.row("failed", step.kind, &step.text);
    let problem: Vec<String> = trouble.problem.lines().map(str::to_owned).collect();
    report.row("because", "", &problem);
    report.row("at", "", &[step.at.to_string()]);
    let calls = play.world.take_calls();
    if let Some(calls) = calls.last().filter(|calls| !calls.is_empty()) {
        report.blank();
        report.section("scope calls while deciding", None);
        for line in transcript::show_calls(&play.world, calls) {
            report.item(Mark::Both, 0, line);
        }
    }
    super::keys::show(&mut report, play, &short_name::<A>());
    report
}
