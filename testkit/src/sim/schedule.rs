//! Schedules: what happens in which order, drawn from a seed. Nothing is run here.

use super::Simulation;
use std::fmt;

/// One step: who does what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
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
    /// Sends its append again, as one does whose answer was lost.
    AppendTwice,
    /// Hands its append over to a network that holds it back, and settles it.
    SettleBeforeItArrives,
    /// The append that was held back arrives.
    Arrives,
    /// Gives up what it reserved.
    GiveUp,
    /// Dies, and starts anew without giving up.
    Die,
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

pub(super) fn generate(simulation: &Simulation, seed: u64) -> Vec<Step> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..simulation.steps)
        .map(|_| Step { decider: random.u8(..simulation.deciders), action: action(simulation, &mut random) })
        .collect()
}

fn action(simulation: &Simulation, random: &mut fastrand::Rng) -> Action {
    let (key, other) = (random.u8(..simulation.keys), random.u8(..simulation.keys));
    match random.u8(..100) {
        0..30 => Action::Reserve(key),
        30..35 => Action::ReserveTwo(key, other),
        35..45 => Action::Release(key),
        45..63 => Action::Append,
        63..66 => Action::AppendTwice,
        66..70 => Action::SettleBeforeItArrives,
        70..73 => Action::Arrives,
        73..79 => Action::GiveUp,
        79..83 => Action::Die,
        83..87 => Action::StayStale,
        // The instant of expiry, and the milliseconds around it.
        87..95 => Action::Wait([1, PENDING_MS / 2, PENDING_MS - 1, PENDING_MS, PENDING_MS + 1][random.usize(..5)]),
        95..98 => Action::Sweep,
        _ => Action::Reopen,
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = self.decider;
        match self.action {
            Action::Reserve(key) => write!(f, "decider {who} reserves key {key}"),
            Action::ReserveTwo(key, other) => write!(f, "decider {who} reserves keys {key} and {other} at once"),
            Action::Release(key) => write!(f, "decider {who} notes key {key} for release"),
            Action::Append => write!(f, "decider {who} appends"),
            Action::AppendTwice => write!(f, "decider {who} appends, and sends the same append again"),
            Action::SettleBeforeItArrives => write!(f, "decider {who} settles its append, which is held back"),
            Action::Arrives => write!(f, "the append of decider {who} that was held back arrives"),
            Action::GiveUp => write!(f, "decider {who} gives up"),
            Action::Die => write!(f, "decider {who} dies and starts anew"),
            Action::StayStale => write!(f, "decider {who} starts anew on the version it had"),
            Action::Wait(millis) => write!(f, "{millis} ms pass"),
            Action::Sweep => f.write_str("somebody sweeps"),
            Action::Reopen => f.write_str("another handle on the data is used from here on"),
        }
    }
}
