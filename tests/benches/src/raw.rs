//! The limit: a bare loop that writes the rows of a command as the SQLite store does, with the same schema.
//!
//! A command reserves one random key and appends one commit that confirms it. The loop does it in groups of 64: all
//! pending rows in a transaction that does not wait for the disk, then all commits in one that does. It checks
//! nothing, decides nothing and answers nobody; its rows are made before the clock starts.

use crate::stopwatch;
use freehold::reservation::KeyId;
use freehold::reservation::lifecycle::KeyUse;
use freehold::store::sqlite::SqliteStore;
use freehold::store::{Append, CommitKind, Fingerprint, KeyClaim, NamespaceRecord, RequestKey, Store};
use freehold::{AggregateType, EncodedEvent, IdSource, RandomIds, RequestId, StreamId, Tenancy, Text, Token};
use rusqlite::{Connection, params};
use std::path::Path;
use std::time::Duration;

const GROUP: usize = 64;

/// A command of the benchmark: what is known before it is sent.
pub struct Command {
    /// Whose.
    pub stream: StreamId,
    /// The key it takes.
    pub key: KeyId,
    /// The attempt.
    pub token: Token,
    /// The request.
    pub request: RequestKey,
    /// The events.
    pub events: Vec<EncodedEvent>,
}

/// So many commands, each with a random key.
#[must_use]
pub fn commands(count: u32) -> Vec<Command> {
    let mut random = fastrand::Rng::new();
    let mut hex = |digits: usize| (0..digits).map(|_| random.digit(16)).collect::<String>();
    let aggregate = AggregateType { context: "eshop-catalog".into(), name: "brand".into() };
    let tenant = Text::from_static("acme");
    (0..count)
        .map(|_| {
            let token = Token::from_u128(RandomIds.next());
            let request = Token::from_u128(RandomIds.next()).to_string();
            let name = hex(16);
            let data = serde_json::value::to_raw_value(&serde_json::json!({ "name": name })).unwrap();
            Command {
                stream: StreamId { aggregate: aggregate.clone(), tenant: tenant.clone(), id: hex(24).into() },
                key: KeyId {
                    key: name.into(),
                    namespace: "eshop-catalog.brand-name".into(),
                    scope: tenant.clone(),
                    context: aggregate.context.clone(),
                },
                token,
                request: RequestKey { id: RequestId::new(request).unwrap(), fingerprint: Fingerprint([7; 32]) },
                events: vec![EncodedEvent { name: "BrandCreated".into(), version: 1, data }],
            }
        })
        .collect()
}

/// The namespace of their keys.
#[must_use]
pub fn namespace() -> NamespaceRecord {
    NamespaceRecord {
        context: "eshop-catalog".into(),
        name: "eshop-catalog.brand-name".into(),
        tenancy: Tenancy::Tenant,
        normalizer: "trim-lowercase@1".into(),
    }
}

/// The append of a command.
#[must_use]
pub fn append_of(command: &Command) -> Append {
    Append {
        stream: command.stream.clone(),
        expected_version: 0,
        kind: CommitKind::Command,
        command: "CreateBrand".into(),
        request: command.request.clone(),
        token: command.token,
        mark: 0,
        events: command.events.clone(),
        keys: vec![KeyClaim { key: command.key.clone(), epoch: 1, key_use: KeyUse::Take }],
        metadata: None,
    }
}

/// The values of a command's rows, as the store writes them.
struct Rows {
    fingerprint: String,
    token: String,
    events: String,
    keys: String,
    leases: String,
}

/// Runs `count` commands through the bare loop, on a new file in `directory`.
///
/// # Panics
///
/// When SQLite fails.
#[must_use]
pub fn run_raw(directory: &Path, count: u32) -> Duration {
    let commands = commands(count);
    let rows: Vec<Rows> = commands.iter().map(rows_of).collect();
    let scratch = tempfile::tempdir_in(directory).unwrap();
    let path = scratch.path().join("store.db");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(&path).await.unwrap();
        store.register(vec![namespace()]).await.unwrap();
        store.close().await.unwrap();
    });
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA wal_autocheckpoint = 8000; PRAGMA cache_size = -16384").unwrap();
    let start = stopwatch();
    for (commands, rows) in commands.chunks(GROUP).zip(rows.chunks(GROUP)) {
        connection.execute_batch("PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE").unwrap();
        pending(&connection, commands, rows);
        connection.execute_batch("COMMIT; PRAGMA synchronous = FULL; BEGIN IMMEDIATE").unwrap();
        confirmed(&connection, commands, rows);
        connection.execute_batch("COMMIT").unwrap();
    }
    let took = start.elapsed();
    let rows_in = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(rows_in("SELECT count(*) FROM commits"), i64::from(count));
    assert_eq!(rows_in("SELECT count(*) FROM reservations WHERE position IS NOT NULL"), i64::from(count));
    took
}

fn rows_of(command: &Command) -> Rows {
    Rows {
        fingerprint: command.request.fingerprint.to_string(),
        token: command.token.to_string(),
        events: serde_json::to_string(&command.events).unwrap(),
        keys: serde_json::to_string(&append_of(command).key_changes()).unwrap(),
        leases: format!(r#"[{{"token":"{}","expires_at_ms":1700000030000,"request":1}}]"#, command.token),
    }
}

fn pending(connection: &Connection, commands: &[Command], rows: &[Rows]) {
    let mut insert = connection
        .prepare_cached(
            "INSERT INTO reservations (key, namespace, scope, context, holder_id, holder_tenant, holder_aggregate,
                 leases, expires_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 1700000030000)",
        )
        .unwrap();
    for (Command { stream, key, .. }, rows) in commands.iter().zip(rows) {
        insert
            .execute(params![
                &*key.key,
                &*key.namespace,
                &*key.scope,
                &*key.context,
                &*stream.id,
                &*stream.tenant,
                &*stream.aggregate.name,
                rows.leases,
            ])
            .unwrap();
    }
}

fn confirmed(connection: &Connection, commands: &[Command], rows: &[Rows]) {
    let mut insert = connection
        .prepare_cached(
            "INSERT INTO commits (context, aggregate, tenant, id, version, kind, command, request_id, fingerprint, token,
                 events, keys, metadata, at_ms)
             VALUES (?1, ?2, ?3, ?4, 1, 'command', 'CreateBrand', ?5, ?6, ?7, ?8, ?9, NULL, 1700000000000)",
        )
        .unwrap();
    let mut update = connection
        .prepare_cached(
            "UPDATE reservations SET position = ?5, leases = NULL, expires_at_ms = NULL
             WHERE key = ?1 AND namespace = ?2 AND scope = ?3 AND context = ?4",
        )
        .unwrap();
    for (Command { stream, key, request, .. }, rows) in commands.iter().zip(rows) {
        insert
            .execute(params![
                &*stream.aggregate.context,
                &*stream.aggregate.name,
                &*stream.tenant,
                &*stream.id,
                request.id.as_str(),
                rows.fingerprint,
                rows.token,
                rows.events,
                rows.keys,
            ])
            .unwrap();
        let position = connection.last_insert_rowid();
        let confirmed = update.execute(params![&*key.key, &*key.namespace, &*key.scope, &*key.context, position]);
        assert_eq!(confirmed, Ok(1));
    }
}
