//! Whole commands on the store, through a domain: the rules that decision and store keep together (C1 to C10, R1 to R21).

#![expect(clippy::missing_panics_doc, reason = "a case panics when the store does not conform")]

use super::Subject;
use super::actor::unique;
use crate::script::Ending::{Fail, Happen, NoOp, Panic, Reject};
use crate::script::Step::{MustHold, Release, Reserve, ReserveAny, ReserveDomain, TryReserve};
use crate::script::{Change, Create, DOMAINS, Ensure, NAMES, REFUSED, Script, Scripted, Step, TAKEN};
use freehold::{AggregateId, Decide, Delete, Domain, Error, Namespace, Outcome, Restore, Store};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// A domain of the scripted aggregate on a store.
pub async fn domain(store: &Arc<dyn Store>) -> Domain {
    let builder = Domain::builder().without_discovery().aggregate::<Scripted>().namespace(NAMES).namespace(DOMAINS);
    builder.shared_store(Arc::clone(store)).build().await.expect("the domain is built")
}

/// The aggregate `id` of tenant `acme`.
#[must_use]
pub fn scripted(id: &str) -> AggregateId<Scripted> {
    AggregateId::new(id).and_then(|id| id.tenant("acme")).expect("an id")
}

/// Whether the aggregate `id` holds `key`.
pub async fn holds(domain: &Domain, id: &str, namespace: Namespace, key: &str) -> bool {
    let holding = domain.reservations().holder("scripted", namespace, Some("acme"), key).await.expect("read");
    holding.is_some_and(|holding| holding.position.is_some() && holding.holder == *scripted(id).stream())
}

async fn is_free(domain: &Domain, key: &str) -> bool {
    domain.reservations().holder("scripted", NAMES, Some("acme"), key).await.expect("read").is_none()
}

fn happen() -> crate::script::Ending {
    Happen(format!("event {}", unique()))
}

fn name(text: &str) -> String {
    text.to_owned()
}

#[track_caller]
fn assert_rejected<T: std::fmt::Debug>(outcome: Result<T, Error>, code: freehold::RejectionCode) {
    match outcome {
        Err(Error::Rejected(rejection)) => assert_eq!(rejection.code(), code),
        other => panic!("expected the rejection {code}, got {other:?}"),
    }
}

/// R1, R4, R10: create, rename, and what others are told before and after.
pub async fn create_rename_and_taken(subject: &Subject) {
    let domain = domain(subject.store()).await;
    let (a, b) = (scripted("a"), scripted("b"));
    domain.send(&a, Create(Script::take("contoso"))).await.expect("created");
    assert_rejected(domain.send(&b, Create(Script::take("contoso"))).await, TAKEN);
    assert!(matches!(domain.load(&b).await, Err(Error::NotFound { .. })));
    domain.send(&a, Change(Script::swap("contoso", "fabrikam"))).await.expect("renamed");
    assert!(holds(&domain, "a", NAMES, "fabrikam").await && is_free(&domain, "contoso").await);
    domain.send(&b, Create(Script::take("contoso"))).await.expect("the old name is free");
    let both = Script::new([ReserveDomain(name("a.example")), Reserve(name("third"))], happen());
    domain.send(&a, Change(both)).await.expect("two namespaces at once");
    assert!(holds(&domain, "a", DOMAINS, "a.example").await);
    // U41: not releasing keeps the old key; several are held at once, until they are released.
    assert!(holds(&domain, "a", NAMES, "fabrikam").await && holds(&domain, "a", NAMES, "third").await);
    domain.send(&a, Change(Script::new([Release(name("third"))], happen()))).await.expect("released");
    assert!(is_free(&domain, "third").await);
}

/// U04, U38: a rename is held to the rule like a create; one's own key is never in the way.
pub async fn a_rename_to_a_taken_name_is_rejected(subject: &Subject) {
    let domain = domain(subject.store()).await;
    let (a, b) = (scripted("a"), scripted("b"));
    domain.send(&a, Create(Script::take("x"))).await.expect("created");
    domain.send(&b, Create(Script::take("y"))).await.expect("created");
    assert_rejected(domain.send(&b, Change(Script::swap("y", "x"))).await, TAKEN);
    assert!(holds(&domain, "b", NAMES, "y").await && holds(&domain, "a", NAMES, "x").await);
    assert_eq!(domain.load(&b).await.expect("loaded").version(), 1);
    domain.send(&a, Change(Script::take("x"))).await.expect("its own name");
    assert!(holds(&domain, "a", NAMES, "x").await);
}

