//! The seeded simulation: random schedules of deciders over one store, every answer compared with the [`Model`].
//!
//! A schedule follows from its seed alone. Calls of several deciders may be in flight at once; their answers must be
//! those of any one order. A schedule that fails is shortened until every move of it is needed, and printed with its seed.
//!
//! [`Model`]: crate::model::Model

mod audit;
mod call;
mod campaign;
mod judge;
mod schedule;
mod world;

pub use campaign::run_seeds;
pub use schedule::{Action, Move, Step};

use crate::conformance::Subject;
use std::fmt;
use world::World;

/// What a simulation is made of.
#[derive(Debug, Clone, Copy)]
pub struct Simulation {
    /// How many attempts are under way at any time.
    pub deciders: u8,
    /// How many aggregates they belong to; fewer than deciders makes attempts on one aggregate meet.
    pub aggregates: u8,
    /// How many keys they want; few make them meet.
    pub keys: u8,
    /// How many request ids more than one of them may send; few make their sends meet.
    pub requests: u8,
    /// How many steps a schedule has.
    pub steps: usize,
}

impl Default for Simulation {
    fn default() -> Self {
        Self { deciders: 5, aggregates: 3, keys: 4, requests: 3, steps: 60 }
    }
}

/// A schedule on which store and model disagree.
#[derive(Debug, Clone)]
pub struct Disagreement {
    /// The seed that shows it.
    pub seed: u64,
    /// The shortest schedule found that still shows it.
    pub schedule: Vec<Step>,
    /// Where they disagree.
    pub what: String,
}

impl Simulation {
    /// The shapes that seeds take in turn: the smaller a world, the sooner its deciders meet.
    pub const SHAPES: [Self; 4] = [
        Self { deciders: 2, aggregates: 2, keys: 1, requests: 1, steps: 12 },
        Self { deciders: 3, aggregates: 2, keys: 2, requests: 2, steps: 16 },
        Self { deciders: 4, aggregates: 1, keys: 2, requests: 1, steps: 18 },
        Self { deciders: 5, aggregates: 3, keys: 3, requests: 2, steps: 24 },
    ];

    /// The shape whose turn `seed` is.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let turn = usize::try_from(seed % Self::SHAPES.len() as u64);
        Self::SHAPES[turn.unwrap_or_default()]
    }

    /// The schedule of `seed`.
    #[must_use]
    pub fn schedule(&self, seed: u64) -> Vec<Step> {
        schedule::generate(self, seed)
    }

    /// Runs the schedule of `seed` on the subject, in a context of its own, so that many runs may share one.
    ///
    /// # Errors
    ///
    /// The [`Disagreement`], shortened.
    pub async fn run(&self, subject: &Subject, seed: u64) -> Result<(), Box<Disagreement>> {
        let schedule = self.schedule(seed);
        match World::run(self, subject, &schedule).await {
            Ok(()) => Ok(()),
            Err(what) => Err(Box::new(self.shorten(subject, Disagreement { seed, schedule, what }).await)),
        }
    }

    /// Leaves out ever smaller parts of the schedule, and then moves of its steps, as long as it still fails (Zeller's delta
    /// debugging, simplified).
    async fn shorten(&self, subject: &Subject, mut found: Disagreement) -> Disagreement {
        let mut part = found.schedule.len() / 2;
        while part > 0 {
            let (mut start, mut shorter) = (0, false);
            while start < found.schedule.len() {
                let mut candidate = found.schedule.clone();
                candidate.drain(start..(start + part).min(candidate.len()));
                match World::run(self, subject, &candidate).await {
                    Err(what) => {
                        (found.schedule, found.what, shorter) = (candidate, what, true);
                    }
                    Ok(()) => start += part,
                }
            }
            if !shorter || part > 1 {
                part /= 2;
            }
        }
        self.take_apart(subject, found).await
    }

    /// Leaves out moves beside which the others fail as well.
    async fn take_apart(&self, subject: &Subject, mut found: Disagreement) -> Disagreement {
        for step in 0..found.schedule.len() {
            let mut place = 0;
            while place < found.schedule[step].moves.len() && found.schedule[step].moves.len() > 1 {
                let mut candidate = found.schedule.clone();
                candidate[step].moves.remove(place);
                match World::run(self, subject, &candidate).await {
                    Err(what) => (found.schedule, found.what) = (candidate, what),
                    Ok(()) => place += 1,
                }
            }
        }
        found
    }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "store and model disagree: {}", self.what)?;
        writeln!(f, "seed {}, shortest schedule found ({} steps):", self.seed, self.schedule.len())?;
        self.schedule.iter().enumerate().try_for_each(|(number, step)| writeln!(f, "  {:>3}  {step}", number + 1))
    }
}

impl std::error::Error for Disagreement {}
