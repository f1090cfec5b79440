//! `Runner`: the aggregate that races for keys, and the plan of each race, which the racers and their judge share.

use freehold::prelude::*;

/// The keys that one tenant's runners race for.
pub const TRACK: Namespace = Namespace::new("races.track");
/// The keys that all runners race for.
pub const ARENA: Namespace = Namespace::new("races.arena").system();
/// The code of a runner that came too late.
pub const LATE: RejectionCode = RejectionCode::new("LATE");

/// How many processes race.
pub const PROCESSES: usize = 4;
/// How many tasks race in each.
pub const TASKS: usize = 16;

/// Enters a new runner, which takes the prizes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Enter {
    /// The prizes, in the order in which they are asked for.
    pub prizes: Vec<String>,
    /// Whether they are unique for all, and not within the tenant only.
    pub for_all: bool,
}

/// Exchanges a runner's prizes for others.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Exchange {
    /// The prizes, in the order in which they are asked for.
    pub prizes: Vec<String>,
}

/// A runner has prizes.
#[derive(Debug, Clone, Event, Serialize, Deserialize)]
pub struct Won {
    /// The prizes.
    pub prizes: Vec<String>,
    /// Whether they are unique for all.
    pub for_all: bool,
}

/// One that takes keys.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Runner {
    /// What it ever won, the newest last.
    pub won: Vec<Vec<String>>,
    for_all: bool,
}

#[aggregate(context = "races", name = "runner")]
impl Runner {
    #[on_command(creates, produces = [Won])]
    async fn enter(&self, command: Enter, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        take(&command.prizes, command.for_all, scope).await?;
        Ok(Decision::event(Won { prizes: command.prizes, for_all: command.for_all }))
    }

    #[on_command(produces = [Won])]
    async fn exchange(&self, command: Exchange, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        take(&command.prizes, self.for_all, scope).await?;
        for prize in self.won.last().into_iter().flatten().filter(|prize| !command.prizes.contains(prize)) {
            scope.release(namespace(self.for_all), prize);
        }
        Ok(Decision::event(Won { prizes: command.prizes, for_all: self.for_all }))
    }

    #[on_event]
    fn has_won(&mut self, event: &Won) {
        self.won.push(event.prizes.clone());
        self.for_all = event.for_all;
    }
}

const fn namespace(for_all: bool) -> Namespace {
    if for_all { ARENA } else { TRACK }
}

/// One call each, so that two runners can have what the other asks for.
async fn take(prizes: &[String], for_all: bool, scope: &mut DecideScope<'_>) -> Result<(), DecideError> {
    for prize in prizes {
        scope.reserve(namespace(for_all), prize).await?.or_reject(LATE, "another was quicker")?;
    }
    Ok(())
}

/// What a race is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// Its number.
    pub number: usize,
    /// Whether runners that exist exchange what they have, and don't enter with it.
    pub by_rename: bool,
    /// Whether the prizes are unique for all tenants.
    pub for_all: bool,
    /// Whether each runner wants some of a few prizes, and not the only one.
    pub few: bool,
}

impl Race {
    /// The race of a number: every kind takes its turn.
    #[must_use]
    pub const fn of(number: usize) -> Self {
        let kind = number / TASKS;
        Self { number, by_rename: kind & 1 == 1, for_all: kind & 2 == 2, few: kind & 4 == 4 }
    }

    /// Every prize.
    #[must_use]
    pub fn prizes(self) -> Vec<String> {
        let count = if self.few { 5 } else { 1 };
        (0..count).map(|prize| format!("race-{}-{prize}", self.number)).collect()
    }

    /// The prizes that one runner wants, in its order.
    #[must_use]
    pub fn wanted(self) -> Vec<String> {
        let mut prizes = self.prizes();
        fastrand::shuffle(&mut prizes);
        prizes.truncate(3);
        prizes
    }

    /// The tenant in which a process runs: two tenants have a winner each, unless the prize is for all.
    #[must_use]
    pub const fn tenant(process: usize) -> &'static str {
        if process < PROCESSES / 2 { "red" } else { "blue" }
    }

    /// How many winners a race for one prize has.
    #[must_use]
    pub const fn winners(self) -> usize {
        if self.for_all { 1 } else { 2 }
    }
}