/// R5, U24, C9: rejection, failure, panic, no-op: whatever was reserved is free again at once.
pub async fn every_way_out_gives_up(subject: &Subject) {
    let domain = domain(subject.store()).await;
    for ending in [Reject, Fail, Panic, NoOp, Happen(name("panic in apply"))] {
        let script = Script::new([Reserve(name("k")), Step::Yield, Reserve(name("l"))], ending.clone());
        let outcome = domain.send(&scripted("a"), Ensure(script)).await;
        match (&ending, outcome) {
            (Reject, outcome) => assert_rejected(outcome, REFUSED),
            (Fail, Err(Error::Failed { source, .. })) => assert_eq!(source.to_string(), "as told"),
            (Panic | Happen(_), Err(Error::Panicked { .. })) | (NoOp, Ok(Outcome::NoOp { .. })) => {}
            (ending, outcome) => panic!("after {ending:?}: {outcome:?}"),
        }
        assert!(is_free(&domain, "k").await && is_free(&domain, "l").await, "after {ending:?}");
    }
    // A future that is dropped while it decides gives up as well (C8): at once, not when its lease expires.
    let script = Script::new([Reserve(name("k")), Step::Hang], NoOp);
    let mut send = Box::pin(IntoFuture::into_future(domain.send(&scripted("a"), Ensure(script))));
    tokio::select! {
        biased;
        _ = &mut send => panic!("the handler hangs"),
        () = until_reserved(&domain, "k") => {}
    }
    drop(send);
    domain.close().await.expect("what was handed over is done");
    assert!(is_free(&domain, "k").await, "after a dropped future");
    let record = subject.store().reservation(NAMES.key_id("k", scripted("a").stream()).expect("a key")).await;
    assert_eq!(record.expect("read").record, None, "after a dropped future");
}

async fn until_reserved(domain: &Domain, key: &str) {
    while is_free(domain, key).await {
        tokio::task::yield_now().await;
    }
}

/// R5, R16, U23: a key held before stays held, whatever the attempt does and however it ends; only that is held.
pub async fn what_was_held_before_stays_held(subject: &Subject) {
    let domain = domain(subject.store()).await;
    let a = scripted("a");
    domain.send(&a, Create(Script::take("k"))).await.expect("created");
    for ending in [Reject, Fail, Panic, NoOp] {
        let steps = [Reserve(name("k")), Reserve(name("k2")), Release(name("k"))];
        drop(domain.send(&a, Change(Script::new(steps, ending))).await);
        assert!(holds(&domain, "a", NAMES, "k").await);
        assert!(is_free(&domain, "k2").await);
    }
    domain.send(&a, Change(Script::new([MustHold(name("k"))], NoOp))).await.expect("it is held (R16)");
    let pending_only = Script::new([Reserve(name("new")), MustHold(name("new"))], happen());
    assert!(matches!(domain.send(&a, Change(pending_only)).await, Err(Error::Failed { .. })), "R16");
}

/// R11, U27: reserving a key twice in a decision is reserving it once.
pub async fn a_key_is_reserved_once_however_often_it_is_asked_for(subject: &Subject) {
    let domain = domain(subject.store()).await;
    let a = scripted("a");
    let twice = Script::new([Reserve(name("k")), Reserve(name("k"))], happen());
    domain.send(&a, Create(twice)).await.expect("created");
    assert_eq!(domain.reservations().held_by(a.stream()).await.expect("read").len(), 1);
    let released = Script::new([Release(name("k")), Release(name("k"))], happen());
    domain.send(&a, Change(released)).await.expect("released twice");
    assert!(is_free(&domain, "k").await);
}

