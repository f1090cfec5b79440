//! Appends in groups: encoded once when they are handed over, sent as arrays, each answered for itself (R4, R8, S3).

use super::Core;
use super::errors::Trouble;
use super::keys::{KeyColumns, Mention, Namespaces, integer, name, request_lock, uuid};
use super::lane::{Answer, Job, LockWait};
use super::ledger::Entry;
use super::rows::column;
use super::session::Hidden;
use super::{log, values};
use crate::clock::Timestamp;
use crate::reservation::lifecycle::KeyUse;
use crate::store::{Append, AppendReply, KeyClaim, Refusal, StoreError, StoreErrorKind, Written};
use std::sync::Arc;
use tokio_postgres::Row;

/// How often an append is sent again whose first commit was there and is not any more: a mate in its group had it.
const SENT_MAX: u32 = 4;

/// An append that waits, and its answer once there is one.
pub(super) struct AppendJob {
    append: Append,
    events: String,
    keys: Option<String>,
    names: Vec<u64>,
    lock: i64,
    answer: Answer<AppendReply>,
    kept: Option<Verdict>,
    sent: u32,
    _entry: Entry,
}

/// What the server says of an append.
enum Verdict {
    Answer(Result<AppendReply, StoreError>),
    /// The request has a commit, which is to be read.
    Replay,
}

impl AppendJob {
    /// Encodes an append. One that can't be stored is refused before anything is sent.
    pub(super) fn new(
        append: Append,
        answer: Answer<AppendReply>,
        entry: Entry,
    ) -> Result<Self, (Answer<AppendReply>, StoreError)> {
        let encoded =
            values::events(&append).and_then(|events| Ok((events, values::keys(&append, &append.key_changes())?)));
        let (events, keys) = match encoded {
            Ok(encoded) => encoded,
            Err(error) => return Err((answer, error)),
        };
        let mut names = Vec::with_capacity(append.keys.len() + 1);
        names.push(name(&append.stream));
        names.extend(append.keys.iter().map(|claim| name(&claim.key)));
        let lock = request_lock(&append.stream, &append.request.id);
        Ok(Self { append, events, keys, names, lock, answer, kept: None, sent: 0, _entry: entry })
    }

    /// What the streams of a group are locked by, in this order.
    fn order(&self) -> (&str, &str, &str, &str) {
        let stream = &self.append.stream;
        (&stream.id, &stream.aggregate.name, &stream.aggregate.context, &stream.tenant)
    }

    fn keep(&mut self, verdict: Result<AppendReply, StoreError>) {
        self.kept = Some(Verdict::Answer(verdict));
    }

    fn keep_refusal(&mut self, refusal: Refusal) {
        self.keep(Ok(AppendReply::Refused(refusal)));
    }
}

impl Job for AppendJob {
    fn names(&self) -> &[u64] {
        &self.names
    }

    fn bytes(&self) -> usize {
        self.events.len() + self.keys.as_ref().map_or(0, String::len) + 512
    }

    async fn call(core: &Core, wait: LockWait, jobs: &mut [Self]) -> Result<(), Trouble> {
        jobs.sort_by(|one, other| one.order().cmp(&other.order()));
        let rows = {
            let group = Group::of(jobs);
            group.send(core, wait).await?
        };
        keep_answers(jobs, &rows)
    }

    fn answer(mut self, core: &Arc<Core>) {
        match self.kept.take() {
            Some(Verdict::Answer(answer)) => self.answer.give(answer),
            Some(Verdict::Replay) => {
                let core = Arc::clone(core);
                let runtime = core.runtime.clone();
                runtime.spawn(async move { self.replay(&core).await });
            }
            None => {
                let message = "the server did not say what became of an append; try again";
                self.answer.give(Err(StoreError::unknown(StoreErrorKind::Unavailable, message)));
            }
        }
    }

    fn fail(self, error: &StoreError) {
        self.answer.give(Err(error.clone()));
    }
}

impl AppendJob {
    /// Answers with the first commit of the request (C4).
    async fn replay(mut self, core: &Arc<Core>) {
        match log::first(core, &self.append.stream, &self.append.request.id).await {
            Ok(Some(first)) => self.answer.give(Ok(AppendReply::Refused(Refusal::Replay(first)))),
            Ok(None) if self.sent < SENT_MAX => {
                self.sent += 1;
                core.appends.push(self);
            }
            Ok(None) => self.answer.give(Ok(AppendReply::Refused(Refusal::Conflict))),
            // Only the reading failed: the append itself was refused.
            Err(trouble) => {
                let error = trouble.explained(core.site());
                self.answer.give(Err(StoreError::not_done(error.kind(), error.to_string())));
            }
        }
    }
}

/// Keeps what the server says of each commit of a group.
fn keep_answers(jobs: &mut [AppendJob], rows: &[Row]) -> Result<(), Trouble> {
    let what = || "the answer to an append".to_owned();
    let row = rows.first().ok_or_else(|| Trouble::Damaged { row: what(), column: "status" })?;
    let status: Option<Vec<i16>> = column(row, "status", &what)?;
    let positions: Vec<i64> = column(row, "positions", &what)?;
    let at = Timestamp::from_millis(column(row, "at_ms", &what)?);
    for (place, job) in jobs.iter_mut().enumerate() {
        let written = Written { position: positions.get(place).map_or(0, |position| position.cast_unsigned()), at };
        match status.as_ref().map_or(0, |status| status.get(place).copied().unwrap_or(-1)) {
            0 => job.keep(Ok(AppendReply::Written(written))),
            1 => job.keep_refusal(Refusal::Conflict),
            2 => job.kept = Some(Verdict::Replay),
            3 => job.keep_refusal(Refusal::KeyLost),
            4 => {
                let fences: Option<Vec<i64>> = column(row, "fences", &what)?;
                let mark = fences.and_then(|fences| fences.get(place).copied()).unwrap_or_default();
                job.keep_refusal(Refusal::Fenced { mark: mark.cast_unsigned() });
            }
            5 => {
                let error = stale(row, &job.append)?;
                job.keep(Err(error));
            }
            _ => return Err(Trouble::Damaged { row: what(), column: "status" }),
        }
    }
    Ok(())
}

