//! The record of namespaces, and its change by a rekey (R12, R13, R20).

use super::Core;
use super::errors::Trouble;
use super::keys::{integer, namespace_lock, uuid};
use super::rows::{column, text};
use super::session::{Hidden, discard};
use super::statements::RekeyStatements;
use super::values;
use crate::ids::{AggregateType, StreamId, Token};
use crate::reservation::{KeyId, Tenancy};
use crate::store::rekeying::{RekeyPlan, Takes, key_changes};
use crate::store::{
    CommitKind, NamespaceRecord, Registered, Rekey, RekeyCollision, RekeyNamespace, RekeyReply, RequestKey, StoreError,
    StoreErrorKind,
};
use crate::text::Text;
use deadpool_postgres::Object;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// The epoch of a namespace that was never rekeyed.
const FIRST_EPOCH: u64 = 1;
/// How often a holder's commit is tried whose version another commit takes meanwhile.
const COMMIT_TRIES_MAX: u32 = 100;

/// Records the namespaces, or compares them with what is recorded: all or none.
pub(super) async fn register(core: &Core, namespaces: &[NamespaceRecord]) -> Result<Vec<Registered>, Trouble> {
    if namespaces.is_empty() {
        return Ok(Vec::new());
    }
    let locks = locks(namespaces.iter());
    let texts = |part: fn(&NamespaceRecord) -> &str| namespaces.iter().map(part).collect::<Vec<&str>>();
    let tenancies: Vec<String> = namespaces.iter().map(|namespace| namespace.tenancy.to_string()).collect();
    let rows = core
        .sessions
        .others
        .call(
            &core.sessions.statements.register,
            &[
                &locks,
                &texts(|namespace| &namespace.context),
                &texts(|namespace| &namespace.name),
                &tenancies,
                &texts(|namespace| &namespace.normalizer),
            ],
        )
        .await?;
    let what = || "the record of namespaces".to_owned();
    let row = rows.first().ok_or_else(|| Trouble::Damaged { row: what(), column: "epoch" })?;
    let tenancies: Vec<Option<&str>> = column(row, "tenancy", &what)?;
    let normalizers: Vec<Option<&str>> = column(row, "normalizer", &what)?;
    let epochs: Vec<Option<i64>> = column(row, "epoch", &what)?;
    let mut answers = Vec::with_capacity(namespaces.len());
    for (place, namespace) in namespaces.iter().enumerate() {
        let at = |texts: &[Option<&str>]| texts.get(place).copied().flatten().map(ToOwned::to_owned);
        answers.push(match (at(&tenancies), at(&normalizers)) {
            (Some(tenancy), Some(normalizer)) => {
                let recorded = recorded_as(namespace, &tenancy, &normalizer)?;
                let epoch = epochs.get(place).copied().flatten().map_or(FIRST_EPOCH, i64::cast_unsigned);
                if recorded == *namespace { Registered::AsGiven { epoch } } else { Registered::Differs { recorded } }
            }
            // Another one differs, so this one was not recorded either.
            _ => Registered::AsGiven { epoch: FIRST_EPOCH },
        });
    }
    Ok(answers)
}

fn recorded_as(namespace: &NamespaceRecord, tenancy: &str, normalizer: &str) -> Result<NamespaceRecord, Trouble> {
    let known = [Tenancy::Tenant, Tenancy::System].into_iter().find(|known| known.to_string() == tenancy);
    let NamespaceRecord { context, name, .. } = namespace.clone();
    let damaged = || Trouble::Damaged {
        row: format!("namespace {:?} of context {:?}", name.as_str(), context.as_str()),
        column: "tenancy",
    };
    let tenancy = known.ok_or_else(damaged)?;
    Ok(NamespaceRecord { context, name, tenancy, normalizer: Text::from(normalizer) })
}

/// The numbers of the namespaces' locks, in the order in which they are taken.
fn locks<'n>(namespaces: impl Iterator<Item = &'n NamespaceRecord>) -> Vec<i64> {
    let mut locks: Vec<i64> = namespaces.map(|namespace| namespace_lock(&namespace.context, &namespace.name)).collect();
    locks.sort_unstable();
    locks.dedup();
    locks
}

/// Changes the normalisers of namespaces, all or none. Nobody reserves or appends in them meanwhile; whoever still works
/// with the old epoch is refused from then on.
pub(super) async fn rekey(core: &Core, rekey: &Rekey) -> Result<RekeyReply, Trouble> {
    let mut runs = 1;
    loop {
        match in_transaction(core, rekey).await {
            Err(trouble) if trouble.asks_for_another_run() && runs < COMMIT_TRIES_MAX => runs += 1,
            done => return done,
        }
    }
}

