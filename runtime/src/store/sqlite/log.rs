//! The log in SQLite: appending, settling and reading commits, and the snapshots beside them.

use super::errors::Trouble;
use super::reservations;
use super::work::{Work, integer};
use crate::clock::Timestamp;
use crate::ids::{AggregateType, RequestId, StreamId, Token};
use crate::reservation::lifecycle::Lost;
use crate::store::{
    Append, AppendReply, Check, Checked, CommitKind, CommitRecord, Fingerprint, KeyChange, Load, LoadedStream, Refusal,
    RequestKey, Settle, Settled, SnapshotRecord, StoreErrorKind, Written,
};
use crate::text::Text;
use rusqlite::{Connection, Row, params};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is read of a commit whose stream is known; `STREAM_COLUMNS` come after it when it is not.
macro_rules! commit_columns {
    () => {
        "position, version, kind, command, request_id, fingerprint, token, events, keys, metadata, at_ms"
    };
}

pub(super) const INSERT: &str =
    "INSERT INTO commits (context, aggregate, tenant, id, version, kind, command, request_id,
         fingerprint, token, events, keys, metadata, at_ms)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) ON CONFLICT DO NOTHING";

/// What the commit took and freed, when a release turned out to free nothing.
const RECORD_KEYS: &str = "UPDATE commits SET keys = ?2 WHERE position = ?1";

pub(super) const BY_VERSION: &str = "SELECT position, at_ms, token FROM commits
     WHERE id = ?1 AND aggregate = ?2 AND context = ?3 AND tenant = ?4 AND version = ?5";

pub(super) const NEWEST: &str = "SELECT version FROM commits
     WHERE id = ?1 AND aggregate = ?2 AND context = ?3 AND tenant = ?4 ORDER BY version DESC LIMIT 1";

pub(super) const BY_REQUEST: &str = concat!(
    "SELECT ",
    commit_columns!(),
    ", context, aggregate, tenant, id FROM commits
     WHERE request_id = ?1 AND aggregate = ?2 AND context = ?3 AND tenant = ?4"
);

pub(super) const OF_STREAM: &str = concat!(
    "SELECT ",
    commit_columns!(),
    " FROM commits WHERE id = ?1 AND aggregate = ?2 AND context = ?3 AND tenant = ?4 AND version > ?5 ORDER BY version"
);

pub(super) const AFTER: &str = concat!(
    "SELECT ",
    commit_columns!(),
    ", context, aggregate, tenant, id FROM commits WHERE position > ?1 ORDER BY position LIMIT ?2"
);

/// Not one that is ahead of its stream, as a log that was restored by hand may leave it: no append would ever fit.
pub(super) const SNAPSHOT: &str = "SELECT version, is_created, is_deleted, state FROM snapshots AS kept
     WHERE id = ?1 AND aggregate = ?2 AND context = ?3 AND tenant = ?4 AND state_version = ?5 AND version > ?6
       AND EXISTS (SELECT 1 FROM commits
           WHERE id = ?1 AND aggregate = ?2 AND context = ?3 AND tenant = ?4 AND version = kept.version)";

/// An older state never replaces a newer one.
const SAVE_SNAPSHOT: &str = "INSERT INTO snapshots
         (id, aggregate, context, tenant, state_version, version, is_created, is_deleted, state)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
     ON CONFLICT DO UPDATE SET version = excluded.version, is_created = excluded.is_created,
         is_deleted = excluded.is_deleted, state = excluded.state WHERE excluded.version > version";

/// Writes a commit and what becomes of its keys, or refuses and gives up the attempt's leases (R4, R8).
pub(super) fn append(work: &Work<'_>, append: &Append) -> Result<AppendReply, Trouble> {
    let done = if append.keys.is_empty() { write(work, append) } else { work.all_or_nothing(|| write(work, append)) };
    if let Ok(Ok(written)) = done {
        return Ok(AppendReply::Written(written));
    }
    if !matches!(done, Err(Trouble::Sqlite(_))) {
        let keys = append.keys.iter().map(|claim| &claim.key);
        reservations::give_up_keys(work, &append.stream, append.token, keys)?;
    }
    match done? {
        Ok(written) => Ok(AppendReply::Written(written)),
        Err(refusal) => Ok(AppendReply::Refused(refusal)),
    }
}

