//! Reserves and give-ups in groups (R1, R3, R5), and the sweep (R7).

use super::Core;
use super::errors::Trouble;
use super::keys::{KeyColumns, Mention, Namespaces, name};
use super::lane::{Answer, Job, LockWait};
use super::ledger::Entry;
use super::rows::column;
use crate::clock::Timestamp;
use crate::ids::Token;
use crate::limits::LATE_APPEND_MAX;
use crate::reservation::Reserved;
use crate::store::{GiveUp, Reserve, ReserveKey, ReserveReply, StoreError};
use std::sync::Arc;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// How many records one statement of a sweep removes at most.
const SWEPT_MAX: i64 = 1_000;
/// How many pages of the table one statement of a sweep looks at: 32 MiB.
pub(super) const SWEPT_PAGES: i64 = 4_096;

/// A reserve or a give-up that waits, and its answer once there is one.
pub(super) struct LeaseJob {
    asks: Asks,
    names: Vec<u64>,
    _entry: Entry,
}

enum Asks {
    Reserve(Reserve, Answer<ReserveReply>, Option<Result<ReserveReply, StoreError>>),
    GiveUp(GiveUp, Answer<()>),
}

impl LeaseJob {
    pub(super) fn reserve(reserve: Reserve, answer: Answer<ReserveReply>, entry: Entry) -> Self {
        let names = reserve.keys.iter().map(|asked| name(&asked.key)).collect();
        Self { asks: Asks::Reserve(reserve, answer, None), names, _entry: entry }
    }

    pub(super) fn give_up(give_up: GiveUp, answer: Answer<()>, entry: Entry) -> Self {
        let names = give_up.keys.iter().map(name).collect();
        Self { asks: Asks::GiveUp(give_up, answer), names, _entry: entry }
    }
}

/// A key that somebody asks for, of the job at a place.
#[derive(Clone, Copy)]
struct Asked<'g> {
    mention: Mention<'g>,
    of: &'g ReserveKey,
    job: usize,
    /// Its place in the job's own list.
    place: usize,
}

impl Job for LeaseJob {
    fn names(&self) -> &[u64] {
        &self.names
    }

    fn bytes(&self) -> usize {
        self.names.len() * 256
    }

    async fn call(core: &Core, wait: LockWait, jobs: &mut [Self]) -> Result<(), Trouble> {
        give_up(core, wait, jobs).await?;
        while jobs.iter().any(|job| matches!(job.asks, Asks::Reserve(_, _, None))) {
            let (asked, reply) = {
                let asked = asked(jobs);
                let reply = reserve(core, wait, &asked).await?;
                // Only the places are needed from here on: the jobs get their answers.
                (asked.iter().map(|asked| (asked.job, asked.place)).collect::<Vec<_>>(), reply)
            };
            if !reply.refuse_stale(jobs, &asked) {
                reply.keep(jobs, &asked);
                break;
            }
        }
        Ok(())
    }

    fn answer(self, _: &Arc<Core>) {
        match self.asks {
            Asks::Reserve(_, answer, kept) => answer.give(kept.unwrap_or_else(|| Err(unanswered()))),
            Asks::GiveUp(_, answer) => answer.give(Ok(())),
        }
    }

    fn fail(self, error: &StoreError) {
        match self.asks {
            Asks::Reserve(_, answer, _) => answer.give(Err(error.clone())),
            Asks::GiveUp(_, answer) => answer.give(Err(error.clone())),
        }
    }
}

fn unanswered() -> StoreError {
    let message = "the server did not answer for a key; try again";
    StoreError::unknown(crate::store::StoreErrorKind::Unavailable, message)
}

