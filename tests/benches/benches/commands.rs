//! Whole commands: load, decide, reserve, append, settle; in memory and on SQLite, against the bare loop of `raw`; and the
//! import of the example.
//!
//! In the environment: `ROUNDS` (5), `ONLY` (the start of contestants' names), `DIR` (where the files are).

use eshop_catalog::import::Report;
use eshop_catalog::names::BRAND_NAMES;
use eshop_catalog::{Brand, lines};
use freehold::prelude::*;
use freehold::{MemoryStore, SqliteStore};
use freehold_benches::raw::run_raw;
use freehold_benches::{Contestant, setting, stopwatch};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const RAW_COMMANDS: u32 = 30_000;
const MEMORY_COMMANDS: u32 = 200_000;
/// Concurrency on SQLite, and how many commands it gets.
const CONCURRENT: [(u32, u32); 3] = [(1, 1_500), (32, 15_000), (128, 30_000)];

#[namespace]
const NAMES: Namespace = Namespace::new("bench.name").normalized(TRIM_LOWERCASE);

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct User {
    name: String,
    seen: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Register {
    name: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Note {
    name: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct See {}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Registered {
    name: String,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Seen {}

#[aggregate(context = "bench", name = "user")]
impl User {
    #[on_command(creates, produces = [Registered])]
    async fn register(&self, command: Register, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        scope.reserve(NAMES, &command.name).await?.or_reject("NAME_TAKEN", "another user has this name")?;
        Ok(Decision::event(Registered { name: command.name }))
    }

    #[on_command(creates, produces = [Registered])]
    fn note(&self, command: Note) -> Decision {
        Decision::event(Registered { name: command.name })
    }

    #[on_command(produces = [Seen])]
    fn see(&self, _: See) -> Decision {
        Decision::event(Seen {})
    }

    #[on_event]
    fn registered(&mut self, event: &Registered) {
        self.name.clone_from(&event.name);
    }

    #[on_event]
    fn seen(&mut self, _: &Seen) {
        self.seen += 1;
    }
}

/// An id and a name, both random.
fn users(count: u32) -> Vec<(AggregateId<User>, String)> {
    let mut random = fastrand::Rng::new();
    let mut hex = |digits: usize| (0..digits).map(|_| random.digit(16)).collect::<String>();
    (0..count).map(|_| (AggregateId::new(hex(24)).and_then(|id| id.tenant("acme")).unwrap(), hex(16))).collect()
}

async fn domain(store: impl freehold::Store) -> Domain {
    let builder = Domain::builder().without_discovery().aggregate::<User>().namespace(NAMES);
    builder.store(store).build().await.unwrap()
}

fn current_thread() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

/// One client, one core: what a command costs where nothing waits.
fn in_memory(kind: &str) -> Duration {
    let users = users(MEMORY_COMMANDS);
    current_thread().block_on(async {
        let domain = domain(MemoryStore::new()).await;
        if kind == "warm" {
            let (id, name) = &users[0];
            domain.send(id, Note { name: name.clone() }).await.unwrap();
        }
        let start = stopwatch();
        for (id, name) in &users {
            match kind {
                "reserve" => drop(domain.send(id, Register { name: name.clone() }).await.unwrap()),
                "plain" => drop(domain.send(id, Note { name: name.clone() }).await.unwrap()),
                _ => drop(domain.send(&users[0].0, See {}).await.unwrap()),
            }
        }
        start.elapsed()
    })
}

fn on_sqlite(directory: &Path, concurrency: u32, count: u32) -> Duration {
    let scratch = tempfile::tempdir_in(directory).unwrap();
    let users = Arc::new(users(count));
    current_thread().block_on(async {
        let store = SqliteStore::open(scratch.path().join("commands.db")).await.unwrap();
        let domain = domain(store).await;
        let next = Arc::new(AtomicUsize::new(0));
        let start = stopwatch();
        let mut clients = Vec::new();
        for _ in 0..concurrency {
            let (domain, users, next) = (domain.clone(), Arc::clone(&users), Arc::clone(&next));
            clients.push(tokio::spawn(async move {
                while let Some((id, name)) = users.get(next.fetch_add(1, Ordering::Relaxed)) {
                    domain.send(id, Register { name: name.clone() }).await.unwrap();
                }
            }));
        }
        for client in clients {
            client.await.unwrap();
        }
        let took = start.elapsed();
        domain.close().await.unwrap();
        took
    })
}

/// The brand names of the example, as its program imports them: 3,666 lines, 256 at a time.
fn import(directory: &Path) -> Duration {
    let scratch = tempfile::tempdir_in(directory).unwrap();
    let file = include_bytes!("../../../examples/eshop-catalog/data/brand-names.tsv");
    current_thread().block_on(async {
        let store = SqliteStore::open(scratch.path().join("import.db")).await.unwrap();
        let builder = Domain::builder().without_discovery().aggregate::<Brand>().namespace(BRAND_NAMES);
        let domain = builder.store(store).build().await.unwrap();
        let (lines, bad) = lines::read(file, BRAND_NAMES);
        let (mut report, started) = (Report::default(), stopwatch());
        eshop_catalog::import::import::<Brand>(&domain, "acme", lines, &mut report, |_| {}).await.unwrap();
        let took = started.elapsed();
        assert_eq!((report.created, bad.len()), (3_651, 0));
        domain.close().await.unwrap();
        took
    })
}

fn main() {
    let directory = std::env::var_os("DIR").map_or_else(std::env::temp_dir, Into::into);
    let only = std::env::var("ONLY").unwrap_or_default();
    let wanted = |one: &Contestant| one.name.starts_with(&only);
    let mut raw = Contestant::new("sqlite-raw");
    let mut sqlite: Vec<_> = CONCURRENT.iter().map(|(many, _)| Contestant::new(format!("sqlite-{many}"))).collect();
    let mut imports = Contestant::new("import");
    let mut memory = ["plain", "reserve", "warm"].map(|kind| Contestant::new(format!("memory-{kind}")));
    for _ in 0..setting("ROUNDS", 5) {
        for one in memory.iter_mut().filter(|one| wanted(one)) {
            let took = in_memory(one.name.trim_start_matches("memory-"));
            one.ran(MEMORY_COMMANDS, took);
        }
        if wanted(&raw) {
            raw.ran(RAW_COMMANDS, run_raw(&directory, RAW_COMMANDS));
        }
        for (one, (concurrency, count)) in sqlite.iter_mut().zip(CONCURRENT) {
            if wanted(one) {
                one.ran(count, on_sqlite(&directory, concurrency, count));
            }
        }
    }
    if wanted(&imports) {
        (0..setting("ROUNDS", 5)).for_each(|_| imports.ran(3_666, import(&directory)));
    }
    println!("{:<24} {:>11}   {:>8} .. {:<8} {:>6}", "", "median", "least", "most", "ratio");
    for group in [memory.iter().collect::<Vec<_>>(), std::iter::once(&raw).chain(&sqlite).collect(), vec![&imports]] {
        let measured: Vec<_> = group.into_iter().filter(|one| !one.rates.is_empty()).collect();
        measured.iter().for_each(|one| one.print(measured[0]));
    }
}
