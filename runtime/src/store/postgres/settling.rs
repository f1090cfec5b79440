//! Durable writes under a request's lock: settling an append (R9), and looking after a decision without one (C1, C4).

use super::Core;
use super::errors::Trouble;
use super::keys::{KeyColumns, Mention, integer, request_lock, uuid};
use super::leases::mentions_of;
use super::log;
use super::rows::column;
use super::session::Hidden;
use crate::clock::Timestamp;
use crate::store::{Check, Checked, Settle, Settled, Written};
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
    let params: &[&(dyn ToSql + Sync)] = &[
        &lock,
        context,
        aggregate,
        tenant,
        id,
        &version,
        &token,
        &keys.key,
        &keys.namespace,
        &keys.scope,
        &keys.context,
        &keys.aggregate,
        &keys.tenant,
        &keys.id,
        &keys.token,
    ];
    let rows = core.sessions.others.call(&core.sessions.statements.settle, params).await?;
    let what = || format!("the answer to settling an append of {stream}");
    let row = rows.first().ok_or_else(|| Trouble::Damaged { row: what(), column: "written" })?;
    let Some(position) = column::<Option<i64>>(row, "written", &what)? else { return Ok(Settled::NotWritten) };
    let at = Timestamp::from_millis(column(row, "at_ms", &what)?);
    Ok(Settled::Written(Written { position: position.cast_unsigned(), at }))
}

/// Reads the version of a stream and the first commit of a request, and leaves a mark when there is none.
pub(super) async fn check(core: &Core, check: &Check) -> Result<Checked, Trouble> {
    let Check { stream, request } = check;
    let parts = [&*stream.aggregate.context, &*stream.aggregate.name, &*stream.tenant, &*stream.id].map(Hidden);
    let [context, aggregate, tenant, id] = &parts;
    let lock = request.as_ref().map_or(0, |request| request_lock(stream, request));
    let wanted = Hidden(request.as_ref().map(crate::ids::RequestId::as_str));
    // One that may leave a mark is a write.
    let sessions = if request.is_some() { &core.sessions.others } else { &core.sessions.readers };
    let params: &[&(dyn ToSql + Sync)] = &[&lock, context, aggregate, tenant, id, &wanted];
    let rows = sessions.call(&core.sessions.statements.check, params).await?;
    let what = || format!("the answer to a look at {stream}");
    let row = rows.first().ok_or_else(|| Trouble::Damaged { row: what(), column: "version" })?;
    let number = |name| Ok(column::<Option<i64>>(row, name, &what)?.unwrap_or_default().cast_unsigned());
    let (version, mark) = (number("version")?, number("mark")?);
    let first = match (column::<Option<i64>>(row, "first", &what)?, request) {
        (Some(_), Some(request)) => log::first(core, stream, request).await?,
        _ => None,
    };
    Ok(Checked { version, first, mark })
}