async fn in_transaction(core: &Core, rekey: &Rekey) -> Result<RekeyReply, Trouble> {
    let connection = core.sessions.others.connection().await?;
    let transaction = Transaction { core, connection: &connection, sql: &core.sessions.statements.rekey };
    let others = &core.sessions.others;
    let end = match transaction.change_all(rekey).await {
        Ok(Ok(moved)) => others.run_on(&connection, "commit").await.map(|()| RekeyReply::Done { moved }),
        Ok(Err(collisions)) => others.run_on(&connection, "rollback").await.map(|()| RekeyReply::Collides(collisions)),
        Err(trouble) => Err(trouble),
    };
    if end.is_err() {
        // With the connection goes the transaction, whatever state it was in.
        discard(connection);
    }
    end
}

/// A rekey under way.
struct Transaction<'t> {
    core: &'t Core,
    connection: &'t Object,
    sql: &'t RekeyStatements,
}

impl Transaction<'_> {
    async fn call(
        &self,
        statement: &super::session::Statement,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Trouble> {
        let done = self.core.sessions.others.call_on(self.connection, statement, params).await;
        // Nothing of it is committed, so nothing of it was done.
        done.map_err(|trouble| match trouble {
            Trouble::Lost(cause) => Trouble::NotSent(cause),
            trouble => trouble,
        })
    }

    async fn change_all(&self, rekey: &Rekey) -> Result<Result<u64, Vec<RekeyCollision>>, Trouble> {
        self.core.sessions.others.run_on(self.connection, &self.sql.begin).await?;
        let locks = locks(rekey.namespaces.iter().map(|change| &change.namespace));
        self.call(&self.sql.lock, &[&locks]).await?;
        let (mut changes, mut collisions) = (Vec::new(), Vec::new());
        for change in &rekey.namespaces {
            match self.plan(change).await? {
                Some((epoch, Ok(plan))) => changes.push((change, epoch, plan)),
                Some((_, Err(more))) => collisions.extend(more),
                None => {}
            }
        }
        if !collisions.is_empty() {
            return Ok(Err(collisions));
        }
        let moved = changes.iter().map(|(_, _, plan)| plan.moved).sum();
        self.apply(changes, &*rekey.tokens).await?;
        Ok(Ok(moved))
    }

    /// What becomes of the namespace, and its new epoch; none when it is recorded as asked for.
    async fn plan(
        &self,
        change: &RekeyNamespace,
    ) -> Result<Option<(u64, Result<RekeyPlan, Vec<RekeyCollision>>)>, Trouble> {
        let namespace = &change.namespace;
        let named: [&(dyn ToSql + Sync); 2] = [&&*namespace.name, &&*namespace.context];
        let rows = self.call(&self.sql.recorded, &named).await?;
        let what = || format!("namespace {:?} of context {:?}", namespace.name.as_str(), namespace.context.as_str());
        let epoch = match rows.first() {
            None => FIRST_EPOCH,
            Some(row) => {
                let recorded =
                    recorded_as(namespace, column(row, "tenancy", &what)?, column(row, "normalizer", &what)?)?;
                if recorded == *namespace {
                    return Ok(None);
                }
                if recorded.tenancy != namespace.tenancy {
                    return Err(other_tenancy(&what()));
                }
                column::<i64>(row, "epoch", &what)?.cast_unsigned() + 1
            }
        };
        let rows = self.call(&self.sql.confirmed, &named).await?;
        let held = rows.iter().map(|row| held(row, namespace)).collect::<Result<Vec<_>, _>>()?;
        Ok(Some((epoch, RekeyPlan::new(held, change.normalizer))))
    }

    /// The epochs first, then each holder's commit, then the keys: rows are locked in the order of appends (R18). Keys that
    /// change are freed before a new form is taken.
    async fn apply(
        &self,
        changes: Vec<(&RekeyNamespace, u64, RekeyPlan)>,
        tokens: &(dyn Fn() -> Token + Send + Sync),
    ) -> Result<(), Trouble> {
        let (mut freed, mut commits) = (Vec::new(), Vec::new());
        for (change, epoch, plan) in &changes {
            let NamespaceRecord { context, name, tenancy, normalizer } = &change.namespace;
            let (tenancy, epoch) = (tenancy.to_string(), integer(*epoch));
            self.call(&self.sql.record, &[&&**name, &&**context, &tenancy, &&**normalizer, &epoch]).await?;
            freed.extend(&plan.freed);
            commits.extend(plan.commits.iter().map(|(holder, changes)| (holder, &change.command, changes)));
        }
        commits.sort_by_key(|(holder, ..)| {
            (&holder.id, &holder.aggregate.name, &holder.aggregate.context, &holder.tenant)
        });
        let mut taken: Vec<(&KeyId, &StreamId, i64)> = Vec::new();
        for (holder, command, changes) in commits {
            let position = self.commit(command, tokens(), holder, changes).await?;
            taken.extend(changes.iter().filter(|(_, takes)| *takes).map(|(key, _)| (key, holder, position)));
        }
        for (change, ..) in &changes {
            let NamespaceRecord { context, name, .. } = &change.namespace;
            // A pending key has no commit to move it with, and its attempt was decided under the old epoch: it can't append.
            self.call(&self.sql.drop_pending, &[&&**name, &&**context]).await?;
        }
        self.free(&freed).await?;
        self.take(&taken).await
    }

    async fn free(&self, freed: &[&KeyId]) -> Result<(), Trouble> {
        let column = |part: fn(&KeyId) -> &str| Hidden(freed.iter().map(|key| part(key)).collect::<Vec<&str>>());
        let columns: [Hidden<Vec<&str>>; 4] = [
            column(|key| &key.key),
            column(|key| &key.namespace),
            column(|key| &key.scope),
            column(|key| &key.context),
        ];
        let [key, namespace, scope, of] = &columns;
        self.call(&self.sql.free, &[key, namespace, scope, of]).await.map(drop)
    }

    async fn take(&self, taken: &[(&KeyId, &StreamId, i64)]) -> Result<(), Trouble> {
        let keys = |part: fn(&KeyId) -> &str| Hidden(taken.iter().map(|(key, ..)| part(key)).collect::<Vec<&str>>());
        let holders = |part: fn(&StreamId) -> &str| {
            Hidden(taken.iter().map(|(_, holder, _)| part(holder)).collect::<Vec<&str>>())
        };
        let positions: Vec<i64> = taken.iter().map(|(.., position)| *position).collect();
        self.call(
            &self.sql.take,
            &[
                &keys(|key| &key.key),
                &keys(|key| &key.namespace),
                &keys(|key| &key.scope),
                &keys(|key| &key.context),
                &holders(|holder| &holder.aggregate.name),
                &holders(|holder| &holder.tenant),
                &holders(|holder| &holder.id),
                &positions,
            ],
        )
        .await
        .map(drop)
    }

    /// Writes the holder's commit, and says at which position. A commit of another kind may take the version meanwhile.
    async fn commit(
        &self,
        command: &Text,
        token: Token,
        holder: &StreamId,
        changes: &[(KeyId, Takes)],
    ) -> Result<i64, Trouble> {
        let keys = serde_json::to_string(&key_changes(changes)).expect("texts and flags can be written as JSON");
        let RequestKey { id, fingerprint } = RequestKey::of_token(token);
        values::plain("reason of a rekey", command).map_err(Trouble::Store)?;
        let parts = [&*holder.aggregate.context, &*holder.aggregate.name, &*holder.tenant, &*holder.id].map(Hidden);
        let [context, aggregate, tenant, of] = &parts;
        let (kind, keys, token) = (CommitKind::Rekey.as_str(), Hidden(keys), uuid(token));
        let params: &[&(dyn ToSql + Sync)] =
            &[context, aggregate, tenant, of, &kind, &&**command, &id.as_str(), &&fingerprint.0[..], &token, &keys];
        let what = || format!("the commit of {holder}");
        for _ in 0..COMMIT_TRIES_MAX {
            if let Some(row) = self.call(&self.sql.commit, params).await?.first() {
                return column(row, "position", &what);
            }
        }
        let message = format!("the stream of {holder} is too busy for its commit; rekey again");
        Err(Trouble::store(StoreErrorKind::Unavailable, message))
    }
}

fn held(row: &Row, namespace: &NamespaceRecord) -> Result<(KeyId, StreamId), Trouble> {
    let (name, context) = (&namespace.name, &namespace.context);
    let what = || format!("a reservation of namespace {:?}, context {:?}", name.as_str(), context.as_str());
    let text = |column| text(row, column, &what);
    let key = KeyId { key: text("key")?, namespace: name.clone(), scope: text("scope")?, context: context.clone() };
    let aggregate = AggregateType { context: context.clone(), name: text("holder_aggregate")? };
    Ok((key, StreamId { aggregate, tenant: text("holder_tenant")?, id: text("holder_id")? }))
}

fn other_tenancy(namespace: &str) -> Trouble {
    let message = format!("{namespace} is recorded with another tenancy; a rekey changes the normaliser only");
    Trouble::Store(StoreError::not_done(StoreErrorKind::Incompatible, message))
}
