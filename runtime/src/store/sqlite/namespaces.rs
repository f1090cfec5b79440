//! The record of namespaces: who may reserve how (R12, R13).

use super::errors::Trouble;
use super::work::Work;
use crate::reservation::Tenancy;
use crate::store::{NamespaceRecord, Registered};
use crate::text::Text;
use rusqlite::{Connection, OptionalExtension};

/// The epoch of a namespace that was never rekeyed.
pub(super) const FIRST_EPOCH: u64 = 1;

/// Records the namespaces, or compares them with what is recorded: all or none (R13).
pub(super) fn register(work: &Work<'_>, namespaces: &[NamespaceRecord]) -> Result<Vec<Registered>, Trouble> {
    let registered = work.all_or_nothing(|| {
        let answers =
            namespaces.iter().map(|namespace| register_one(work, namespace)).collect::<Result<Vec<_>, _>>()?;
        let differs = answers.iter().any(|answer| matches!(answer, Registered::Differs { .. }));
        Ok(if differs { Err(answers) } else { Ok(answers) })
    })?;
    work.forget_epochs();
    Ok(registered.unwrap_or_else(|answers| answers))
}

fn register_one(work: &Work<'_>, namespace: &NamespaceRecord) -> Result<Registered, Trouble> {
    if let Some(answer) = compare(work.connection, namespace)? {
        return Ok(answer);
    }
    record(work, namespace, FIRST_EPOCH)?;
    Ok(Registered::AsGiven { epoch: FIRST_EPOCH })
}

/// The answers of [`register`] when it has nothing to write: every one is recorded.
pub(super) fn all_recorded(
    connection: &Connection,
    namespaces: &[NamespaceRecord],
) -> Result<Option<Vec<Registered>>, Trouble> {
    namespaces.iter().map(|namespace| compare(connection, namespace)).collect()
}

fn compare(connection: &Connection, namespace: &NamespaceRecord) -> Result<Option<Registered>, Trouble> {
    let found = recorded(connection, &namespace.context, &namespace.name)?;
    Ok(found.map(
        |(recorded, epoch)| {
            if recorded == *namespace { Registered::AsGiven { epoch } } else { Registered::Differs { recorded } }
        },
    ))
}

/// What is recorded of a namespace, and its epoch.
pub(super) fn recorded(
    connection: &Connection,
    context: &Text,
    name: &Text,
) -> Result<Option<(NamespaceRecord, u64)>, Trouble> {
    let found: Option<(String, String, i64)> = connection
        .prepare_cached("SELECT tenancy, normalizer, epoch FROM namespaces WHERE name = ?1 AND context = ?2")?
        .query_row([name.as_str(), context.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((tenancy, normalizer, epoch)) = found else { return Ok(None) };
    let damaged = |column| Trouble::Damaged {
        row: format!("namespace {:?} of context {:?}", name.as_str(), context.as_str()),
        column,
    };
    let tenancy = [Tenancy::Tenant, Tenancy::System]
        .into_iter()
        .find(|known| known.to_string() == tenancy)
        .ok_or_else(|| damaged("tenancy"))?;
    let epoch = u64::try_from(epoch).map_err(|_| damaged("epoch"))?;
    let record =
        NamespaceRecord { context: context.clone(), name: name.clone(), tenancy, normalizer: Text::from(normalizer) };
    Ok(Some((record, epoch)))
}

/// Writes the record of a namespace.
pub(super) fn record(work: &Work<'_>, namespace: &NamespaceRecord, epoch: u64) -> Result<(), Trouble> {
    work.run(
        "INSERT INTO namespaces (context, name, tenancy, normalizer, epoch) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO UPDATE SET tenancy = excluded.tenancy, normalizer = excluded.normalizer, epoch = excluded.epoch",
        (
            &*namespace.context,
            &*namespace.name,
            namespace.tenancy.to_string(),
            &*namespace.normalizer,
            super::work::integer(epoch),
        ),
    )?;
    Ok(())
}