/// The checks in the contract's order: fence, request id, version, namespaces, keys. What it wrote before it refused
/// is undone by its caller.
fn write(work: &Work<'_>, append: &Append) -> Result<Result<Written, Refusal>, Trouble> {
    let mark = work.mark(&append.stream, &append.request.id)?;
    if mark > append.mark || work.is_fenced(append.token)? {
        return Ok(Err(Refusal::Fenced { mark }));
    }
    let Some(version) = append.expected_version.checked_add(1).map(integer) else {
        return Ok(Err(replay_or_conflict(work, append)?));
    };
    // Version 1 needs no look: the insert conflicts when it exists, and no stream begins later.
    if append.expected_version > 0 && !has_version(work, &append.stream, version - 1)? {
        return Ok(Err(replay_or_conflict(work, append)?));
    }
    if !insert(work, append, version)? {
        return Ok(Err(replay_or_conflict(work, append)?));
    }
    let position = work.last_position();
    for claim in &append.keys {
        work.check_epoch(&claim.key, claim.epoch)?;
    }
    let mut idle = BTreeSet::new();
    for claim in &append.keys {
        match reservations::settle_key(work, &append.stream, append.token, position, claim)? {
            Ok(true) => {}
            Ok(false) => drop(idle.insert(claim.key.clone())),
            Err(Lost) => return Ok(Err(Refusal::KeyLost)),
        }
    }
    if !idle.is_empty() {
        work.run(RECORD_KEYS, params![position, keys_json(append, &append.key_changes_without(&idle))?])?;
    }
    Ok(Ok(Written { position: position.cast_unsigned(), at: work.now }))
}

fn unwritable(append: &Append) -> Trouble {
    Trouble::store(StoreErrorKind::Unusable, format!("the events of {} can't be written as JSON", append.stream))
}

/// The column of a commit's keys: none rather than an empty list.
fn keys_json(append: &Append, changes: &[KeyChange]) -> Result<Option<String>, Trouble> {
    let json = (!changes.is_empty()).then(|| serde_json::to_string(changes)).transpose();
    json.map_err(|_| unwritable(append))
}

/// Inserts the commit's row; false when its version or its request id is there already.
pub(super) fn insert(work: &Work<'_>, append: &Append, version: i64) -> Result<bool, Trouble> {
    let events = serde_json::to_string(&append.events).map_err(|_| unwritable(append))?;
    let keys = keys_json(append, &append.key_changes())?;
    let stream = &append.stream;
    let inserted = work.run(
        INSERT,
        params![
            &*stream.aggregate.context,
            &*stream.aggregate.name,
            &*stream.tenant,
            &*stream.id,
            version,
            append.kind.as_str(),
            &*append.command,
            append.request.id.as_str(),
            hex(&append.request.fingerprint.0),
            append.token.to_string(),
            events,
            keys,
            append.metadata.as_deref().map(serde_json::value::RawValue::get),
            work.now.as_millis(),
        ],
    )?;
    Ok(inserted == 1)
}

/// A unique violation of the request id is a replay, of the version a conflict; the request id is asked first (S3).
fn replay_or_conflict(work: &Work<'_>, append: &Append) -> Result<Refusal, Trouble> {
    let mut find = work.statement(BY_REQUEST)?;
    Ok(match first_of_request(&mut find, &append.stream, &append.request.id)? {
        Some(first) => Refusal::Replay(first),
        None => Refusal::Conflict,
    })
}

fn has_version(work: &Work<'_>, stream: &StreamId, version: i64) -> Result<bool, Trouble> {
    let mut find = work.statement(BY_VERSION)?;
    Ok(find.exists(stream_params!(stream, version))?)
}

