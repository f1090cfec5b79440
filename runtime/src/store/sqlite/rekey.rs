//! Rekeying a namespace: what the plan says, each holder's changes a commit, all or nothing (R13, R20).

use super::errors::Trouble;
use super::log;
use super::namespaces::{self, FIRST_EPOCH};
use super::reservations::{self, DELETE};
use super::work::Work;
use crate::ids::{AggregateType, StreamId, Token};
use crate::reservation::lifecycle::KeyUse;
use crate::reservation::{KeyId, Record, RecordState};
use crate::store::rekeying::{RekeyPlan, Takes};
use crate::store::{
    Append, CommitKind, KeyClaim, NamespaceRecord, Rekey, RekeyCollision, RekeyNamespace, RekeyReply, RequestKey,
    StoreErrorKind,
};
use crate::text::Text;

/// A pending key has no commit to move it with, and its attempt was decided under the old epoch: it can't append.
const DROP_PENDING: &str = "DELETE FROM reservations WHERE namespace = ?1 AND context = ?2 AND position IS NULL";

/// Reads the whole table: a rekey is rare, and an index would cost every reserve.
const CONFIRMED: &str = "SELECT key, scope, holder_aggregate, holder_tenant, holder_id FROM reservations
     WHERE namespace = ?1 AND context = ?2 AND position IS NOT NULL ORDER BY key, scope";

/// Changes the normalisers of namespaces, all or none. The epoch is raised before the first key moves: whoever still
/// works with the old one is refused from then on. A namespace that is recorded as asked for is left as it is: another
/// process did it.
pub(super) fn rekey(work: &Work<'_>, rekey: &Rekey) -> Result<RekeyReply, Trouble> {
    let done = work.all_or_nothing(|| change_all(work, rekey));
    work.forget_epochs();
    Ok(match done? {
        Ok(moved) => RekeyReply::Done { moved },
        Err(collisions) => RekeyReply::Collides(collisions),
    })
}

fn change_all(work: &Work<'_>, rekey: &Rekey) -> Result<Result<u64, Vec<RekeyCollision>>, Trouble> {
    let (mut moved, mut collisions) = (0, Vec::new());
    for namespace in &rekey.namespaces {
        match change(work, namespace, &*rekey.tokens)? {
            Ok(more) => moved += more,
            Err(more) => collisions.extend(more),
        }
    }
    Ok(if collisions.is_empty() { Ok(moved) } else { Err(collisions) })
}

fn change(
    work: &Work<'_>,
    rekey: &RekeyNamespace,
    tokens: &dyn Fn() -> Token,
) -> Result<Result<u64, Vec<RekeyCollision>>, Trouble> {
    let namespace = &rekey.namespace;
    let epoch = match namespaces::recorded(work.connection, &namespace.context, &namespace.name)? {
        Some((recorded, _)) if recorded == *namespace => return Ok(Ok(0)),
        Some((recorded, _)) if recorded.tenancy != namespace.tenancy => return Err(other_tenancy(namespace)),
        Some((_, epoch)) => epoch + 1,
        None => FIRST_EPOCH,
    };
    namespaces::record(work, namespace, epoch)?;
    work.run(DROP_PENDING, [&*namespace.name, &*namespace.context])?;
    let plan = match RekeyPlan::new(held(work, namespace)?, rekey.normalizer) {
        Ok(plan) => plan,
        Err(collisions) => return Ok(Err(collisions)),
    };
    for old in &plan.freed {
        work.run(DELETE, key_params!(old))?;
    }
    for (holder, changes) in plan.commits {
        let position = write_commit(work, (&rekey.command, tokens()), epoch, &holder, &changes)?;
        for (new, _) in changes.into_iter().filter(|(_, taken)| *taken) {
            let record = Record { holder: holder.clone(), state: RecordState::Confirmed(position) };
            reservations::put(work, &new, &record)?;
        }
    }
    Ok(Ok(plan.moved))
}

fn held(work: &Work<'_>, namespace: &NamespaceRecord) -> Result<Vec<(KeyId, StreamId)>, Trouble> {
    let (name, context) = (&namespace.name, &namespace.context);
    let mut find = work.statement(CONFIRMED)?;
    let mut rows = find.query([&**name, &**context])?;
    let mut held = Vec::new();
    while let Some(row) = rows.next()? {
        let text = |column| row.get_ref(column)?.as_str().map(Text::from).map_err(rusqlite::Error::from);
        let key = KeyId { key: text(0)?, namespace: name.clone(), scope: text(1)?, context: context.clone() };
        let aggregate = AggregateType { context: context.clone(), name: text(2)? };
        held.push((key, StreamId { aggregate, tenant: text(3)?, id: text(4)? }));
    }
    Ok(held)
}

/// Writes the holder's commit, and says at which position.
fn write_commit(
    work: &Work<'_>,
    (command, token): (&Text, Token),
    epoch: u64,
    holder: &StreamId,
    changes: &[(KeyId, Takes)],
) -> Result<u64, Trouble> {
    let newest = log::newest(&mut *work.statement(log::NEWEST)?, holder)?;
    let claim = |(key, taken): &(KeyId, Takes)| {
        let key_use = if *taken { KeyUse::Take } else { KeyUse::Release };
        KeyClaim { key: key.clone(), epoch, key_use }
    };
    let commit = Append {
        stream: holder.clone(),
        expected_version: newest.cast_unsigned(),
        kind: CommitKind::Rekey,
        command: command.clone(),
        request: RequestKey::of_token(token),
        token,
        mark: 0,
        events: Vec::new(),
        keys: changes.iter().map(claim).collect(),
        metadata: None,
    };
    if log::insert(work, &commit, newest.saturating_add(1))? {
        return Ok(work.last_position().cast_unsigned());
    }
    let message = format!("the token drawn for the rekeying of {holder} is a request id in use; rekey again");
    Err(Trouble::store(StoreErrorKind::Unavailable, message))
}

fn other_tenancy(namespace: &NamespaceRecord) -> Trouble {
    let message = format!(
        "namespace {:?} of context {:?} is recorded with another tenancy; a rekey changes the normaliser only",
        namespace.name.as_str(),
        namespace.context.as_str()
    );
    Trouble::store(StoreErrorKind::Incompatible, message)
}