/// U56: a refused key leaves the decision usable: the next one can be had.
pub async fn refused_keys_leave_the_decision_usable(subject: &Subject) {
    let domain = domain(subject.store()).await;
    let taken: Vec<String> = (0..10).map(|number| format!("taken-{number}")).collect();
    let all = taken.iter().cloned().map(Reserve);
    domain.send(&scripted("a"), Create(Script::new(all, happen()))).await.expect("created");
    let mut names = taken.clone();
    names.push(name("free"));
    domain.send(&scripted("b"), Create(Script::new([ReserveAny(names)], happen()))).await.expect("the last is free");
    assert!(holds(&domain, "b", NAMES, "free").await);
    let none = Script::new([ReserveAny(taken)], happen());
    assert_rejected(domain.send(&scripted("c"), Create(none)).await, TAKEN);
    let anyway = Script::new([TryReserve(name("free")), Reserve(name("own"))], happen());
    domain.send(&scripted("d"), Create(anyway)).await.expect("a refused key is no error by itself");
    assert!(holds(&domain, "b", NAMES, "free").await && holds(&domain, "d", NAMES, "own").await);
}

/// R11, R4: release then reserve keeps the key; reserve then release does not hold it.
pub async fn the_last_call_on_a_key_wins(subject: &Subject) {
    let domain = domain(subject.store()).await;
    let a = scripted("a");
    domain.send(&a, Create(Script::take("k"))).await.expect("created");
    let kept = Script::new([Release(name("k")), Reserve(name("k"))], happen());
    domain.send(&a, Change(kept)).await.expect("kept");
    assert!(holds(&domain, "a", NAMES, "k").await);
    let dropped =
        Script::new([Reserve(name("l")), Release(name("l")), Reserve(name("k")), Release(name("k"))], happen());
    domain.send(&a, Change(dropped)).await.expect("dropped");
    assert!(is_free(&domain, "k").await && is_free(&domain, "l").await);
}

/// R15, C10, U39: a deleted aggregate keeps its keys; every other command is refused; restored, it goes on.
pub async fn deleting_releases_nothing(subject: &Subject) {
    let domain = domain(subject.store()).await;
    let (a, b) = (scripted("a"), scripted("b"));
    assert!(matches!(domain.send(&a, Delete {}).await, Err(Error::NotFound { .. })));
    domain.send(&a, Create(Script::take("x"))).await.expect("created");
    domain.send(&a, Delete {}).await.expect("deleted");
    assert!(matches!(domain.send(&a, Delete {}).await, Ok(Outcome::NoOp { .. })));
    assert!(domain.load(&a).await.expect("loaded").is_deleted());
    assert_rejected(domain.send(&b, Create(Script::take("x"))).await, TAKEN);
    assert!(matches!(domain.send(&a, Change(Script::take("y"))).await, Err(Error::Deleted { .. })));
    assert!(matches!(domain.send(&a, Create(Script::take("y"))).await, Err(Error::Deleted { .. })), "precedence (C4)");
    domain.send(&a, Restore {}).await.expect("restored");
    assert!(holds(&domain, "a", NAMES, "x").await);
    domain.send(&a, Change(Script::new([Release(name("x"))], happen()))).await.expect("given up");
    domain.send(&a, Delete {}).await.expect("deleted");
    domain.send(&b, Create(Script::take("x"))).await.expect("free after its release");
}

/// C4: the first outcome again, and nothing changes; another request under the id is refused.
pub async fn a_request_is_answered_once(subject: &Subject) {
    let first_domain = domain(subject.store()).await;
    let other_domain = domain(&subject.reopened().await).await;
    let a = scripted("a");
    let first = first_domain.send(&a, Create(Script::take("k"))).request_id("r").await.expect("created");
    for domain in [&first_domain, &other_domain] {
        // A command that creates is the same whatever id it is sent to.
        for id in ["a", "b"] {
            let again = domain.send(&scripted(id), Create(Script::take("k"))).request_id("r").await.expect("replayed");
            assert!(again.is_replay());
            assert_eq!((again.id(), again.version()), (first.id(), 1));
            assert_eq!(again.committed().map(|c| &c.events), first.committed().map(|c| &c.events));
        }
        let other = domain.send(&a, Create(Script::take("other"))).request_id("r").await;
        assert!(matches!(other, Err(Error::RequestIdReused { .. })), "{other:?}");
        let change = domain.send(&a, Change(Script::take("k"))).request_id("r").await;
        assert!(matches!(change, Err(Error::RequestIdReused { .. })), "{change:?}");
    }
    assert!(is_free(&first_domain, "other").await);
    // Only commits are remembered: what was rejected may succeed later under its id.
    let send = || first_domain.send(&scripted("c"), Create(Script::take("k"))).request_id("late");
    assert_rejected(send().await, TAKEN);
    first_domain.send(&a, Change(Script::new([Release(name("k"))], happen()))).await.expect("released");
    assert!(!send().await.expect("created").is_replay());
    // A replay is found before anything else about the aggregate (precedence).
    first_domain.send(&a, Delete {}).request_id("gone").await.expect("deleted");
    assert!(first_domain.send(&a, Create(Script::take("k"))).request_id("r").await.expect("replayed").is_replay());
    assert!(other_domain.send(&a, Delete {}).request_id("gone").await.expect("replayed").is_replay());
}