/// The newest version of a stream; 0 when it has no commit.
pub(super) fn newest(find: &mut rusqlite::Statement<'_>, stream: &StreamId) -> Result<i64, Trouble> {
    let mut rows = find.query(stream_params!(stream))?;
    Ok(rows.next()?.map(|row| row.get(0)).transpose()?.unwrap_or(0))
}

/// Finds the commit of an append whose outcome is unknown, or makes sure that it never lands (R9).
pub(super) fn settle(work: &Work<'_>, settle: &Settle) -> Result<Settled, Trouble> {
    let mut find = work.statement(BY_VERSION)?;
    let mut rows = find.query(stream_params!(&settle.stream, integer(settle.version)))?;
    if let Some(row) = rows.next()? {
        let (position, at, token): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        // One that can't be read may be this very append's: "not written" would be a guess.
        let damaged = || Trouble::Damaged { row: format!("the commit at position {position}"), column: "token" };
        if Token::parse(&token).ok_or_else(damaged)? == settle.token {
            return Ok(Settled::Written(Written {
                position: position.cast_unsigned(),
                at: Timestamp::from_millis(at),
            }));
        }
    }
    work.fence(settle.token)?;
    reservations::give_up_keys(work, &settle.stream, settle.token, settle.keys.iter())?;
    Ok(Settled::NotWritten)
}

/// Keeps a snapshot, unless a newer one of its shape is there.
pub(super) fn save_snapshot(work: &Work<'_>, snapshot: &SnapshotRecord) -> Result<(), Trouble> {
    let stream = &snapshot.stream;
    work.run(
        SAVE_SNAPSHOT,
        params![
            &*stream.id,
            &*stream.aggregate.name,
            &*stream.aggregate.context,
            &*stream.tenant,
            snapshot.state_version,
            integer(snapshot.version),
            snapshot.exists,
            snapshot.deleted,
            snapshot.state.get(),
        ],
    )?;
    Ok(())
}

/// Reads a stream, in the caller's read transaction.
pub(super) fn load(connection: &Connection, load: &Load) -> Result<LoadedStream, Trouble> {
    let snapshot = match load.snapshot_of {
        Some(state_version) => snapshot(connection, load, state_version)?,
        None => None,
    };
    let mut version = snapshot.as_ref().map_or(load.after_version, |snapshot| snapshot.version);
    let mut find = connection.prepare_cached(OF_STREAM)?;
    let mut rows = find.query(stream_params!(&load.stream, integer(version)))?;
    let mut commits = Vec::new();
    while let Some(row) = rows.next()? {
        let commit = commit(row, load.stream.clone())?;
        version += 1;
        if commit.version != version {
            let row = format!("the commits of {}: version {version} is missing, which", load.stream);
            return Err(Trouble::Damaged { row, column: "version" });
        }
        commits.push(Arc::new(commit));
    }
    Ok(LoadedStream { snapshot, commits })
}

fn snapshot(connection: &Connection, load: &Load, state_version: u32) -> Result<Option<SnapshotRecord>, Trouble> {
    let mut find = connection.prepare_cached(SNAPSHOT)?;
    let stream = &load.stream;
    let mut rows = find.query(stream_params!(stream, state_version, integer(load.after_version)))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    // A snapshot that can't be read is as good as none: the commits are all there.
    let Ok(state) = serde_json::value::RawValue::from_string(row.get(3)?) else { return Ok(None) };
    let version: i64 = row.get(0)?;
    Ok(Some(SnapshotRecord {
        stream: stream.clone(),
        version: version.cast_unsigned(),
        state_version,
        exists: row.get(1)?,
        deleted: row.get(2)?,
        state,
    }))
}

/// Reads version and first commit of a request, in the caller's read transaction (C1, C4).
pub(super) fn check(connection: &Connection, check: &Check) -> Result<Checked, Trouble> {
    let version = newest(&mut *connection.prepare_cached(NEWEST)?, &check.stream)?.cast_unsigned();
    let first = match &check.request {
        Some(request) => first_of_request(&mut *connection.prepare_cached(BY_REQUEST)?, &check.stream, request)?,
        None => None,
    };
    Ok(Checked { version, first, mark: 0 })
}

