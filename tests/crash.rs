//! Every store call of a command as a place where something goes wrong: it fails, its answer is lost, the process dies
//! before or after it, the future is dropped there, or it arrives late (R5, R8, R9, C8, U16, U17, U19).
//!
//! Pass one counts the calls. Pass two takes them one by one, with every fault, and then opens the data anew, first at
//! once and then a year later: either events and keys are there, or neither is. Where the process lives on and every
//! answer came, no lease is left at once.

use freehold::reservation::Record;
use freehold::{AggregateId, Domain, Error, Outcome};
use freehold_testkit::conformance::Subject;
use freehold_testkit::conformance::commands::{domain, holds, scripted};
use freehold_testkit::script::{Change, Create, Ending, NAMES, Script, Scripted, Step};
use freehold_testkit::store::{Call, Fault, FaultyStore};
use std::sync::Arc;
use std::time::Duration;

/// A command, and what it leaves when it is written.
struct Scenario {
    name: &'static str,
    /// Sent before any fault, to aggregate `a`.
    before: Vec<Script>,
    /// The command under fault, to aggregate `a`; it creates when nothing was before.
    script: Script,
    /// The keys that `a` holds when it is written, and those it holds when it is not.
    written: &'static [&'static str],
    not_written: &'static [&'static str],
    /// Whether it commits at all.
    commits: bool,
}

fn happen(what: &str) -> Ending {
    Ending::Happen(what.to_owned())
}

fn scenarios() -> Vec<Scenario> {
    let reserve = |name: &str| Step::Reserve(name.to_owned());
    vec![
        Scenario {
            name: "create",
            before: vec![],
            script: Script::take("k"),
            written: &["k"],
            not_written: &[],
            commits: true,
        },
        Scenario {
            name: "create with two keys, one after the other",
            before: vec![],
            script: Script::new([reserve("k"), Step::Yield, reserve("l")], happen("two")),
            written: &["k", "l"],
            not_written: &[],
            commits: true,
        },
        Scenario {
            name: "rename",
            before: vec![Script::take("old")],
            script: Script::swap("old", "new"),
            written: &["new"],
            not_written: &["old"],
            commits: true,
        },
        Scenario {
            name: "its own key once more",
            before: vec![Script::take("k")],
            script: Script::take("k"),
            written: &["k"],
            not_written: &["k"],
            commits: true,
        },
        Scenario {
            name: "release",
            before: vec![Script::take("k")],
            script: Script::new([Step::Release("k".into())], happen("released")),
            written: &[],
            not_written: &["k"],
            commits: true,
        },
        Scenario {
            name: "no keys",
            before: vec![Script::take("k")],
            script: Script::new([], happen("plain")),
            written: &["k"],
            not_written: &["k"],
            commits: true,
        },
        Scenario {
            name: "rejected after a reserve",
            before: vec![],
            script: Script::new([reserve("k")], Ending::Reject),
            written: &[],
            not_written: &[],
            commits: false,
        },
        Scenario {
            name: "no-op after a reserve",
            before: vec![Script::take("k")],
            script: Script::new([reserve("l")], Ending::NoOp),
            written: &["k"],
            not_written: &["k"],
            commits: false,
        },
    ]
}

/// What the caller saw.
#[derive(Debug)]
enum Saw {
    Outcome(Result<Outcome<Scripted>, Error>),
    Dropped,
}

async fn send(domain: &Domain, scenario: &Scenario) -> Result<Outcome<Scripted>, Error> {
    let a = scripted("a");
    let script = scenario.script.clone();
    match scenario.before.is_empty() {
        true => domain.send(&a, Create(script)).request_id("under-fault").await,
        false => domain.send(&a, Change(script)).request_id("under-fault").await,
    }
}

async fn prepared(subject: &Subject, scenario: &Scenario) -> (FaultyStore, Domain) {
    let store = FaultyStore::around_shared(Arc::clone(subject.store()));
    let faulty: Arc<dyn freehold::Store> = Arc::new(store.clone());
    let domain = domain(&faulty).await;
    for (number, script) in scenario.before.iter().enumerate() {
        let a = scripted("a");
        let sent = match number {
            0 => domain.send(&a, Create(script.clone())).await,
            _ => domain.send(&a, Change(script.clone())).await,
        };
        sent.expect("what was before is written");
    }
    (store, domain)
}

async fn versions(domain: &Domain, id: &AggregateId<Scripted>) -> usize {
    let log = domain.commits(0, 1_000).await.expect("the log is read");
    log.iter().filter(|commit| commit.stream == *id.stream()).count()
}

