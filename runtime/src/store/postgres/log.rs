//! Reading: streams, the log in its order, single keys, and what a holder has. And snapshots, which are written for it.

use super::Core;
use super::errors::Trouble;
use super::keys::integer;
use super::rows::{column, commit, number, snapshot, stream, text};
use super::session::Hidden;
use crate::clock::Timestamp;
use crate::ids::{AggregateType, RequestId, StreamId, Token};
use crate::reservation::{KeyId, Lease, Record, RecordState, RequestHash};
use crate::store::{CommitRecord, KeyReading, Load, LoadedStream, SnapshotRecord, StoreError, StoreErrorKind};
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Row;
use uuid::Uuid;

/// The first and the longest pause between two looks at the transactions that are under way.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(32);

/// Reads a stream in one round trip: its snapshot, and the commits after it.
pub(super) async fn load(core: &Core, load: &Load) -> Result<LoadedStream, Trouble> {
    let Load { stream, after_version, snapshot_of } = load;
    let shape = snapshot_of.map(i64::from);
    let rows = core
        .sessions
        .readers
        .call(
            &core.sessions.statements.load,
            &[
                &Hidden(&*stream.id),
                &Hidden(&*stream.aggregate.name),
                &Hidden(&*stream.aggregate.context),
                &Hidden(&*stream.tenant),
                &integer(*after_version),
                &shape,
            ],
        )
        .await?;
    let mut loaded = LoadedStream::default();
    let mut version = *after_version;
    for row in &rows {
        let what = || format!("a row of {stream}");
        if column::<Option<i64>>(row, "position", &what)?.is_none() {
            let Some(kept) = snapshot_of.and_then(|shape| snapshot(row, stream, shape)) else {
                // One that can't be read is as good as none, but the commits before it were left out.
                return Box::pin(self::load(core, &Load { snapshot_of: None, ..load.clone() })).await;
            };
            version = kept.version;
            loaded.snapshot = Some(kept);
            continue;
        }
        let commit = commit(row, stream.clone())?;
        version += 1;
        if commit.version != version {
            let row = format!("the commits of {stream}: version {version} is missing, which");
            return Err(Trouble::Damaged { row, column: "version" });
        }
        loaded.commits.push(Arc::new(commit));
    }
    Ok(loaded)
}

/// The first commit of a request, if there is one (C4). Where writes go: a reader may be behind.
pub(super) async fn first(
    core: &Core,
    of: &StreamId,
    request: &RequestId,
) -> Result<Option<Arc<CommitRecord>>, Trouble> {
    let params = [request.as_str(), &*of.aggregate.name, &*of.aggregate.context, &*of.tenant].map(Hidden);
    let [request, aggregate, context, tenant] = &params;
    let rows =
        core.sessions.others.call(&core.sessions.statements.first, &[request, aggregate, context, tenant]).await?;
    rows.first().map(|row| commit(row, stream(row)?).map(Arc::new)).transpose()
}

/// Reads commits in global order, and none of which an earlier one may still be under way.
///
/// Positions are drawn before commits become visible, so a later one can be seen before an earlier one. A transaction has
/// its number before it draws a position: once every transaction before a moment is over, so is every position drawn
/// before it (the design's section on events).
pub(super) async fn commits(core: &Core, after: u64, limit: usize) -> Result<Vec<CommitRecord>, Trouble> {
    let horizon = horizon(core).await?;
    page(core, after, horizon, limit).await
}

async fn page(core: &Core, after: u64, until: u64, limit: usize) -> Result<Vec<CommitRecord>, Trouble> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let params: [i64; 3] = [integer(after), integer(until), limit];
    let [after, until, limit] = &params;
    let rows = core.sessions.readers.call(&core.sessions.statements.commits, &[after, until, limit]).await?;
    rows.iter().map(|row| commit(row, stream(row)?)).collect()
}

