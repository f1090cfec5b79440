//! Settling an append whose outcome is unknown: a durable write under its request's lock (R9).

use super::Core;
use super::errors::Trouble;
use super::keys::{KeyColumns, Mention, integer, request_lock, uuid};
use super::lane::GROUP_WAIT_MS;
use super::leases::mentions_of;
use super::rows::column;
use super::session::Hidden;
use crate::clock::Timestamp;
use crate::store::{Settle, Settled, Written};
use tokio_postgres::types::ToSql;

/// Finds the commit of an append whose outcome is unknown, or makes sure that it never lands.
pub(super) async fn settle(core: &Core, settle: &Settle) -> Result<Settled, Trouble> {
    let Settle { stream, version, request, token, keys } = settle;
    let mut mentions: Vec<Mention<'_>> = mentions_of(stream, *token, keys).collect();
    mentions.sort_by(|one, other| one.order().cmp(&other.order()));
    let keys = KeyColumns::of(&mentions.iter().copied());
    let parts = [&*stream.aggregate.context, &*stream.aggregate.name, &*stream.tenant, &*stream.id].map(Hidden);
    let [context, aggregate, tenant, id] = &parts;
    let (lock, version, token) = (request_lock(stream, request), integer(*version), uuid(*token));
    let mut params: Vec<&(dyn ToSql + Sync)> =
        vec![&GROUP_WAIT_MS, &lock, context, aggregate, tenant, id, &version, &token];
    params.extend(keys.params());
    let rows = core.sessions.others.call(&core.sessions.statements.settle, &params).await?;
    let what = || format!("the answer to settling an append of {stream}");
    let row = rows.first().ok_or_else(|| Trouble::Damaged { row: what(), column: "written" })?;
    let Some(position) = column::<Option<i64>>(row, "written", &what)? else { return Ok(Settled::NotWritten) };
    let at = Timestamp::from_millis(column(row, "at_ms", &what)?);
    Ok(Settled::Written(Written { position: position.cast_unsigned(), at }))
}
