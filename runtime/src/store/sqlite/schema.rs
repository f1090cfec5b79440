//! The schema's versions, and how a file gets to the newest one (S5). What the tables mean is in `schema.sql`.

use super::connection::patiently;
use super::errors::{Site, Trouble};
use crate::clock::Timestamp;
use crate::store::StoreErrorKind;
use rusqlite::{Connection, OptionalExtension};

/// Marks a file as Freehold's in its header: `FHLD`. `file(1)` and SQLite's `PRAGMA application_id` show it.
pub(super) const APPLICATION_ID: i32 = 0x4648_4C44;

/// One change of the schema: expand first, contract a release later.
pub(super) struct Step {
    /// The schema's version after it.
    pub(super) version: i64,
    /// The lowest version of the code that can still use the file after it.
    pub(super) lowest_reader: i64,
    /// What it changes.
    pub(super) sql: &'static str,
}

/// All steps, in order. A released one never changes.
pub(super) const STEPS: &[Step] = &[
    Step { version: 1, lowest_reader: 1, sql: include_str!("schema.sql") },
    Step { version: 2, lowest_reader: 1, sql: include_str!("schema_2.sql") },
];

/// Whose file it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// A Freehold store.
    Freehold,
    /// Nobody's: no table in it yet.
    Nobody,
}

/// Looks whose file it is, without changing it.
pub(super) fn owner(connection: &Connection, site: &Site) -> Result<Owner, Trouble> {
    // In this order: another process that makes it its own just now writes tables and id in one transaction.
    let is_empty: bool =
        patiently(|| connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0)))?;
    let id: i32 = patiently(|| connection.query_row("PRAGMA application_id", [], |row| row.get(0)))?;
    match (id, is_empty) {
        (APPLICATION_ID, _) => Ok(Owner::Freehold),
        (0, true) => Ok(Owner::Nobody),
        _ => Err(Trouble::store(
            StoreErrorKind::Incompatible,
            format!(
                "{} is an SQLite database of another program; give Freehold a file of its own",
                site.path().display()
            ),
        )),
    }
}

/// Brings the file to the newest version, in one transaction; safe when several processes do it at once.
///
/// A file that has it is only read: whoever has the write lock keeps nobody from opening.
pub(super) fn migrate(connection: &Connection, site: &Site, steps: &[Step], now: Timestamp) -> Result<(), Trouble> {
    if let Some((version, _)) = recorded(connection, site, steps)?
        && steps.iter().all(|step| step.version <= version)
    {
        return Ok(());
    }
    patiently(|| connection.execute_batch("BEGIN IMMEDIATE"))?;
    let migrated = migrate_locked(connection, site, steps, now).and_then(|()| Ok(connection.execute_batch("COMMIT")?));
    if migrated.is_err() && !connection.is_autocommit() {
        // The error that is reported is the first one.
        let _ = connection.execute_batch("ROLLBACK");
    }
    migrated
}

fn migrate_locked(connection: &Connection, site: &Site, steps: &[Step], now: Timestamp) -> Result<(), Trouble> {
    // Under the lock once more: another process may have made it its own since.
    owner(connection, site)?;
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS freehold_schema (
             only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
             version INTEGER NOT NULL, lowest_reader INTEGER NOT NULL,
             opened_at_ms INTEGER NOT NULL -- when it was first opened with this version
         ) STRICT",
    )?;
    let (version, _) = recorded(connection, site, steps)?.unwrap_or((0, 0));
    for step in steps.iter().filter(|step| step.version > version) {
        connection.execute_batch(step.sql)?;
        connection.execute(
            "INSERT INTO freehold_schema (only_row, version, lowest_reader, opened_at_ms) VALUES (1, ?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET version = excluded.version, lowest_reader = excluded.lowest_reader,
                 opened_at_ms = excluded.opened_at_ms",
            [step.version, step.lowest_reader, now.as_millis()],
        )?;
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    Ok(())
}

/// The version of the file's schema and its lowest reader, when it has one; an error when it is too new for `steps`.
fn recorded(connection: &Connection, site: &Site, steps: &[Step]) -> Result<Option<(i64, i64)>, Trouble> {
    let has_schema: bool = patiently(|| {
        let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'freehold_schema')";
        connection.query_row(sql, [], |row| row.get(0))
    })?;
    if !has_schema {
        return Ok(None);
    }
    let recorded = patiently(|| {
        let sql = "SELECT version, lowest_reader FROM freehold_schema";
        connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()
    })?;
    let known = steps.last().map_or(0, |step| step.version);
    match recorded {
        Some((version, lowest_reader)) if lowest_reader > known => Err(Trouble::store(
            StoreErrorKind::Incompatible,
            format!(
                "{} has schema {version}, which needs a release that knows schema {lowest_reader}; this one knows \
                 {known}. Deploy the newer release",
                site.path().display()
            ),
        )),
        recorded => Ok(recorded),
    }
}