/// C5: an expected version that does not hold is an error at once, for commands of every kind.
pub async fn expected_versions_are_checked_and_not_retried(subject: &Subject) {
    let domain = domain(subject.store()).await;
    let other = self::domain(&subject.reopened().await).await;
    let a = scripted("a");
    domain.send(&a, Create(Script::take("k"))).expect_version(0).await.expect("created");
    other.send(&a, Change(Script::take("l"))).await.expect("changed elsewhere");
    for version in [0, 1, 3] {
        let outcome = domain.send(&a, Change(Script::take("m"))).expect_version(version).await;
        assert!(matches!(outcome, Err(Error::Conflict { expected: Some(_), actual: Some(2), .. })), "{outcome:?}");
    }
    assert!(is_free(&domain, "m").await);
    domain.send(&a, Change(Script::take("m"))).expect_version(2).await.expect("the version holds");
    let create = domain.send(&scripted("b"), Create(Script::take("n"))).expect_version(5).await;
    assert!(matches!(create, Err(Error::Conflict { expected: Some(5), actual: Some(0), .. })), "{create:?}");
}

/// R6, C1, C7: commands of two processes on one aggregate are all decided, on the newest state, one after the other.
pub async fn conflicts_are_decided_again(subject: &Subject) {
    let domains = [domain(subject.store()).await, domain(&subject.reopened().await).await];
    let a = scripted("a");
    domains[0].send(&a, Create(Script::take("k"))).await.expect("created");
    let mut senders = JoinSet::new();
    for number in 0..24 {
        let (domain, a) = (domains[number % 2].clone(), a.clone());
        senders.spawn(async move {
            let script = Script::new([Reserve(format!("k-{number}")), Step::Yield], happen());
            retried(&domain, &a, &Change(script)).await
        });
    }
    let mut versions = senders.join_all().await;
    versions.sort_unstable();
    assert_eq!(versions, (2..=25).collect::<Vec<_>>());
    for domain in &domains {
        assert_eq!(domain.load(&a).await.expect("loaded").happened.len(), 25);
    }
    assert_eq!(domains[0].reservations().held_by(a.stream()).await.expect("read").len(), 25);
}