/// The newest commit before which none is under way any more, of those that there were when this was asked.
async fn horizon(core: &Core) -> Result<u64, Trouble> {
    let what = || "the horizon of the log".to_owned();
    let statements = &core.sessions.statements;
    let rows = core.sessions.readers.call(&statements.horizon, &[]).await?;
    let row = rows.first().ok_or_else(|| Trouble::Damaged { row: what(), column: "drawn" })?;
    let (drawn, xmax): (i64, &str) = (column(row, "drawn", &what)?, column(row, "xmax", &what)?);
    let mut until: Option<i64> = column(row, "until", &what)?;
    let settled = async {
        let mut pause = PAUSE_MIN;
        loop {
            if let Some(until) = until {
                return Ok(until.cast_unsigned());
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
            let rows = core.sessions.readers.call(&statements.settled, &[&drawn, &xmax]).await?;
            until = rows.first().map_or(Ok(None), |row| column(row, "until", &what))?;
        }
    };
    tokio::time::timeout(core.horizon_timeout, settled).await.unwrap_or_else(|_| Err(never_over(core)))
}

fn never_over(core: &Core) -> Trouble {
    let message = format!(
        "{}: the log can't be read up to its end: a transaction that writes has been open on this server since before it \
         was asked for. Look in pg_stat_activity for the oldest xact_start with a backend_xid, and in pg_prepared_xacts, \
         end that transaction, and try again",
        core.site()
    );
    Trouble::store(StoreErrorKind::Unavailable, message)
}

/// Reads one key.
pub(super) async fn reservation(core: &Core, key: &KeyId) -> Result<KeyReading, Trouble> {
    let params = [&*key.key, &*key.namespace, &*key.scope, &*key.context].map(Hidden);
    let [text, namespace, scope, context] = &params;
    let rows =
        core.sessions.readers.call(&core.sessions.statements.reservation, &[text, namespace, scope, context]).await?;
    let what =
        || format!("a reservation of namespace {:?}, context {:?}", key.namespace.as_str(), key.context.as_str());
    let row = rows.first().ok_or_else(|| Trouble::Damaged { row: what(), column: "now" })?;
    let epoch = column::<Option<i64>>(row, "epoch", &what)?.map(i64::cast_unsigned);
    let now = Timestamp::from_millis(column(row, "now", &what)?);
    let is_there = column::<Option<&str>>(row, "holder_id", &what)?.is_some();
    let record = is_there.then(|| record(row, key, &what)).transpose()?;
    Ok(KeyReading { record, epoch, now })
}

fn record(row: &Row, key: &KeyId, what: &dyn Fn() -> String) -> Result<Record, Trouble> {
    let aggregate = AggregateType { context: key.context.clone(), name: text(row, "holder_aggregate", what)? };
    let holder = StreamId { aggregate, tenant: text(row, "holder_tenant", what)?, id: text(row, "holder_id", what)? };
    if column::<Option<i64>>(row, "position", what)?.is_some() {
        return Ok(Record { holder, state: RecordState::Confirmed(number(row, "position", what)?) });
    }
    let tokens: Vec<Uuid> = column(row, "tokens", what)?;
    let expires: Vec<i64> = column(row, "expires_at_ms", what)?;
    let requests: Vec<i64> = column(row, "requests", what)?;
    if tokens.is_empty() || tokens.len() != expires.len() || tokens.len() != requests.len() {
        return Err(Trouble::Damaged { row: what(), column: "tokens" });
    }
    let leases = tokens.iter().zip(expires).zip(requests).map(|((token, expires), request)| Lease {
        token: Token::from_u128(token.as_u128()),
        expires_at: Timestamp::from_millis(expires),
        request: RequestHash(request.cast_unsigned()),
    });
    Ok(Record { holder, state: RecordState::Pending(leases.collect()) })
}

/// The confirmed keys of `holder`, ordered.
pub(super) async fn held_by(core: &Core, holder: &StreamId) -> Result<Vec<KeyId>, Trouble> {
    let context = &holder.aggregate.context;
    let params = [&*holder.id, &*holder.aggregate.name, &**context, &*holder.tenant].map(Hidden);
    let [id, aggregate, of, tenant] = &params;
    let rows = core.sessions.readers.call(&core.sessions.statements.held_by, &[id, aggregate, of, tenant]).await?;
    let what = || format!("a reservation of {holder}");
    let key = |row: &Row| {
        let text = |name| text(row, name, &what);
        Ok(KeyId { key: text("key")?, namespace: text("namespace")?, scope: text("scope")?, context: context.clone() })
    };
    rows.iter().map(key).collect()
}

/// Keeps a snapshot, unless a newer one of its shape is there.
pub(super) async fn save_snapshot(core: &Core, kept: &SnapshotRecord) -> Result<(), Trouble> {
    let stream = &kept.stream;
    let params = [&*stream.id, &*stream.aggregate.name, &*stream.aggregate.context, &*stream.tenant].map(Hidden);
    let [id, aggregate, context, tenant] = &params;
    let (shape, version, state) = (i64::from(kept.state_version), integer(kept.version), Hidden(kept.state.get()));
    let params: &[&(dyn tokio_postgres::types::ToSql + Sync)] =
        &[id, aggregate, context, tenant, &shape, &version, &kept.exists, &kept.deleted, &state];
    core.sessions.others.call(&core.sessions.statements.save_snapshot, params).await.map(drop)
}

/// The error for a read: it has no effect, so it surely had none.
pub(super) fn of_read(core: &Core, trouble: &Trouble) -> StoreError {
    let error = trouble.explained(core.site());
    if error.surely_not_done() { error } else { StoreError::not_done(error.kind(), error.to_string()) }
}
