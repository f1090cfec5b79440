//! Reservations in SQLite: each call tries the one statement that fits the usual case, and takes the verdict for every
//! other case from `lifecycle`, on the record as read under the write lock (S2).

use super::errors::Trouble;
use super::namespaces;
use super::work::{Work, integer};
use crate::clock::Timestamp;
use crate::ids::{AggregateType, StreamId, Token};
use crate::reservation::lifecycle::{self, Change, KeyUse, Lost};
use crate::reservation::{KeyId, Lease, Record, RecordState, Reserved};
use crate::store::{GiveUp, KeyClaim, KeyReading, Reserve, ReserveKey, ReserveReply};
use crate::text::Text;
use rusqlite::{Connection, Row};
use std::convert::Infallible;
use std::fmt::Write as _;

/// How many records one statement of a sweep removes at most: the writer must not be away for long.
const SWEPT_PER_STATEMENT_MAX: u64 = 1_000;

pub(super) const FIND: &str = "SELECT holder_aggregate, holder_tenant, holder_id, position, leases FROM reservations
     WHERE key = ?1 AND namespace = ?2 AND scope = ?3 AND context = ?4";

/// Free: one row. Otherwise none, and nothing is changed.
const INSERT_PENDING: &str = "INSERT INTO reservations (key, namespace, scope, context,
         holder_id, holder_tenant, holder_aggregate, leases, expires_at_ms)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING";

const PUT: &str = "INSERT INTO reservations (key, namespace, scope, context,
         holder_id, holder_tenant, holder_aggregate, leases, expires_at_ms, position)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
     ON CONFLICT DO UPDATE SET holder_id = excluded.holder_id, holder_tenant = excluded.holder_tenant,
         holder_aggregate = excluded.holder_aggregate, leases = excluded.leases,
         expires_at_ms = excluded.expires_at_ms, position = excluded.position";

pub(super) const DELETE: &str =
    "DELETE FROM reservations WHERE key = ?1 AND namespace = ?2 AND scope = ?3 AND context = ?4";

/// Pending for the holder, expired or not: confirmed. `lifecycle::confirm` says the same.
pub(super) const CONFIRM: &str = "UPDATE reservations SET position = ?8, leases = NULL, expires_at_ms = NULL
     WHERE key = ?1 AND namespace = ?2 AND scope = ?3 AND context = ?4
       AND holder_id = ?5 AND holder_tenant = ?6 AND holder_aggregate = ?7 AND position IS NULL";

/// Held by the holder: removed. `lifecycle::release` says the same.
pub(super) const RELEASE: &str = "DELETE FROM reservations
     WHERE key = ?1 AND namespace = ?2 AND scope = ?3 AND context = ?4
       AND holder_id = ?5 AND holder_tenant = ?6 AND holder_aggregate = ?7 AND position IS NOT NULL";

/// One conditional statement: a record that was confirmed or renewed a moment ago is not touched (R7, U13).
pub(super) const SWEEP: &str = "DELETE FROM reservations WHERE position IS NULL AND expires_at_ms <= ?1
     AND (key, namespace, scope, context) IN (SELECT key, namespace, scope, context FROM reservations
         WHERE position IS NULL AND expires_at_ms <= ?1 ORDER BY expires_at_ms LIMIT ?2)";

/// The confirmed keys among those that the holder's commits ever took: no scan of other holders' keys.
pub(super) const HELD_BY: &str = "SELECT DISTINCT held.key, held.namespace, held.scope
     FROM commits AS written CROSS JOIN json_each(written.keys) AS change CROSS JOIN reservations AS held
     WHERE written.id = ?1 AND written.aggregate = ?2 AND written.context = ?3 AND written.tenant = ?4
       AND written.keys IS NOT NULL
       AND held.key = change.value ->> '$.key' AND held.namespace = change.value ->> '$.ns'
       AND held.scope = change.value ->> '$.scope' AND held.context = ?3
       AND held.position IS NOT NULL
       AND held.holder_id = ?1 AND held.holder_aggregate = ?2 AND held.holder_tenant = ?4
     ORDER BY held.key, held.namespace, held.scope";

