//! `Crowd`: commands that are under way while something happens to the server. What each request came to is for the
//! auditor; what clients are told meanwhile has to be fit for them (S6, S3, R19). No test.

use freehold::store::postgres::PostgresOptions;
use freehold::{AggregateId, Command, Decide, Domain, Error, Outcome, PostgresStore};
use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::{Change, Create, DOMAINS, Ending, NAMES, Script, Scripted, Step};
use freehold_tests::audit::Told;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How many commands are under way at once.
const WORKERS: usize = 16;
/// How long anything that must come may take; then it hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// What every name starts with: nobody may read it in an error.
pub(crate) const SECRET: &str = "secret-name";

/// Words that no user may meet: a key, a password, a statement of the store's, a server's own message (S3, R19).
const UNFIT: [&str; 12] = [
    SECRET,
    "freehold@",
    "select * from",
    "append_1",
    "reserve_1",
    "_pkey",
    "23505",
    "duplicate key",
    "terminating connection",
    "canceling statement",
    "read-only transaction",
    "too many connections for role",
];

/// A domain of the scripted aggregate on the schema at `url`.
pub(crate) async fn domain(options: &PostgresOptions, url: &str) -> (Domain, PostgresStore) {
    let store = options.open(url).await.expect("the schema opens");
    let builder = Domain::builder().without_discovery().aggregate::<Scripted>().namespace(NAMES).namespace(DOMAINS);
    let builder = builder.pending_for(Duration::from_millis(500)).pending_wait(Duration::from_millis(5));
    (builder.store(store.clone()).build().await.expect("the domain is built"), store)
}

/// A script that only has an event.
pub(crate) fn happen(what: &str) -> Script {
    Script::new([], Ending::Happen(what.to_owned()))
}

/// A script that releases a name, and has an event.
pub(crate) fn release(name: &str) -> Script {
    Script::new([Step::Release(name.to_owned())], Ending::Happen("released".to_owned()))
}

/// An error that a client may meet while the server is in trouble: typed, worth another try, and without secrets (S6).
#[track_caller]
pub(crate) fn assert_fit(error: &Error) {
    let is_typed = matches!(error, Error::Unavailable(_) | Error::NotWritten { .. } | Error::OutcomeUnknown { .. });
    assert!(is_typed && error.is_retryable(), "{error:?}");
    assert_tells_no_secret(&format!("{error} {error:?}"));
}

/// Nothing in the text of an error is a key, a password, or the server's own words (S3, R19).
#[track_caller]
pub(crate) fn assert_tells_no_secret(text: &str) {
    let unfit: Vec<&&str> = UNFIT.iter().filter(|unfit| text.contains(**unfit)).collect();
    assert!(unfit.is_empty(), "{unfit:?} in {text}");
}

enum Heard {
    Done(usize, Told),
    Trouble,
}

/// Clients that go on until they are told to stop.
pub(crate) struct Crowd {
    workers: JoinSet<()>,
    is_over: Arc<AtomicBool>,
    heard: mpsc::UnboundedReceiver<Heard>,
    told: Vec<Told>,
}

impl Crowd {
    pub(crate) fn start(domain: &Domain) -> Self {
        Self::start_as(domain, "c")
    }

    /// One that names its aggregates and requests otherwise than another on the same store.
    pub(crate) fn start_as(domain: &Domain, name: &'static str) -> Self {
        let (sender, heard) = mpsc::unbounded_channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let worker = |number| Worker { domain: domain.clone(), name, number, requests: 0, sender: sender.clone() };
        let workers = (0..WORKERS).map(|number| worker(number).work(Arc::clone(&is_over))).collect();
        Self { workers, is_over, heard, told: Vec::new() }
    }

    /// Until somebody is told of trouble.
    pub(crate) async fn hear_trouble(&mut self) {
        self.hear("trouble", |heard| matches!(heard, Heard::Trouble)).await;
    }