/// The same under the write lock, which leaves a mark under a request id that has no commit (C4).
pub(super) fn check_and_mark(work: &Work<'_>, asked: &Check) -> Result<Checked, Trouble> {
    let mut checked = check(work.connection, asked)?;
    if let (None, Some(request)) = (&checked.first, &asked.request) {
        checked.mark = work.leave_mark(&asked.stream, request)?;
    }
    Ok(checked)
}

fn first_of_request(
    find: &mut rusqlite::Statement<'_>,
    stream: &StreamId,
    request: &RequestId,
) -> Result<Option<Arc<CommitRecord>>, Trouble> {
    let aggregate = &stream.aggregate;
    let mut rows = find.query([request.as_str(), &*aggregate.name, &*aggregate.context, &*stream.tenant])?;
    rows.next()?.map(|row| commit(row, stream_of(row)?).map(Arc::new)).transpose()
}

/// Reads commits in global order.
pub(super) fn commits(connection: &Connection, after: u64, limit: usize) -> Result<Vec<CommitRecord>, Trouble> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut find = connection.prepare_cached(AFTER)?;
    let mut rows = find.query([integer(after), limit])?;
    let mut commits = Vec::new();
    while let Some(row) = rows.next()? {
        commits.push(commit(row, stream_of(row)?)?);
    }
    Ok(commits)
}

fn stream_of(row: &Row<'_>) -> Result<StreamId, Trouble> {
    let text = |column| row.get_ref(column)?.as_str().map(Text::from).map_err(rusqlite::Error::from);
    let aggregate = AggregateType { context: text(11)?, name: text(12)? };
    Ok(StreamId { aggregate, tenant: text(13)?, id: text(14)? })
}

/// The commit in a row that begins with `commit_columns`.
fn commit(row: &Row<'_>, stream: StreamId) -> Result<CommitRecord, Trouble> {
    let position: i64 = row.get(0)?;
    let damaged = |column| Trouble::Damaged { row: format!("the commit at position {position}"), column };
    let text = |index, column| row.get_ref(index)?.as_str().map_err(|_| damaged(column));
    let optional = |index, column| row.get_ref(index)?.as_str_or_null().map_err(|_| damaged(column));
    let version: i64 = row.get(1)?;
    let id = RequestId::from_stored(Text::from(text(4, "request_id")?));
    let fingerprint = unhex(text(5, "fingerprint")?).ok_or_else(|| damaged("fingerprint"))?;
    let keys = optional(8, "keys")?.map(serde_json::from_str).transpose().map_err(|_| damaged("keys"))?;
    let metadata = optional(9, "metadata")?.map(serde_json::from_str).transpose().map_err(|_| damaged("metadata"))?;
    Ok(CommitRecord {
        position: u64::try_from(position).map_err(|_| damaged("position"))?,
        stream,
        version: u64::try_from(version).map_err(|_| damaged("version"))?,
        kind: CommitKind::parse(text(2, "kind")?).ok_or_else(|| damaged("kind"))?,
        command: Text::from(text(3, "command")?),
        request: RequestKey { id, fingerprint },
        token: Token::parse(text(6, "token")?).ok_or_else(|| damaged("token"))?,
        events: serde_json::from_str(text(7, "events")?).map_err(|_| damaged("events"))?,
        keys: keys.unwrap_or_default(),
        metadata,
        at: Timestamp::from_millis(row.get(10)?),
    })
}

fn hex(bytes: &[u8; 32]) -> String {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.map(|half| DIGITS[usize::from(half)]).collect()
}

fn unhex(text: &str) -> Option<Fingerprint> {
    let digits: Vec<u8> = text.chars().map(|digit| digit.to_digit(16)?.try_into().ok()).collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).unwrap_or(&0)).collect();
    (digits.len() == 64).then(|| bytes.try_into().ok()).flatten().map(Fingerprint)
}