/// Reserves keys for one attempt, all or none (R1, R3).
pub(super) fn reserve(work: &Work<'_>, reserve: &Reserve) -> Result<ReserveReply, Trouble> {
    for key in &reserve.keys {
        work.check_epoch(&key.key, key.epoch)?;
    }
    let answers = if let [key] = reserve.keys.as_slice() {
        vec![reserve_key(work, &reserve.holder, key)?]
    } else {
        let all = || reserve.keys.iter().map(|key| reserve_key(work, &reserve.holder, key)).collect::<Result<_, _>>();
        let Ok(answers) = work.all_or_nothing(|| all().map(Ok::<Vec<_>, Infallible>))?;
        answers
    };
    Ok(ReserveReply { answers, now: work.now })
}

fn reserve_key(work: &Work<'_>, holder: &StreamId, asked: &ReserveKey) -> Result<Reserved, Trouble> {
    let (key, lease) = (&asked.key, asked.lease(work.now));
    let inserted =
        work.run(INSERT_PENDING, key_params!(key, holder, leases_json(&[lease]), lease.expires_at.as_millis()))?;
    if inserted == 1 {
        return Ok(Reserved::Newly);
    }
    let record = find(work, key)?;
    let (change, answer) = lifecycle::reserve(record.as_ref(), holder, lease, work.now);
    apply(work, key, change)?;
    Ok(answer)
}

/// Gives up an attempt's leases (R5).
pub(super) fn give_up(work: &Work<'_>, give_up: &GiveUp) -> Result<(), Trouble> {
    give_up_keys(work, &give_up.holder, give_up.token, give_up.keys.iter())
}

pub(super) fn give_up_keys<'k>(
    work: &Work<'_>,
    holder: &StreamId,
    token: Token,
    keys: impl Iterator<Item = &'k KeyId>,
) -> Result<(), Trouble> {
    for key in keys {
        let record = find(work, key)?;
        apply(work, key, lifecycle::give_up(record.as_ref(), holder, token))?;
    }
    Ok(())
}

/// Does what the append at `position` does to one of its keys, and says whether the commit records it: a release that
/// frees nothing is none (R4, R8, R10, R20).
pub(super) fn settle_key(
    work: &Work<'_>,
    holder: &StreamId,
    token: Token,
    position: i64,
    claim: &KeyClaim,
) -> Result<Result<bool, Lost>, Trouble> {
    let key = &claim.key;
    let usual = match claim.key_use {
        KeyUse::Take => work.run(CONFIRM, key_params!(key, holder, position))?,
        KeyUse::Release => work.run(RELEASE, key_params!(key, holder))?,
        KeyUse::Keep => 0,
    };
    if usual == 1 {
        return Ok(Ok(true));
    }
    let record = find(work, key)?;
    let position = position.cast_unsigned();
    match lifecycle::append(record.as_ref(), claim.key_use, holder, token, position, work.now) {
        Ok(change) => apply(work, key, change).map(|()| Ok(claim.key_use != KeyUse::Release)),
        Err(lost) => Ok(Err(lost)),
    }
}

/// Removes expired pending records, at most `statements_max` times 1,000, and says how many (R7).
pub(super) fn sweep(work: &Work<'_>, statements_max: u32) -> Result<u64, Trouble> {
    let mut swept = 0;
    for _ in 0..statements_max {
        let removed = work.run(SWEEP, [work.now.as_millis(), integer(SWEPT_PER_STATEMENT_MAX)])? as u64;
        swept += removed;
        if removed < SWEPT_PER_STATEMENT_MAX {
            break;
        }
    }
    for _ in 0..statements_max {
        if work.forget_late_appends(SWEPT_PER_STATEMENT_MAX)? < SWEPT_PER_STATEMENT_MAX {
            break;
        }
    }
    Ok(swept)
}

/// The record of a key, as a reader sees it.
pub(super) fn read(connection: &Connection, key: &KeyId) -> Result<Option<Record>, Trouble> {
    let mut find = connection.prepare_cached(FIND)?;
    let mut rows = find.query(key_params!(key))?;
    rows.next()?.map(|row| record(row, key)).transpose()
}

