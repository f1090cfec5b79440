//! Looking after a decision without append (C1, C4): a version, and what there is under a request id. With an id it is a
//! durable write, in groups.

use super::Core;
use super::errors::Trouble;
use super::keys::{name, request_lock};
use super::lane::{Answer, Job, LockWait};
use super::ledger::Entry;
use super::log;
use super::rows::column;
use super::session::Hidden;
use crate::ids::{RequestId, StreamId};
use crate::store::{Check, Checked, StoreError, StoreErrorKind};
use std::sync::Arc;
use tokio_postgres::types::ToSql;

/// A check with a request id that waits, and its answer once there is one.
pub(super) struct CheckJob {
    stream: StreamId,
    request: RequestId,
    lock: i64,
    names: [u64; 1],
    answer: Answer<Checked>,
    kept: Option<Found>,
    _entry: Entry,
}

/// What the server found.
#[derive(Clone, Copy)]
struct Found {
    version: u64,
    has_commit: bool,
    mark: u64,
}

impl CheckJob {
    pub(super) fn new(stream: StreamId, request: RequestId, answer: Answer<Checked>, entry: Entry) -> Self {
        let lock = request_lock(&stream, &request);
        // One mark a request in a group; another check of it waits for the next one.
        let names = [name(&(&stream.aggregate, &stream.tenant, &request))];
        Self { stream, request, lock, names, answer, kept: None, _entry: entry }
    }
}

impl Job for CheckJob {
    fn names(&self) -> &[u64] {
        &self.names
    }

    fn bytes(&self) -> usize {
        512
    }

    async fn call(core: &Core, wait: LockWait, jobs: &mut [Self]) -> Result<(), Trouble> {
        let mut locks: Vec<i64> = jobs.iter().map(|job| job.lock).collect();
        locks.sort_unstable();
        locks.dedup();
        let rows = {
            let jobs = &*jobs;
            let texts = |part: fn(&Self) -> &str| Hidden(jobs.iter().map(part).collect::<Vec<&str>>());
            let params: &[&(dyn ToSql + Sync)] = &[
                &wait,
                &locks,
                &texts(|job| &job.stream.aggregate.context),
                &texts(|job| &job.stream.aggregate.name),
                &texts(|job| &job.stream.tenant),
                &texts(|job| &job.stream.id),
                &texts(|job| job.request.as_str()),
            ];
            core.sessions.lanes.call(&core.sessions.statements.check, params).await?
        };
        let what = || "the answer to a look at requests".to_owned();
        let row = rows.first().ok_or_else(|| Trouble::Damaged { row: what(), column: "version" })?;
        let numbers = |name| column::<Vec<Option<i64>>>(row, name, &what);
        let (versions, firsts, marks) = (numbers("version")?, numbers("first")?, numbers("mark")?);
        if [versions.len(), firsts.len(), marks.len()] != [jobs.len(); 3] {
            return Err(Trouble::Damaged { row: what(), column: "version" });
        }
        let found = versions.into_iter().zip(firsts).zip(marks);
        for (job, ((version, first), mark)) in jobs.iter_mut().zip(found) {
            let number = |number: Option<i64>| number.unwrap_or_default().cast_unsigned();
            job.kept = Some(Found { version: number(version), has_commit: first.is_some(), mark: number(mark) });
        }
        Ok(())
    }

    fn answer(self, core: &Arc<Core>) {
        match self.kept {
            Some(found) if found.has_commit => {
                let core = Arc::clone(core);
                core.runtime.clone().spawn(async move { self.answer_with_first(&core, found).await });
            }
            Some(Found { version, mark, .. }) => self.answer.give(Ok(Checked { version, first: None, mark })),
            None => {
                let message = "the server did not answer for a request; try again";
                self.answer.give(Err(StoreError::not_done(StoreErrorKind::Unavailable, message)));
            }
        }
    }

    fn fail(self, error: &StoreError) {
        self.answer.give(Err(error.clone()));
    }
}

impl CheckJob {
    /// A commit that was there is there: not to find it is trouble, and never the answer that there is none.
    async fn answer_with_first(self, core: &Core, Found { version, mark, .. }: Found) {
        let gone = || {
            let message = format!("{}: a commit was there and is not any more; try again", core.site());
            Trouble::store(StoreErrorKind::Unavailable, message)
        };
        let first = log::first(core, &self.stream, &self.request).await.and_then(|first| first.ok_or_else(gone));
        let checked = first.map(|first| Checked { version, first: Some(first), mark });
        self.answer.give(checked.map_err(|trouble| log::of_read(core, &trouble)));
    }
}

/// Reads the version of a stream.
pub(super) async fn version(core: &Core, check: &Check) -> Result<Checked, Trouble> {
    let stream = &check.stream;
    let parts = [&*stream.id, &*stream.aggregate.name, &*stream.aggregate.context, &*stream.tenant].map(Hidden);
    let [id, aggregate, context, tenant] = &parts;
    let rows = core.sessions.readers.call(&core.sessions.statements.version, &[id, aggregate, context, tenant]).await?;
    let what = || format!("the version of {stream}");
    let version = rows.first().map_or(Ok(None), |row| column::<Option<i64>>(row, "version", &what))?;
    Ok(Checked { version: version.unwrap_or_default().cast_unsigned(), first: None, mark: 0 })
}
