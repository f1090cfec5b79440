//! The SQLite store alone, without a domain, against the bare loop of `raw`.
//!
//! In the environment: `ROUNDS` (7), `ONLY` (a contestant's name), `DIR` (where the files are), and `HELD` (0), the number
//! of keys that the store holds before the clock starts.

use freehold::reservation::RequestHash;
use freehold::store::sqlite::SqliteStore;
use freehold::store::{AppendReply, Reserve, ReserveKey, Store};
use freehold_benches::raw::{Command, append_of, commands, namespace, run_raw};
use freehold_benches::{Contestant, setting, stopwatch};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const RAW_COMMANDS: u32 = 30_000;
/// Concurrency, and how many commands it gets.
const CONCURRENT: [(u32, u32); 3] = [(1, 1_500), (32, 15_000), (128, 30_000)];

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

fn main() {
    let directory = std::env::var_os("DIR").map_or_else(std::env::temp_dir, Into::into);
    let only = std::env::var("ONLY").ok();
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let mut raw = Contestant::new("raw");
    let mut stores: Vec<_> = CONCURRENT.iter().map(|(many, _)| Contestant::new(format!("store-{many}"))).collect();
    for _ in 0..setting("ROUNDS", 7) {
        if wanted("raw") {
            raw.ran(RAW_COMMANDS, run_raw(&directory, RAW_COMMANDS));
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