/// What there is to know of a key, at one moment.
pub(super) fn reading(
    connection: &Connection,
    key: &KeyId,
    now: impl FnOnce() -> Timestamp,
) -> Result<KeyReading, Trouble> {
    let record = read(connection, key)?;
    let epoch = namespaces::recorded(connection, &key.context, &key.namespace)?.map(|(_, epoch)| epoch);
    Ok(KeyReading { record, epoch, now: now() })
}

/// The confirmed keys of `holder`, ordered.
pub(super) fn held_by(connection: &Connection, holder: &StreamId) -> Result<Vec<KeyId>, Trouble> {
    let mut find = connection.prepare_cached(HELD_BY)?;
    let context = &holder.aggregate.context;
    let mut rows = find.query([&*holder.id, &*holder.aggregate.name, &**context, &*holder.tenant])?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        let text = |column| row.get_ref(column)?.as_str().map(Text::from).map_err(rusqlite::Error::from);
        keys.push(KeyId { key: text(0)?, namespace: text(1)?, scope: text(2)?, context: context.clone() });
    }
    Ok(keys)
}

/// The record of a key, under the write lock.
pub(super) fn find(work: &Work<'_>, key: &KeyId) -> Result<Option<Record>, Trouble> {
    read(work.connection, key)
}

fn apply(work: &Work<'_>, key: &KeyId, change: Change) -> Result<(), Trouble> {
    match change {
        Change::Keep => {}
        Change::Delete => {
            work.run(DELETE, key_params!(key))?;
        }
        Change::Put(record) => put(work, key, &record)?,
    }
    Ok(())
}

pub(super) fn put(work: &Work<'_>, key: &KeyId, record: &Record) -> Result<(), Trouble> {
    let (leases, position) = match &record.state {
        RecordState::Pending(leases) => (Some(leases_json(leases)), None),
        RecordState::Confirmed(position) => (None, Some(integer(*position))),
    };
    let holder = &record.holder;
    work.run(PUT, key_params!(key, holder, leases, record.expires_at().map(Timestamp::as_millis), position))?;
    Ok(())
}

/// The record in a row of [`FIND`].
fn record(row: &Row<'_>, key: &KeyId) -> Result<Record, Trouble> {
    let damaged = |column| Trouble::Damaged {
        row: format!("a reservation of namespace {:?}, context {:?}", key.namespace.as_str(), key.context.as_str()),
        column,
    };
    let text = |index, column| row.get_ref(index)?.as_str().map(Text::from).map_err(|_| damaged(column));
    let aggregate = AggregateType { context: key.context.clone(), name: text(0, "holder_aggregate")? };
    let holder = StreamId { aggregate, tenant: text(1, "holder_tenant")?, id: text(2, "holder_id")? };
    let state = if let Some(position) = row.get::<_, Option<i64>>(3)? {
        RecordState::Confirmed(u64::try_from(position).map_err(|_| damaged("position"))?)
    } else {
        let leases: Vec<Lease> = serde_json::from_str(row.get_ref(4)?.as_str().map_err(|_| damaged("leases"))?)
            .map_err(|_| damaged("leases"))?;
        if leases.is_empty() {
            return Err(damaged("leases"));
        }
        RecordState::Pending(leases)
    };
    Ok(Record { holder, state })
}

/// Leases as JSON. Written by hand: it happens once a reserve, and serde's way is a good deal slower.
pub(super) fn leases_json(leases: &[Lease]) -> String {
    let mut json = String::with_capacity(leases.len() * 112 + 2);
    for lease in leases {
        json.push(if json.is_empty() { '[' } else { ',' });
        // Writing to a `String` can't fail.
        let _ = write!(
            json,
            r#"{{"token":"{}","expires_at_ms":{},"request":{}}}"#,
            lease.token,
            lease.expires_at.as_millis(),
            lease.request.0
        );
    }
    json.push(']');
    json
}
