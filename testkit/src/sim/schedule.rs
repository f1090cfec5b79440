//! Schedules: what happens in which order, drawn from a seed. Nothing is run here.

use super::Simulation;
use fastrand::Rng;
use std::fmt;

/// One step: a move, or moves of several deciders whose store calls are in flight at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Who does what, in the order in which the calls are handed over. Each of another decider.
    pub moves: Vec<Move>,
    /// From which the turns are drawn in which the calls in flight get on.
    pub turns: u64,
}

/// Who does what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// The decider.
    pub decider: u8,
    /// What it does.
    pub action: Action,
}

/// What a decider may do, one store call at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Reserves a key.
    Reserve(u8),
    /// Reserves two keys in one call.
    ReserveTwo(u8, u8),
    /// Notes a key to be released by its append.
    Release(u8),
    /// Appends, with all it reserved and noted.
    Append,
    /// Appends, loses the answer, and sends the append again; later on the request once more.
    AppendTwice,
    /// Appends, loses the answer, and settles the append; later on it sends the request once more.
    AppendAndSettle,
    /// Hands its append over to a network that holds it back, and settles it.
    SettleBeforeItArrives,
    /// Hands its append over to a network that holds it back, and dies; its request is sent again, to a new process.
    DieAppending,
    /// The append that was held back arrives.
    Arrives,
    /// Asks for the version.
    Check,
    /// Asks for the version, and whether its request has a commit.
    CheckRequest,
    /// Gives up what it reserved.
    GiveUp,
    /// Dies, and starts anew without giving up.
    Die,
    /// Dies, and starts anew under a request that others may have sent as well.
    TakeUp(u8),
    /// Goes on with the version it had, though others may have written: its next append may conflict.
    StayStale,
    /// So many milliseconds pass.
    Wait(u32),
    /// Somebody sweeps.
    Sweep,
    /// Goes on over another handle on the same data.
    Reopen,
}

/// How long the simulation's leases are, in milliseconds.
pub(super) const PENDING_MS: u32 = 100;
const WAITS_MS: [u32; 6] = [1, PENDING_MS / 2, PENDING_MS - 1, PENDING_MS, PENDING_MS, PENDING_MS + 1];

pub(super) fn generate(simulation: &Simulation, seed: u64) -> Vec<Step> {
    let mut random = Rng::with_seed(seed);
    (0..simulation.steps).map(|_| step(simulation, &mut random)).collect()
}

fn step(simulation: &Simulation, random: &mut Rng) -> Step {
    let first = Move { decider: random.u8(..simulation.deciders), action: action(simulation, random) };
    let mut moves = vec![first];
    let others = if first.action.is_a_call() { [0, 0, 0, 1, 1, 2][random.usize(..6)] } else { 0 };
    for _ in 0..others {
        let next = Move { decider: random.u8(..simulation.deciders), action: beside(first.action, simulation, random) };
        if next.action.is_a_call() && moves.iter().all(|other| other.decider != next.decider) {
            moves.push(next);
        }
    }
    Step { moves, turns: random.u64(..) }
}

/// What another decider does at the same time: often the very same.
fn beside(action_of_first: Action, simulation: &Simulation, random: &mut Rng) -> Action {
    if random.bool() { action_of_first } else { action(simulation, random) }
}

fn action(simulation: &Simulation, random: &mut Rng) -> Action {
    // One that everybody wants, and others.
    let key = if random.bool() { 0 } else { random.u8(..simulation.keys) };
    let other = random.u8(..simulation.keys);
    match random.u8(..100) {
        21..25 if key != other => Action::ReserveTwo(key, other),
        0..25 => Action::Reserve(key),
        25..30 => Action::Release(key),
        30..45 => Action::Append,
        45..47 => Action::AppendTwice,
        47..49 => Action::AppendAndSettle,
        49..52 => Action::SettleBeforeItArrives,
        52..55 => Action::DieAppending,
        55..59 => Action::Arrives,
        59..61 => Action::Check,
        61..68 => Action::CheckRequest,
        68..72 => Action::GiveUp,
        72..74 => Action::Die,
        74..83 => Action::TakeUp(random.u8(..simulation.requests)),
        83..86 => Action::StayStale,
        // The instant of expiry, and the milliseconds around it.
        86..95 => Action::Wait(WAITS_MS[random.usize(..WAITS_MS.len())]),
        95..97 => Action::Sweep,
        _ => Action::Reopen,
    }
}

impl Action {
    /// Whether it is one call on the store, that may be in flight beside others.
    const fn is_a_call(self) -> bool {
        match self {
            Self::Reserve(_)
            | Self::ReserveTwo(..)
            | Self::Append
            | Self::SettleBeforeItArrives
            | Self::Arrives
            | Self::Check
            | Self::CheckRequest
            | Self::GiveUp
            | Self::Sweep => true,
            Self::Release(_)
            | Self::AppendTwice
            | Self::AppendAndSettle
            | Self::DieAppending
            | Self::Die
            | Self::TakeUp(_)
            | Self::StayStale
            | Self::Wait(_)
            | Self::Reopen => false,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, one) in self.moves.iter().enumerate() {
            f.write_str(if number == 0 { "" } else { " || " })?;
            one.fmt(f)?;
        }
        if self.moves.len() > 1 { f.write_str("  (in flight at once)") } else { Ok(()) }
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = self.decider;
        match self.action {
            Action::Reserve(key) => write!(f, "decider {who} reserves key {key}"),
            Action::ReserveTwo(key, other) => write!(f, "decider {who} reserves keys {key} and {other} at once"),
            Action::Release(key) => write!(f, "decider {who} notes key {key} for release"),
            Action::Append => write!(f, "decider {who} appends"),
            Action::AppendTwice => write!(f, "decider {who} appends, and sends the same append again"),
            Action::AppendAndSettle => write!(f, "decider {who} appends, and settles the append"),
            Action::SettleBeforeItArrives => write!(f, "decider {who} settles its append, which is held back"),
            Action::DieAppending => {
                write!(f, "decider {who} dies, its append held back, and its request is sent again")
            }
            Action::Arrives => write!(f, "the append of decider {who} that was held back arrives"),
            Action::Check => write!(f, "decider {who} asks for the version"),
            Action::CheckRequest => write!(f, "decider {who} asks for version and request"),
            Action::GiveUp => write!(f, "decider {who} gives up"),
            Action::Die => write!(f, "decider {who} dies and starts anew"),
            Action::TakeUp(request) => write!(f, "decider {who} starts anew under the shared request {request}"),
            Action::StayStale => write!(f, "decider {who} starts anew on the version it had"),
            Action::Wait(millis) => write!(f, "{millis} ms pass"),
            Action::Sweep => f.write_str("somebody sweeps"),
            Action::Reopen => f.write_str("another handle on the data is used from here on"),
        }
    }
}
