//! Importing names: one command a line, many at a time, each under a request id of its own.
//!
//! An import may be killed, or dropped, at any moment and started again: a line that is committed already is answered
//! with its first outcome, and changes nothing.

use crate::ids::{imported_id, request_id};
use crate::item::Item;
use crate::lines::Line;
use freehold::limits::PENDING_DEFAULT;
use freehold::{AggregateId, Domain, Error, InvalidKey, Outcome, Text};
use std::collections::HashMap;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// How many names are under way at a time.
const AT_ONCE: usize = 256;
/// How long a command is sent again: until what a dead process left pending has surely expired, and a little longer.
const PATIENCE: Duration = PENDING_DEFAULT.saturating_add(Duration::from_secs(15));
/// How long to wait before a command is sent again.
const PAUSE: Duration = Duration::from_millis(50);

/// What came of an import, so far.
#[derive(Debug, Default)]
pub struct Report {
    /// How many names there were to import.
    pub names: usize,
    /// How many aggregates this import created.
    pub created: usize,
    /// How many lines an earlier import had committed.
    pub already_there: usize,
    /// The lines that a rule of the catalog refused, in the order in which they were decided.
    pub rejected: Vec<Refused>,
    /// The lines that failed otherwise.
    pub failed: Vec<Refused>,
}

impl Report {
    /// How many names are settled, one way or another.
    #[must_use]
    pub const fn settled(&self) -> usize {
        self.created + self.already_there + self.rejected.len() + self.failed.len()
    }

    fn add(&mut self, line: Line, answer: Answer) {
        match answer {
            Answer::Created => self.created += 1,
            Answer::AlreadyThere => self.already_there += 1,
            Answer::Error(error) if error.rejection().is_some() && !error.is_retryable() => {
                self.rejected.push(Refused { line, error });
            }
            Answer::Error(error) => self.failed.push(Refused { line, error }),
        }
    }
}

/// A line that was not imported, and why.
#[derive(Debug)]
pub struct Refused {
    /// The line.
    pub line: Line,
    /// Why.
    pub error: Error,
}

enum Answer {
    Created,
    AlreadyThere,
    Error(Error),
}

/// Imports `lines` as items of `tenant`, and calls `progress` whenever some are settled.
///
/// Lines of one name are decided in their order, so that it is always the first spelling that wins; lines of different
/// names don't wait for each other.
///
/// # Errors
///
/// When the store can't be used; what was settled until then is in `report`. What concerns one line only, such as
/// a name that is taken, is no error: it is reported.
///
/// # Cancel safety
///
/// Cancel safe: what is under way either is committed or leaves nothing behind. Await `domain.close()` afterwards.
pub async fn import<T: Item>(
    domain: &Domain,
    tenant: &str,
    lines: Vec<Line>,
    report: &mut Report,
    mut progress: impl FnMut(&Report),
) -> Result<(), Error> {
    report.names = lines.len();
    let tenant = Text::from(tenant);
    let mut names = by_name::<T>(lines)?.into_iter();
    let mut under_way = JoinSet::new();
    loop {
        while under_way.len() < AT_ONCE
            && let Some(lines) = names.next()
        {
            under_way.spawn(import_name::<T>(domain.clone(), tenant.clone(), lines));
        }
        let Some(done) = under_way.join_next().await else { break };
        let answers = match done {
            Ok(answers) => answers?,
            // A panic in a handler is an error of its command, so this one is ours.
            Err(failure) => std::panic::resume_unwind(failure.into_panic()),
        };
        for (line, answer) in answers {
            report.add(line, answer);
        }
        progress(report);
    }
    report.rejected.sort_by_key(|refused| refused.line.number);
    report.failed.sort_by_key(|refused| refused.line.number);
    Ok(())
}

/// The lines of each name, in the order of the file; the names in the order in which they occur first.
fn by_name<T: Item>(lines: Vec<Line>) -> Result<Vec<Vec<Line>>, InvalidKey> {
    let mut places: HashMap<Text, usize> = HashMap::new();
    let mut names: Vec<Vec<Line>> = Vec::new();
    for line in lines {
        let place = *places.entry(T::NAMES.key(&line.name)?).or_insert(names.len());
        if place == names.len() {
            names.push(Vec::new());
        }
        names[place].push(line);
    }
    Ok(names)
}

async fn import_name<T: Item>(domain: Domain, tenant: Text, lines: Vec<Line>) -> Result<Vec<(Line, Answer)>, Error> {
    let mut answers = Vec::with_capacity(lines.len());
    for line in lines {
        let answer = match create::<T>(&domain, &tenant, &line).await {
            Ok(outcome) if outcome.is_replay() => Answer::AlreadyThere,
            Ok(_) => Answer::Created,
            Err(error) if concerns_all(&error) => return Err(error),
            Err(error) => Answer::Error(error),
        };
        answers.push((line, answer));
    }
    Ok(answers)
}

/// Sends the command of a line until its outcome is settled: under the same request id, so that nothing happens twice.
async fn create<T: Item>(domain: &Domain, tenant: &Text, line: &Line) -> Result<Outcome<T>, Error> {
    let id = AggregateId::<T>::new(imported_id(line))?.tenant(tenant.clone())?;
    let give_up_at = Instant::now() + PATIENCE;
    loop {
        let command = domain.send(&id, T::create(line.name.clone()));
        let command = command.request_id(request_id(line)).metadata("kind", line.kind.as_str());
        match command.await {
            // The key may be a dead process's: its lease runs out.
            Err(error) if error.is_retryable() && Instant::now() < give_up_at => sleep(PAUSE).await,
            settled => return settled,
        }
    }
}

/// Whether the error would be that of every other line too.
const fn concerns_all(error: &Error) -> bool {
    matches!(
        error,
        Error::Unavailable(_)
            | Error::Overloaded { .. }
            | Error::NotWritten { .. }
            | Error::OutcomeUnknown { .. }
            | Error::Misconfigured(_)
            | Error::InvalidId(_)
    )
}