/// Sends until the error is one that sending again can't help.
async fn retried<C: Clone + freehold::Command>(domain: &Domain, id: &AggregateId<Scripted>, command: &C) -> u64
where
    Scripted: Decide<C>,
{
    loop {
        match domain.send(id, command.clone()).await {
            Ok(outcome) => return outcome.version(),
            Err(error) if error.is_retryable() => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// U36: swapping two names in one step is refused for both; through a third it works; nothing is ever lost.
pub async fn swaps_lose_nothing(subject: &Subject) {
    let domain = domain(subject.store()).await;
    let (a, b) = (scripted("a"), scripted("b"));
    domain.send(&a, Create(Script::take("x"))).await.expect("created");
    domain.send(&b, Create(Script::take("y"))).await.expect("created");
    for _ in 0..50 {
        let one = domain.send(&a, Change(Script::swap("x", "y")));
        let other = domain.send(&b, Change(Script::swap("y", "x")));
        let (one, other) = tokio::join!(one, other);
        assert_rejected(one, TAKEN);
        assert_rejected(other, TAKEN);
        assert!(holds(&domain, "a", NAMES, "x").await && holds(&domain, "b", NAMES, "y").await);
    }
    for (who, old, new) in [(&a, "x", "tmp"), (&b, "y", "x"), (&a, "tmp", "y")] {
        domain.send(who, Change(Script::swap(old, new))).await.expect("through a third name");
    }
    assert!(holds(&domain, "a", NAMES, "y").await && holds(&domain, "b", NAMES, "x").await);
    assert!(is_free(&domain, "tmp").await);
}

/// R1, U03: of 64 commands that want one key at once, from two processes, one commits; by create and by rename, in both
/// tenancies. Its event is readable, and the others are told that the key is taken.
pub async fn racing_commands_have_one_winner(subject: &Subject) {
    let domains = [domain(subject.store()).await, domain(&subject.reopened().await).await];
    for number in 0..64 {
        let before = Create(Script::take(&format!("before-{number}")));
        domains[0].send(&scripted(&format!("renamed-{number}")), before).await.expect("created");
    }
    for round in 0..6 {
        let key = format!("key-{round}");
        let (namespace, step) = match round % 2 {
            0 => (NAMES, Reserve(key.clone())),
            _ => (DOMAINS, ReserveDomain(key.clone())),
        };
        let mut racers = JoinSet::new();
        for number in 0..64 {
            let (domain, script) = (domains[number % 2].clone(), Script::new([step.clone()], happen()));
            racers.spawn(async move {
                for _ in 0..number % 5 {
                    tokio::task::yield_now().await;
                }
                let (id, sent) = if number % 4 < 2 {
                    let id = format!("racer-{round}-{number}");
                    (id.clone(), domain.send(&scripted(&id), Create(script)).await)
                } else {
                    let id = format!("renamed-{number}");
                    (id.clone(), domain.send(&scripted(&id), Change(script)).await)
                };
                (id, sent)
            });
        }
        let (won, lost): (Vec<_>, Vec<_>) = racers.join_all().await.into_iter().partition(|(_, sent)| sent.is_ok());
        assert_eq!((won.len(), lost.len()), (1, 63), "round {round}");
        let winner = &won[0].0;
        assert!(holds(&domains[0], winner, namespace, &key).await && holds(&domains[1], winner, namespace, &key).await);
        assert!(!domains[1].load(&scripted(winner)).await.expect("loaded").happened.is_empty());
        for (_, sent) in lost {
            assert_rejected(sent, TAKEN);
        }
    }
}

/// U07: commands on different keys never conflict, however many keys others hold.
pub async fn different_keys_never_conflict(subject: &Subject) {
    let domain = domain(subject.store()).await;
    let held = (0..9_999).map(|number| Reserve(format!("held-{number}")));
    domain.send(&scripted("hoarder"), Create(Script::new(held, happen()))).await.expect("created");
    let mut senders = JoinSet::new();
    for number in 0..1_000 {
        let domain = domain.clone();
        senders.spawn(async move {
            let sent =
                domain.send(&scripted(&format!("a-{number}")), Create(Script::take(&format!("own-{number}")))).await;
            sent.expect("nobody else wants it").attempts()
        });
    }
    assert!(senders.join_all().await.into_iter().all(|attempts| attempts == 1));
}

/// U61: loading, replaying, snapshots and reopening leave the reservations as they are.
pub async fn replaying_never_touches_reservations(subject: &Subject) {
    let first = domain(subject.store()).await;
    let (a, b) = (scripted("a"), scripted("b"));
    first.send(&a, Create(Script::take("old"))).await.expect("created");
    first.send(&a, Change(Script::swap("old", "new"))).await.expect("renamed");
    first.send(&b, Create(Script::take("old"))).await.expect("created");
    for number in 0..7 {
        first.send(&a, Change(Script::new([], Happen(format!("{number}"))))).await.expect("changed");
    }
    first.close().await.expect("snapshots are kept");
    let held = |domain: Domain| async move {
        let reservations = domain.reservations();
        let [a, b] = [scripted("a"), scripted("b")].map(|id| id.stream().clone());
        (reservations.held_by(&a).await.expect("read"), reservations.held_by(&b).await.expect("read"))
    };
    let before = held(first.clone()).await;
    let again = domain(&subject.reopened().await).await;
    let loaded = again.load(&a).await.expect("loaded");
    assert_eq!((loaded.version(), loaded.happened.len()), (9, 9));
    assert_eq!(loaded.state(), first.load(&a).await.expect("loaded").state(), "a snapshot changes nothing");
    assert_eq!(held(again).await, before);
    assert!(holds(&first, "b", NAMES, "old").await && holds(&first, "a", NAMES, "new").await);
}

/// R20: an operator's release is a commit on the holder's stream, and no event: the next command builds on it.
pub async fn an_operators_release_is_a_commit(subject: &Subject) {
    let domain = domain(subject.store()).await;
    let a = scripted("a");
    domain.send(&a, Create(Script::take("k"))).await.expect("created");
    let by = freehold::Release { author: "ana", reason: "court order" };
    let reservations = domain.reservations();
    let holder = reservations.release("scripted", NAMES, Some("acme"), "k", by).await.expect("released");
    assert_eq!(holder.as_ref(), Some(a.stream()));
    assert_eq!(reservations.release("scripted", NAMES, Some("acme"), "k", by).await.expect("nobody's"), None);
    let log = domain.commits(0, 10).await.expect("the log");
    let last = log.last().expect("a commit");
    assert_eq!((last.kind, last.version, last.events.len()), (freehold::store::CommitKind::Release, 2, 0));
    assert_eq!(last.metadata.as_deref().map(|note| note.get().contains("court order")), Some(true));
    let next = domain.send(&a, Change(Script::take("k"))).await.expect("it may take it again");
    assert_eq!(next.version(), 3);
    // C2: a stream that has administrative commits only does not exist yet.
    assert_eq!(domain.load(&a).await.expect("loaded").happened.len(), 2);
}

/// R17, R2, U31: one key more than the limit is refused with a typed error, leaves nothing, and can't be ignored.
pub async fn too_many_keys_are_refused_before_anything_is_written(subject: &Subject) {
    let domain = domain(subject.store()).await;
    let names = |count: u32| (0..count).map(|number| format!("k-{number}")).collect::<Vec<_>>();
    let few = || ["known-1", "known-2", "known-3"].map(|known| Reserve(name(known)));
    let releases = || names(10_001).into_iter().map(Release).collect::<Vec<_>>();
    let steps: [Vec<Step>; 7] = [
        releases(),
        few().into_iter().chain(releases()).collect(),
        vec![Step::ReserveAll(names(10_001))],
        few().into_iter().chain([Step::ReserveAll(names(9_998))]).collect(),
        // Who goes on regardless does not commit.
        vec![Step::TryReserveAll(names(10_001))],
        few().into_iter().chain([Step::TryReserveAll(names(9_998))]).collect(),
        vec![Step::TryReserveAll(names(10_001)), Reserve(name("known-1")), Release(name("known-1"))],
    ];
    for (number, steps) in steps.into_iter().enumerate() {
        let outcome = domain.send(&scripted("a"), Create(Script::new(steps, happen()))).await;
        let error = outcome.expect_err("more keys than a decision may have");
        assert_eq!(error.code(), "INVALID_KEY", "script {number}: {error}");
        assert!(error.surely_not_written(), "script {number}: {error}");
        for key in ["k-0", "k-9997", "k-10000", "known-1", "known-3"] {
            let id = NAMES.key_id(key, scripted("a").stream()).expect("a key");
            assert_eq!(subject.store().reservation(id).await.expect("read").record, None, "script {number}: {key}");
        }
    }
    let invalid = Script::new([Reserve(name("fine")), Reserve(name("a\0b"))], happen());
    let outcome = domain.send(&scripted("a"), Create(invalid)).await;
    assert!(matches!(outcome, Err(Error::InvalidKey(_))), "{outcome:?}");
    let long = Script::new([Reserve("x".repeat(1_025))], happen());
    assert!(matches!(domain.send(&scripted("a"), Create(long)).await, Err(Error::InvalidKey(_))));
    assert!(matches!(domain.send(&scripted("a"), Create(Script::take(""))).await, Err(Error::InvalidKey(_))));
    assert!(is_free(&domain, "fine").await);
    assert!(domain.commits(0, 10).await.expect("the log").is_empty());
    subject.advance(Duration::from_secs(1));
    domain.send(&scripted("a"), Create(Script::take("ab"))).await.expect("the store goes on");
    let most = few().into_iter().chain([Step::ReserveAll(names(9_997))]);
    domain.send(&scripted("b"), Create(Script::new(most, happen()))).await.expect("as many as a decision may have");
}