async fn one(subject: Subject, scenario: &Scenario, number: usize, fault: Fault) {
    let place = format!("{:?} at call {number} of {:?}", fault, scenario.name);
    let (store, faulty) = prepared(&subject, scenario).await;
    let before = versions(&faulty, &scripted("a")).await;
    let calls_before = store.calls().len();
    store.fail_number(number, fault);
    let saw = tokio::select! {
        biased;
        outcome = send(&faulty, scenario) => Saw::Outcome(outcome),
        () = store.until_hung() => Saw::Dropped,
    };
    let failed = store.calls()[calls_before + number - 1];
    store.heal();
    faulty.close().await.expect("drained");
    if leaves_nothing(fault, failed) {
        no_lease_is_left(&subject, scenario, &place).await;
    }
    // What was held back on the way arrives now, when everybody has stopped waiting for it.
    store.release_held();
    faulty.close().await.expect("drained");
    drop(faulty);

    let reopened = domain(&subject.reopened().await).await;
    let written = versions(&reopened, &scripted("a")).await - before;
    match &saw {
        Saw::Outcome(Ok(Outcome::Committed(_))) => assert_eq!(written, 1, "{place}: told it was written"),
        Saw::Outcome(Ok(Outcome::NoOp { .. })) => assert_eq!(written, 0, "{place}: told there was nothing to do"),
        Saw::Outcome(Err(error)) if error.surely_not_written() => {
            assert_eq!(written, 0, "{place}: told it was surely not written: {error}");
        }
        Saw::Outcome(Err(_)) | Saw::Dropped => assert!(written <= usize::from(scenario.commits), "{place}: {saw:?}"),
    }
    let (kept, gone) = match written {
        0 => (scenario.not_written, scenario.written),
        _ => (scenario.written, scenario.not_written),
    };
    check_keys(&reopened, kept, &place).await;
    subject.advance(Duration::from_secs(365 * 24 * 3_600));
    let later = domain(&subject.reopened().await).await;
    check_keys(&later, kept, &place).await;
    for key in gone.iter().filter(|key| !kept.contains(key)) {
        let taken = later.send(&scripted(&format!("b-{key}")), Create(Script::take(key))).await;
        assert!(taken.is_ok(), "{place}: {key} is free a year later: {taken:?}");
        later
            .reservations()
            .release("scripted", NAMES, Some("acme"), key, freehold::Release { author: "t", reason: "t" })
            .await
            .expect("free again");
    }
    again(&later, scenario, before, &place).await;
}

/// Whether the process lived, and every answer came, if only to say that it was lost: then whatever was reserved is given
/// up or confirmed by now (R5). A give-up that did not take effect is what expiry is for (R7).
fn leaves_nothing(fault: Fault, failed: Call) -> bool {
    let took_no_effect = matches!(fault, Fault::FailBefore | Fault::LostBefore);
    !fault.hangs() && fault != Fault::Late && !(failed == Call::GiveUp && took_no_effect)
}

async fn no_lease_is_left(subject: &Subject, scenario: &Scenario, place: &str) {
    let reserved = scenario.script.steps.iter().filter_map(|step| match step {
        Step::Reserve(name) => Some(name),
        _ => None,
    });
    for key in reserved {
        let id = NAMES.key_id(key, scripted("a").stream()).expect("a key");
        let record = subject.store().reservation(id).await.expect("read").record;
        assert!(record.as_ref().is_none_or(Record::is_confirmed), "{place}: {key} is left pending: {record:?}");
    }
}

/// The same request once more gives the truth, and its commit is there once (C4).
async fn again(domain: &Domain, scenario: &Scenario, before: usize, place: &str) {
    let outcome = send(domain, scenario).await;
    assert_eq!(outcome.is_ok(), scenario.commits || scenario.script.ending == Ending::NoOp, "{place}: {outcome:?}");
    let written = versions(domain, &scripted("a")).await - before;
    assert_eq!(written, usize::from(scenario.commits), "{place}: sent again");
    let kept = if scenario.commits { scenario.written } else { scenario.not_written };
    check_keys(domain, kept, place).await;
}

async fn check_keys(domain: &Domain, kept: &[&str], place: &str) {
    for key in kept {
        assert!(holds(domain, "a", NAMES, key).await, "{place}: {key} is held");
    }
    let held = domain.reservations().held_by(scripted("a").stream()).await.expect("read");
    assert_eq!(held.len(), kept.len(), "{place}: nothing else is held");
}

async fn every_fault(connect: impl AsyncFn() -> Subject) {
    let mut tried = 0;
    for scenario in scenarios() {
        let calls = {
            let subject = connect().await;
            let (store, domain) = prepared(&subject, &scenario).await;
            let so_far = store.calls().len();
            drop(send(&domain, &scenario).await);
            store.calls().len() - so_far
        };
        assert!(calls > 0, "{}: a command makes a store call", scenario.name);
        for number in 1..=calls {
            for fault in Fault::ALL {
                one(connect().await, &scenario, number, fault).await;
                tried += 1;
            }
        }
    }
    assert!(tried >= 100, "only {tried} places were tried");
}

#[tokio::test]
async fn no_fault_tears_events_and_keys_apart_in_memory() {
    every_fault(async || freehold_tests::memory()).await;
}

#[tokio::test]
async fn no_fault_tears_events_and_keys_apart_on_sqlite() {
    every_fault(freehold_tests::sqlite).await;
}