/// The keys of the reserves that have no answer yet, in their order.
fn asked(jobs: &[LeaseJob]) -> Vec<Asked<'_>> {
    let mut all: Vec<Asked<'_>> = Vec::new();
    for (job, LeaseJob { asks, .. }) in jobs.iter().enumerate() {
        let Asks::Reserve(reserve, _, None) = asks else { continue };
        all.extend(reserve.keys.iter().enumerate().map(|(place, of)| {
            let mention = Mention { key: &of.key, holder: &reserve.holder, token: of.token };
            Asked { mention, of, job, place }
        }));
    }
    all.sort_by(|one, other| one.mention.order().cmp(&other.mention.order()));
    all
}

/// What the server says of a group of reserves.
struct Reply {
    /// The namespaces that were rekeyed: nothing was done then.
    stale: Option<Vec<(String, String)>>,
    status: Option<Vec<i16>>,
    until_ms: Vec<Option<i64>>,
    same_request: Vec<bool>,
    now: Timestamp,
}

async fn reserve(core: &Core, wait: LockWait, asked: &[Asked<'_>]) -> Result<Reply, Trouble> {
    let namespaces = Namespaces::of(asked.iter().map(|asked| (&asked.of.key, asked.of.epoch)));
    let keys = KeyColumns::of(&asked.iter().map(|asked| asked.mention));
    let requests: Vec<i64> = asked.iter().map(|asked| asked.of.request.0.cast_signed()).collect();
    let pending: Vec<i64> = asked.iter().map(|asked| i64::try_from(asked.of.pending_ms).unwrap_or(i64::MAX)).collect();
    let (contexts, names) = (namespaces.contexts(), namespaces.names());
    let (locks, epochs) = (namespaces.locks(), namespaces.epochs());
    let mut params: Vec<&(dyn ToSql + Sync)> = vec![&wait, &locks, &contexts, &names, &epochs];
    params.extend(keys.params());
    params.extend([&requests as &(dyn ToSql + Sync), &pending]);
    let rows = core.sessions.lanes.call(&core.sessions.statements.reserve, &params).await?;
    let what = || "the answer to a reserve".to_owned();
    let row: &Row = rows.first().ok_or_else(|| Trouble::Damaged { row: what(), column: "status" })?;
    let stale: Option<Vec<i32>> = column(row, "stale", &what)?;
    let at = |place: i32| {
        let place = usize::try_from(place).unwrap_or_default().saturating_sub(1);
        (
            contexts.get(place).copied().unwrap_or_default().to_owned(),
            names.get(place).copied().unwrap_or_default().to_owned(),
        )
    };
    let status: Option<Vec<i16>> = column(row, "status", &what)?;
    if status.as_ref().is_some_and(|status| status.len() != asked.len()) {
        return Err(Trouble::Damaged { row: what(), column: "status" });
    }
    Ok(Reply {
        stale: stale.map(|places| places.into_iter().map(at).collect()),
        status,
        until_ms: column::<Option<_>>(row, "until_ms", &what)?.unwrap_or_default(),
        same_request: column::<Option<_>>(row, "same_request", &what)?.unwrap_or_default(),
        now: Timestamp::from_millis(column(row, "now", &what)?),
    })
}

impl Reply {
    /// Answers the jobs that have a key of a rekeyed namespace, and says whether there was one: the others go once more.
    fn refuse_stale(&self, jobs: &mut [LeaseJob], asked: &[(usize, usize)]) -> bool {
        let Some(stale) = &self.stale else { return false };
        for (job, _) in asked {
            let Asks::Reserve(reserve, _, kept @ None) = &mut jobs[*job].asks else { continue };
            let is_stale = |key: &&ReserveKey| {
                stale.iter().any(|(context, name)| *name == *key.key.namespace && *context == *key.key.context)
            };
            if let Some(first) = reserve.keys.iter().find(is_stale) {
                *kept = Some(Err(StoreError::namespace_changed(&first.key.namespace)));
            }
        }
        true
    }

    fn keep(&self, jobs: &mut [LeaseJob], asked: &[(usize, usize)]) {
        for job in &mut *jobs {
            if let Asks::Reserve(reserve, _, kept @ None) = &mut job.asks {
                *kept = Some(Ok(ReserveReply { answers: vec![Reserved::Newly; reserve.keys.len()], now: self.now }));
            }
        }
        let Some(status) = &self.status else { return };
        for (number, ((job, place), status)) in asked.iter().zip(status).enumerate() {
            if let Asks::Reserve(_, _, Some(Ok(reply))) = &mut jobs[*job].asks
                && let Some(answer) = reply.answers.get_mut(*place)
            {
                *answer = self.answer(number, *status);
            }
        }
    }

    fn answer(&self, number: usize, status: i16) -> Reserved {
        match status {
            0 => Reserved::Newly,
            1 => Reserved::AlreadyHeld,
            2 => Reserved::TakenHeld,
            _ => Reserved::TakenPending {
                until: self.until_ms.get(number).copied().flatten().map_or(self.now, Timestamp::from_millis),
                same_request: self.same_request.get(number).copied().unwrap_or_default(),
            },
        }
    }
}

async fn give_up(core: &Core, wait: LockWait, jobs: &[LeaseJob]) -> Result<(), Trouble> {
    let mut mentions: Vec<Mention<'_>> = Vec::new();
    for job in jobs {
        let Asks::GiveUp(GiveUp { holder, token, keys }, _) = &job.asks else { continue };
        mentions.extend(mentions_of(holder, *token, keys));
    }
    if mentions.is_empty() {
        return Ok(());
    }
    mentions.sort_by(|one, other| one.order().cmp(&other.order()));
    let keys = KeyColumns::of(&mentions.iter().copied());
    let mut params: Vec<&(dyn ToSql + Sync)> = vec![&wait];
    params.extend(keys.params());
    core.sessions.lanes.call(&core.sessions.statements.give_up, &params).await.map(drop)
}

/// The keys of one attempt.
pub(super) fn mentions_of<'c>(
    holder: &'c crate::ids::StreamId,
    token: Token,
    keys: &'c [crate::reservation::KeyId],
) -> impl Iterator<Item = Mention<'c>> {
    keys.iter().map(move |key| Mention { key, holder, token })
}