    /// Until every client has begun a request, and knows what came of it.
    pub(crate) async fn hear_everyone(&mut self) {
        let mut waited_for: Vec<usize> = (0..WORKERS).flat_map(|worker| [worker, worker]).collect();
        let is_last = |heard: &Heard| {
            if let Heard::Done(worker, _) = heard
                && let Some(place) = waited_for.iter().position(|other| other == worker)
            {
                waited_for.swap_remove(place);
            }
            waited_for.is_empty()
        };
        self.hear("everyone", is_last).await;
    }

    async fn hear(&mut self, what: &str, mut is_last: impl FnMut(&Heard) -> bool) {
        // What was said before this was asked is no answer.
        while let Ok(heard) = self.heard.try_recv() {
            self.note(heard);
        }
        loop {
            let heard = tokio::time::timeout(PATIENCE, self.heard.recv()).await;
            let heard = heard.unwrap_or_else(|_| panic!("{what} is not heard: a command hangs"));
            let heard = heard.unwrap_or_else(|| panic!("{what} is not heard: all clients have ended"));
            let is_last = is_last(&heard);
            self.note(heard);
            if is_last {
                return;
            }
        }
    }

    fn note(&mut self, heard: Heard) {
        if let Heard::Done(_, told) = heard {
            self.told.push(told);
        }
    }

    /// Stops the clients once each knows what came of its last request, and says what they were told.
    pub(crate) async fn finish(mut self) -> Vec<Told> {
        self.is_over.store(true, Ordering::Relaxed);
        while let Some(ended) = tokio::time::timeout(PATIENCE, self.workers.join_next()).await.expect("none hangs") {
            ended.expect("a client was told what is not fit for it");
        }
        while let Ok(heard) = self.heard.try_recv() {
            self.note(heard);
        }
        let requests: BTreeSet<&Told> = self.told.iter().collect();
        assert!(requests.len() == self.told.len() && self.told.len() >= 2 * WORKERS, "{} answers", self.told.len());
        self.told
    }
}

struct Worker {
    domain: Domain,
    name: &'static str,
    number: usize,
    requests: usize,
    sender: mpsc::UnboundedSender<Heard>,
}

impl Worker {
    async fn work(mut self, is_over: Arc<AtomicBool>) {
        while !is_over.load(Ordering::Relaxed) {
            let id = scripted(&format!("{}-{}-{}", self.name, self.number, self.requests));
            let (first, second) = (any_name(), any_name());
            if !self.insist(&id, || Create(Script::take(&first))).await {
                continue;
            }
            let held = if self.insist(&id, || Change(Script::swap(&first, &second))).await { second } else { first };
            self.load(&id).await;
            self.insist(&id, || Change(release(&held))).await;
        }
    }

    /// Sends a command until it is known what came of it, and says whether it is committed (R9, C4).
    async fn insist<C: Command>(&mut self, id: &AggregateId<Scripted>, command: impl Fn() -> C) -> bool
    where
        Scripted: Decide<C>,
    {
        self.requests += 1;
        let request = format!("{}-r-{}-{}", self.name, self.number, self.requests);
        loop {
            let told = match self.domain.send(id, command()).request_id(&*request).await {
                Ok(Outcome::Committed(done)) => {
                    assert_eq!((&done.id, done.request_id.as_str()), (id, &*request));
                    Told::Committed { id: id.id().to_owned(), version: done.version, request }
                }
                Err(Error::Rejected(_)) => Told::Denied { request },
                Err(error) => {
                    assert_fit(&error);
                    self.say(Heard::Trouble);
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    continue;
                }
                Ok(other) => panic!("{other:?}"),
            };
            let is_committed = matches!(told, Told::Committed { .. });
            self.say(Heard::Done(self.number, told));
            return is_committed;
        }
    }

    async fn load(&self, id: &AggregateId<Scripted>) {
        if let Err(error) = self.domain.load(id).await {
            assert_fit(&error);
        }
    }

    fn say(&self, heard: Heard) {
        // Whoever listened has failed already.
        drop(self.sender.send(heard));
    }
}

fn any_name() -> String {
    format!("{SECRET}-{}", fastrand::usize(..200))
}
