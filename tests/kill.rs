//! `kill -9` of real processes that write to one SQLite file, again and again (R4, R7, S4, U16, U17): nothing that was
//! reported committed is lost, no key is held twice, and the registry is what the log says.

use freehold::reservation::KeyId;
use freehold::store::CommitRecord;
use freehold::{AggregateType, Store, StreamId, Text};
use freehold_testkit::ManualClock;
use freehold_testkit::script::NAMES;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
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
            let record = store.reservation(key.clone()).await.expect("a record is read");
            let holder = record.filter(freehold::reservation::Record::is_confirmed).map(|record| record.holder);
            assert_eq!(holder.as_ref(), self.holders.get(&key));
        }
    }
}

fn victim(file: &Path, name: &str, lines: mpsc::Sender<String>) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_victim"))
        .args([file.as_os_str(), name.as_ref()])
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("the victim starts");
    let out = child.stdout.take().expect("its output is piped");
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    child
}

/// Lets the victims write until so many lines have come, kills them, and returns every line they got out.
fn round(file: &Path, number: usize, lines_wanted: usize) -> Vec<String> {
    let (sender, receiver) = mpsc::channel();
    let victims: Vec<Child> =
        (0..VICTIMS).map(|which| victim(file, &format!("v{number}-{which}"), sender.clone())).collect();
    drop(sender);
    let mut lines: Vec<String> = receiver.iter().take(lines_wanted).collect();
    for mut victim in victims {
        victim.kill().expect("SIGKILL");
        victim.wait().expect("it is dead");
    }
    lines.extend(receiver.iter());
    lines
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_reported_is_lost_and_no_key_is_held_twice() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("victims.db");
    let mut random = fastrand::Rng::with_seed(9);
    let (mut audit, mut reported, mut aggregates) = (Audit::default(), 0, BTreeSet::new());
    for number in 0..ROUNDS {
        let lines = round(&file, number, random.usize(1..40));
        let store = freehold_tests::sqlite_at(&file, &ManualClock::default()).await;
        audit.read(&store).await;
        for line in lines {
            let mut words = line.split(' ');
            assert_eq!(words.next(), Some("committed"), "{line}");
            let (Some(id), Some(version), Some(request)) = (words.next(), words.next(), words.next()) else {
                panic!("a line was cut: {line:?}")
            };
            let commit = (id.to_owned(), version.parse().expect("a version"), request.to_owned());
            assert!(audit.commits.contains(&commit), "round {number}: reported, and lost: {line}");
            aggregates.insert(commit.0);
            reported += 1;
        }
        if number % 20 == 19 {
            audit.compare(&store).await;
        }
        store.close().await.expect("closed");
    }
    let aggregate = AggregateType { context: Text::from_static("scripted"), name: Text::from_static("scripted") };
    assert!(audit.versions.keys().all(|stream| stream.aggregate == aggregate));
    assert!(reported >= ROUNDS, "only {reported} commits were reported by {} aggregates", aggregates.len());
}