/// Removes what has expired: all of it, or, with `pages`, only in that part of the table (R7). Says how many records.
pub(super) async fn sweep(core: &Core, pages: Option<(i64, i64)>) -> Result<u64, Trouble> {
    let (first, end) = match pages {
        Some(pages) => pages,
        None => (0, self::pages(core).await?),
    };
    let mut swept: u64 = 0;
    let mut from = first;
    while from < end {
        let to = (from + SWEPT_PAGES).min(end);
        let rows = core.sessions.others.call(&core.sessions.statements.sweep, &[&from, &to, &SWEPT_MAX]).await?;
        let what = || "the answer to a sweep".to_owned();
        let removed = rows.first().map_or(Ok(0), |row| column::<i64>(row, "swept", &what))?;
        swept += removed.unsigned_abs();
        if removed < SWEPT_MAX {
            from = to;
        }
    }
    let late_ms = i64::try_from(LATE_APPEND_MAX.as_millis()).unwrap_or(i64::MAX);
    loop {
        let forget: [&(dyn ToSql + Sync); 2] = [&late_ms, &SWEPT_MAX];
        let rows = core.sessions.others.call(&core.sessions.statements.forget_late, &forget).await?;
        let what = || "the answer to forgetting late appends".to_owned();
        // Of each kind so many at most: with fewer in all, there are none left.
        if rows.first().map_or(Ok(0), |row| column::<i64>(row, "forgotten", &what))? < SWEPT_MAX {
            break;
        }
    }
    Ok(swept)
}

/// How many pages the table of reservations has.
pub(super) async fn pages(core: &Core) -> Result<i64, Trouble> {
    let rows = core.sessions.readers.call(&core.sessions.statements.pages, &[]).await?;
    let what = || "the size of the reservations".to_owned();
    rows.first().map_or(Ok(0), |row| column(row, "pages", &what))
}
