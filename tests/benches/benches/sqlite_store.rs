//! The SQLite store against a bare loop that writes the same rows with the same schema.
//!
//! A command reserves one random key and appends one commit that confirms it. The loop does it in groups of 64: all
//! pending rows in a transaction that does not wait for the disk, then all commits in one that does. It checks
//! nothing, decides nothing and answers nobody; its rows are made before the clock starts.
//!
//! In the environment: `ROUNDS` (7), `ONLY` (a contestant's name), `DIR` (where the files are), and `HELD` (0), the number
//! of keys that the store holds before the clock starts.

use freehold::reservation::lifecycle::KeyUse;
use freehold::reservation::{KeyId, RequestHash};
use freehold::store::sqlite::SqliteStore;
use freehold::store::{
    Append, AppendReply, CommitKind, Fingerprint, KeyClaim, NamespaceRecord, RequestKey, Reserve, ReserveKey, Store,
};
use freehold::{AggregateType, EncodedEvent, IdSource, RandomIds, RequestId, StreamId, Tenancy, Text, Token};
use freehold_benches::{Contestant, setting, stopwatch};
use rusqlite::{Connection, params};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const RAW_GROUP: usize = 64;
const RAW_COMMANDS: u32 = 30_000;
/// Concurrency, and how many commands it gets.
const CONCURRENT: [(u32, u32); 3] = [(1, 1_500), (32, 15_000), (128, 30_000)];

/// A command of the benchmark: what is known before it is sent.
struct Command {
    stream: StreamId,
    key: KeyId,
    token: Token,
    request: RequestKey,
    events: Vec<EncodedEvent>,
}

fn commands(count: u32) -> Vec<Command> {
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

fn namespace() -> NamespaceRecord {
    NamespaceRecord {
        context: "eshop-catalog".into(),
        name: "eshop-catalog.brand-name".into(),
        tenancy: Tenancy::Tenant,
        normalizer: "trim-lowercase@1".into(),
    }
}

fn append_of(command: &Command) -> Append {
    Append {
        stream: command.stream.clone(),
        expected_version: 0,
        kind: CommitKind::Command,
        command: "CreateBrand".into(),
        request: command.request.clone(),
        token: command.token,
        events: command.events.clone(),
        keys: vec![KeyClaim { key: command.key.clone(), epoch: 1, key_use: KeyUse::Take }],
        metadata: None,
    }
}

async fn send(store: &SqliteStore, command: &Command) {
    let asked = ReserveKey {
        key: command.key.clone(),
        epoch: 1,
        token: command.token,
        request: RequestHash(1),
        pending_ms: 30_000,
    };
    let reply = store.reserve(Reserve { holder: command.stream.clone(), keys: vec![asked] }).await.unwrap();
    assert!(reply.answers[0].is_ours());
    let reply = store.append(append_of(command)).await.unwrap();
    assert!(matches!(reply, AppendReply::Written(_)));
}

/// Sends `count` commands from `concurrency` clients, each of which sends one at a time.
async fn send_all(store: &SqliteStore, concurrency: u32, count: u32) -> Duration {
    let commands = Arc::new(commands(count));
    let next = Arc::new(AtomicUsize::new(0));
    let start = stopwatch();
    let mut clients = Vec::new();
    for _ in 0..concurrency {
        let (store, commands, next) = (store.clone(), Arc::clone(&commands), Arc::clone(&next));
        clients.push(tokio::spawn(async move {
            while let Some(command) = commands.get(next.fetch_add(1, Ordering::Relaxed)) {
                send(&store, command).await;
            }
        }));
    }
    for client in clients {
        client.await.unwrap();
    }
    start.elapsed()
}

fn run_store(directory: &Path, concurrency: u32, count: u32) -> Duration {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let scratch = tempfile::tempdir_in(directory).unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(scratch.path().join("store.db")).await.unwrap();
        store.register(vec![namespace()]).await.unwrap();
        let held = setting("HELD", 0);
        send_all(&store, 256, held).await;
        let took = send_all(&store, concurrency, count).await;
        let commits = store.commits(0, usize::MAX).await.unwrap().len();
        assert_eq!(u32::try_from(commits), Ok(held + count));
        store.close().await.unwrap();
        took
    })
}

/// The values of a command's rows, as the store writes them.
struct Rows {
    fingerprint: String,
    token: String,
    events: String,
    keys: String,
    leases: String,
}

fn run_raw(directory: &Path) -> Duration {
    let commands = commands(RAW_COMMANDS);
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
    for (commands, rows) in commands.chunks(RAW_GROUP).zip(rows.chunks(RAW_GROUP)) {
        connection.execute_batch("PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE").unwrap();
        pending(&connection, commands, rows);
        connection.execute_batch("COMMIT; PRAGMA synchronous = FULL; BEGIN IMMEDIATE").unwrap();
        confirmed(&connection, commands, rows);
        connection.execute_batch("COMMIT").unwrap();
    }
    let took = start.elapsed();
    let count = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM commits"), i64::from(RAW_COMMANDS));
    assert_eq!(count("SELECT count(*) FROM reservations WHERE position IS NOT NULL"), i64::from(RAW_COMMANDS));
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

fn main() {
    let directory = std::env::var_os("DIR").map_or_else(std::env::temp_dir, Into::into);
    let only = std::env::var("ONLY").ok();
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let mut raw = Contestant::new("raw");
    let mut stores: Vec<_> = CONCURRENT.iter().map(|(many, _)| Contestant::new(format!("store-{many}"))).collect();
    for _ in 0..setting("ROUNDS", 7) {
        if wanted("raw") {
            raw.ran(RAW_COMMANDS, run_raw(&directory));
        }
        for (contestant, (concurrency, count)) in stores.iter_mut().zip(CONCURRENT) {
            if wanted(&contestant.name) {
                contestant.ran(count, run_store(&directory, concurrency, count));
            }
        }
    }
    println!("{:<24} {:>11}   {:>8} .. {:<8} {:>6}", "", "median", "least", "most", "ratio");
    let measured: Vec<_> = std::iter::once(&raw).chain(&stores).filter(|one| !one.rates.is_empty()).collect();
    for one in &measured {
        one.print(measured[0]);
    }
}
