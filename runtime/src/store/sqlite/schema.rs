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
pub(super) const STEPS: &[Step] = &[Step { version: 1, lowest_reader: 1, sql: include_str!("schema.sql") }];

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
/// It always writes and syncs: what the write-ahead log kept through a crash may not be on the disk yet, and is
/// durable from here on, before anyone is told of it (S4).
pub(super) fn migrate(connection: &Connection, site: &Site, steps: &[Step], now: Timestamp) -> Result<(), Trouble> {
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
             version INTEGER NOT NULL, lowest_reader INTEGER NOT NULL, opened_at_ms INTEGER NOT NULL
         ) STRICT",
    )?;
    let recorded = connection
        .query_row("SELECT version, lowest_reader FROM freehold_schema", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        })
        .optional()?;
    let (version, lowest_reader) = recorded.unwrap_or((0, 0));
    let known = steps.last().map_or(0, |step| step.version);
    if lowest_reader > known {
        return Err(Trouble::store(
            StoreErrorKind::Incompatible,
            format!(
                "{} has schema {version}, which needs a release that knows schema {lowest_reader}; this one knows \
                 {known}. Deploy the newer release",
                site.path().display()
            ),
        ));
    }
    for step in steps.iter().filter(|step| step.version > version) {
        connection.execute_batch(step.sql)?;
        connection.execute(
            "INSERT INTO freehold_schema (only_row, version, lowest_reader, opened_at_ms) VALUES (1, ?1, ?2, 0)
             ON CONFLICT DO UPDATE SET version = excluded.version, lowest_reader = excluded.lowest_reader",
            [step.version, step.lowest_reader],
        )?;
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.execute("UPDATE freehold_schema SET opened_at_ms = ?1", [now.as_millis()])?;
    Ok(())
}
