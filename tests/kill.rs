//! `kill -9` of real processes that write to one store, again and again (R4, R7, S4, U16, U17): nothing that was
//! reported committed is lost, no key is held twice, and the registry is what the log says. The server lives on here; it
//! is stopped and killed in `tests/postgres/chaos.rs`.

use freehold::reservation::KeyId;
use freehold::store::CommitRecord;
use freehold::{AggregateType, Store, StreamId, Text};
use freehold_testkit::ManualClock;
use freehold_testkit::script::NAMES;
use freehold_tests::audit::{Told, audit};
use freehold_tests::postgres::Schema;
use freehold_tests::process::Process;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::mpsc;

const ROUNDS: usize = 200;
const VICTIMS: usize = 2;

/// What the log of the file says so far.
#[derive(Default)]
struct Audit {
    cursor: u64,
    versions: BTreeMap<StreamId, u64>,
    requests: HashSet<String>,
    commits: HashSet<(String, u64, String)>,
    holders: BTreeMap<KeyId, StreamId>,
}

impl Audit {
    fn add(&mut self, commit: &CommitRecord) {
        assert!(commit.position > self.cursor, "positions increase");
        self.cursor = commit.position;
        let version = self.versions.entry(commit.stream.clone()).or_default();
        *version += 1;
        assert_eq!(commit.version, *version, "versions have no gaps: {}", commit.stream);
        assert!(self.requests.insert(commit.request.id.to_string()), "one commit a request");
        self.commits.insert((commit.stream.id.to_string(), commit.version, commit.request.id.to_string()));
        for change in &commit.keys {
            let key = KeyId {
                key: change.key.clone(),
                namespace: change.namespace.clone(),
                scope: change.scope.clone(),
                context: commit.stream.aggregate.context.clone(),
            };
            if change.taken {
                let before = self.holders.insert(key, commit.stream.clone());
                assert!(before.is_none_or(|holder| holder == commit.stream), "a key is held once");
            } else {
                assert_eq!(self.holders.remove(&key).as_ref(), Some(&commit.stream), "freed by its holder (R20)");
            }
        }
    }

    async fn read(&mut self, store: &dyn Store) {
        loop {
            let page = store.commits(self.cursor, 500).await.expect("the log is read");
            if page.is_empty() {
                return;
            }
            page.iter().for_each(|commit| self.add(commit));
        }
    }

    /// The registry holds what the log implies, key by key (R20).
    async fn compare(&self, store: &dyn Store) {
        for number in 0..300 {
            let key = KeyId {
                key: Text::from(format!("name-{number}")),
                namespace: Text::from_static(NAMES.name()),
                scope: Text::from_static("acme"),
                context: Text::from_static("scripted"),
            };
            let record = store.reservation(key.clone()).await.expect("a record is read").record;
            let holder = record.filter(freehold::reservation::Record::is_confirmed).map(|record| record.holder);
            assert_eq!(holder.as_ref(), self.holders.get(&key));
        }
    }
}

/// What the victims are started with, besides their names.
struct Victims<'a> {
    place: &'a str,
    schema: Option<&'a str>,
}

impl Victims<'_> {
    fn start(&self, name: &str, lines: mpsc::Sender<String>) -> Process {
        let arguments: Vec<&str> = [self.place, name].into_iter().chain(self.schema).collect();
        Process::start(env!("CARGO_BIN_EXE_victim"), &arguments, move |line| drop(lines.send(line)))
    }

    /// Lets them write until so many lines have come, kills them, and returns every line they got out.
    fn round(&self, number: usize, lines_wanted: usize) -> Vec<String> {
        let (sender, receiver) = mpsc::channel();
        let victims: Vec<Process> =
            (0..VICTIMS).map(|which| self.start(&format!("v{number}-{which}"), sender.clone())).collect();
        drop(sender);
        let mut lines: Vec<String> = receiver.iter().take(lines_wanted).collect();
        victims.into_iter().for_each(Process::kill);
        lines.extend(receiver.iter());
        lines
    }
}

/// Everything that was reported, and whether the log bears it out.
#[derive(Default)]
struct Reports {
    audit: Audit,
    told: Vec<Told>,
    aggregates: BTreeSet<String>,
}

impl Reports {
    fn add(&mut self, number: usize, lines: Vec<String>) {
        for line in lines {
            let told = Told::parse(&line).unwrap_or_else(|| panic!("round {number}: {line:?}"));
            if let Told::Committed { id, version, request } = &told {
                let commit = (id.clone(), *version, request.clone());
                assert!(self.audit.commits.contains(&commit), "round {number}: reported, and lost: {line}");
                self.aggregates.insert(id.clone());
            }
            self.told.push(told);
        }
    }

    /// At the end, when nothing is on its way any more.
    fn judge(&self) {
        let scripted = AggregateType { context: Text::from_static("scripted"), name: Text::from_static("scripted") };
        assert!(self.audit.versions.keys().all(|stream| stream.aggregate == scripted));
        let (mut committed, mut denied) = (0, 0);
        for told in &self.told {
            match told {
                Told::Committed { .. } => committed += 1,
                Told::Denied { request } => {
                    assert!(!self.audit.requests.contains(request), "told that there is no commit: {request} (C4)");
                    denied += 1;
                }
            }
        }
        let aggregates = self.aggregates.len();
        assert!(committed >= ROUNDS, "only {committed} commits were reported by {aggregates} aggregates");
        assert!(denied > 0, "nobody was ever too late");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_reported_is_lost_and_no_key_is_held_twice() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("victims.db");
    let victims = Victims { place: file.to_str().expect("a temporary file's name is text"), schema: None };
    let mut random = fastrand::Rng::with_seed(9);
    let mut reports = Reports::default();
    for number in 0..ROUNDS {
        let lines = victims.round(number, random.usize(1..40));
        let store = freehold_tests::sqlite_at(&file, &ManualClock::default()).await;
        reports.audit.read(&store).await;
        reports.add(number, lines);
        if number % 20 == 19 {
            reports.audit.compare(&store).await;
        }
        store.close().await.expect("closed");
    }
    reports.judge();
}

/// The same on a server, which goes on with what the dead have sent: a commit may land after its process has died, so the
/// store is asked in the end once more, and then its tables are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run starts one"]
async fn a_server_keeps_what_dead_processes_were_told() {
    let schema = Schema::shared();
    let victims = Victims { place: schema.url(), schema: Some(schema.name()) };
    let mut random = fastrand::Rng::with_seed(10);
    let mut reports = Reports::default();
    for number in 0..ROUNDS {
        let lines = victims.round(number, random.usize(1..40));
        let store = freehold_tests::postgres_at(&schema).await;
        reports.audit.read(&store).await;
        reports.add(number, lines);
        store.close().await.expect("closed");
    }
    schema.wait_for_silence();
    let store = freehold_tests::postgres_at(&schema).await;
    reports.audit.read(&store).await;
    reports.audit.compare(&store).await;
    store.close().await.expect("closed");
    reports.judge();
    let breaches = audit(&schema.sql(), schema.name(), &reports.told);
    assert!(breaches.is_empty(), "{breaches:#?}");
}