/// The error for the first key of the append whose namespace was rekeyed (R13).
fn stale(row: &Row, append: &Append) -> Result<StoreError, Trouble> {
    let what = || "the answer to an append".to_owned();
    let contexts: Vec<&str> = column(row, "stale_contexts", &what)?;
    let names: Vec<&str> = column(row, "stale_names", &what)?;
    let is_stale = |claim: &&KeyClaim| {
        let mut stale = contexts.iter().zip(&names);
        stale.any(|(context, name)| *name == claim.key.namespace.as_str() && *context == claim.key.context.as_str())
    };
    let name = append.keys.iter().find(is_stale).map_or("", |claim| claim.key.namespace.as_str());
    Ok(StoreError::namespace_changed(name))
}

/// A key of a group, with its place.
struct Claim<'g> {
    mention: Mention<'g>,
    of: &'g KeyClaim,
    commit: usize,
    place: usize,
}

/// A group as it is sent.
struct Group<'g> {
    jobs: &'g [AppendJob],
    claims: Vec<Claim<'g>>,
    namespaces: Namespaces<'g>,
    locks: Vec<i64>,
}

impl<'g> Group<'g> {
    /// Of jobs in their order. The locks, and the keys of all, get theirs.
    fn of(jobs: &'g [AppendJob]) -> Self {
        let mut claims: Vec<Claim<'g>> = Vec::new();
        for (commit, AppendJob { append, .. }) in jobs.iter().enumerate() {
            let claim = |(place, of): (usize, &'g KeyClaim)| {
                let mention = Mention { key: &of.key, holder: &append.stream, token: append.token };
                Claim { mention, of, commit: commit + 1, place }
            };
            claims.extend(append.keys.iter().enumerate().map(claim));
        }
        claims.sort_by(|one, other| one.mention.order().cmp(&other.mention.order()));
        let namespaces = Namespaces::of(claims.iter().map(|claim| (&claim.of.key, claim.of.epoch)));
        let mut locks: Vec<i64> = jobs.iter().map(|job| job.lock).collect();
        locks.sort_unstable();
        locks.dedup();
        Self { jobs, claims, namespaces, locks }
    }

    async fn send(&self, core: &Core, wait: LockWait) -> Result<Vec<Row>, Trouble> {
        let texts = |part: fn(&'g AppendJob) -> &'g str| Hidden(self.jobs.iter().map(part).collect::<Vec<&str>>());
        let optional =
            |part: fn(&'g AppendJob) -> Option<&'g str>| Hidden(self.jobs.iter().map(part).collect::<Vec<_>>());
        let places = |part: fn(&Claim<'g>) -> usize| -> Vec<i32> {
            self.claims.iter().map(|claim| i32::try_from(part(claim)).unwrap_or(i32::MAX)).collect()
        };
        let versions: Vec<i64> =
            self.jobs.iter().map(|job| integer(job.append.expected_version).saturating_add(1)).collect();
        let fingerprints: Vec<&[u8]> = self.jobs.iter().map(|job| &job.append.request.fingerprint.0[..]).collect();
        let tokens: Vec<_> = self.jobs.iter().map(|job| uuid(job.append.token)).collect();
        let marks: Vec<i64> = self.jobs.iter().map(|job| integer(job.append.mark)).collect();
        let of: Vec<i32> =
            self.claims.iter().map(|claim| self.namespaces.place(&claim.of.key, claim.of.epoch)).collect();
        let uses: Vec<i16> = self.claims.iter().map(|claim| use_number(claim.of.key_use)).collect();
        let takes_only = self.claims.iter().all(|claim| claim.of.key_use == KeyUse::Take);
        let keys = KeyColumns::of(&self.claims.iter().map(|claim| claim.mention));
        let [key, namespace, scope, context, aggregate, tenant, id, token] = keys.params();
        core.sessions
            .lanes
            .call(
                &core.sessions.statements.append,
                &[
                    &wait,
                    &self.locks,
                    &texts(|job| &job.append.stream.aggregate.context),
                    &texts(|job| &job.append.stream.aggregate.name),
                    &texts(|job| &job.append.stream.tenant),
                    &texts(|job| &job.append.stream.id),
                    &versions,
                    &texts(|job| job.append.kind.as_str()),
                    &texts(|job| &job.append.command),
                    &texts(|job| job.append.request.id.as_str()),
                    &fingerprints,
                    &tokens,
                    &marks,
                    &texts(|job| &job.events),
                    &optional(|job| job.keys.as_deref()),
                    &optional(|job| job.append.metadata.as_deref().map(serde_json::value::RawValue::get)),
                    &self.namespaces.locks(),
                    &self.namespaces.contexts(),
                    &self.namespaces.names(),
                    &self.namespaces.epochs(),
                    &places(|claim| claim.commit),
                    &of,
                    &places(|claim| claim.place),
                    &uses,
                    &takes_only,
                    key,
                    namespace,
                    scope,
                    context,
                    aggregate,
                    tenant,
                    id,
                    token,
                ],
            )
            .await
    }
}

/// As `append_1` writes it.
fn use_number(key_use: KeyUse) -> i16 {
    match key_use {
        KeyUse::Take => 0,
        KeyUse::Keep => 1,
        KeyUse::Release => 2,
    }
}
