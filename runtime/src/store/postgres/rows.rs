//! Rows to records: commits and snapshots as they are read back. No statement.

use super::errors::Trouble;
use crate::clock::Timestamp;
use crate::ids::{AggregateType, RequestId, StreamId, Token};
use crate::store::{CommitKind, CommitRecord, Fingerprint, RequestKey, SnapshotRecord};
use crate::text::Text;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

/// The columns of a commit, for [`commit`]; JSON comes as text, as it was written.
pub(super) const COMMIT: &str = "c.position, c.version, c.kind, c.command, c.request_id, c.fingerprint, c.token, \
     c.events::text as events, c.keys::text as keys, c.metadata::text as metadata, c.at_ms";
/// Those of its stream, for [`stream`].
pub(super) const STREAM: &str = "c.context, c.aggregate, c.tenant, c.id";

/// A column of a row; `what` names the row in the error.
pub(super) fn column<'r, T: FromSql<'r>>(
    row: &'r Row,
    name: &'static str,
    what: &dyn Fn() -> String,
) -> Result<T, Trouble> {
    row.try_get(name).map_err(|_| Trouble::Damaged { row: what(), column: name })
}

/// A number that is stored as `bigint` and is never negative.
pub(super) fn number(row: &Row, name: &'static str, what: &dyn Fn() -> String) -> Result<u64, Trouble> {
    let number: i64 = column(row, name, what)?;
    u64::try_from(number).map_err(|_| Trouble::Damaged { row: what(), column: name })
}

pub(super) fn text(row: &Row, name: &'static str, what: &dyn Fn() -> String) -> Result<Text, Trouble> {
    column::<&str>(row, name, what).map(Text::from)
}

fn json<T: DeserializeOwned>(json: &str, name: &'static str, what: &dyn Fn() -> String) -> Result<T, Trouble> {
    serde_json::from_str(json).map_err(|_| Trouble::Damaged { row: what(), column: name })
}

/// The stream that a commit's row names.
pub(super) fn stream(row: &Row) -> Result<StreamId, Trouble> {
    let what = || "a commit".to_owned();
    let text = |name| text(row, name, &what);
    let aggregate = AggregateType { context: text("context")?, name: text("aggregate")? };
    Ok(StreamId { aggregate, tenant: text("tenant")?, id: text("id")? })
}

/// The commit in a row with the columns [`COMMIT`].
pub(super) fn commit(row: &Row, stream: StreamId) -> Result<CommitRecord, Trouble> {
    let place = column::<i64>(row, "position", &|| format!("a commit of {stream}"))?;
    let what = || format!("the commit at position {place}");
    let damaged = |column| Trouble::Damaged { row: what(), column };
    let fingerprint: &[u8] = column(row, "fingerprint", &what)?;
    let metadata: Option<&str> = column(row, "metadata", &what)?;
    let keys: Option<&str> = column(row, "keys", &what)?;
    Ok(CommitRecord {
        position: number(row, "position", &what)?,
        version: number(row, "version", &what)?,
        kind: CommitKind::parse(column(row, "kind", &what)?).ok_or_else(|| damaged("kind"))?,
        command: text(row, "command", &what)?,
        request: RequestKey {
            id: RequestId::from_stored(text(row, "request_id", &what)?),
            fingerprint: Fingerprint(fingerprint.try_into().map_err(|_| damaged("fingerprint"))?),
        },
        token: Token::from_u128(column::<Uuid>(row, "token", &what)?.as_u128()),
        events: json(column(row, "events", &what)?, "events", &what)?,
        keys: keys.map_or(Ok(Vec::new()), |keys| json(keys, "keys", &what))?,
        metadata: metadata.map(|text| json::<Box<RawValue>>(text, "metadata", &what)).transpose()?,
        at: Timestamp::from_millis(column(row, "at_ms", &what)?),
        stream,
    })
}

/// The snapshot in a row, or none when it can't be read: it is as good as none then, the commits are all there.
pub(super) fn snapshot(row: &Row, stream: &StreamId, state_version: u32) -> Option<SnapshotRecord> {
    let what = String::new;
    let state: &str = column(row, "state", &what).ok()?;
    Some(SnapshotRecord {
        stream: stream.clone(),
        version: number(row, "version", &what).ok()?,
        state_version,
        exists: column(row, "is_created", &what).ok()?,
        deleted: column(row, "is_deleted", &what).ok()?,
        state: json(state, "state", &what).ok()?,
    })
}
