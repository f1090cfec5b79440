//! Deadlines, lost answers, conflicts without end, poisoned attempts (C5, C6, R2, R6, R9).

use super::{builder, faulty, on};
use freehold::{Error, MemoryStore};
use freehold_testkit::conformance::commands::{holds, scripted};
use freehold_testkit::script::{Change, Create, Ending, NAMES, Script, Step};
use freehold_testkit::store::{Call, Fault};
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn c5_a_deadline_that_passes_before_the_append_is_a_timeout_and_leaves_nothing() {
    let domain = on(MemoryStore::new()).await;
    let script = Script::new([Step::Reserve("k".into()), Step::Hang], Ending::NoOp);
    let sent = domain.send(&scripted("a"), Create(script)).deadline(Duration::from_secs(5)).await;
    let Err(error @ Error::Timeout { .. }) = sent else { panic!("{sent:?}") };
    assert!(error.surely_not_written() && error.is_retryable());
    domain.close().await.expect("drained");
    domain.send(&scripted("b"), Create(Script::take("k"))).await.expect("the key was given up");
}

#[tokio::test(start_paused = true)]
async fn c5_a_deadline_that_passes_during_the_append_is_an_unknown_outcome_and_the_request_id_tells() {
    let store = faulty();
    let domain = on(store.clone()).await;
    store.fail(Call::Append, 1, Fault::HangAfter);
    let send =
        || domain.send(&scripted("a"), Create(Script::take("k"))).request_id("r").deadline(Duration::from_secs(5));
    let sent = send().await;
    let Err(error @ Error::OutcomeUnknown { .. }) = sent else { panic!("{sent:?}") };
    assert!(!error.surely_not_written() && error.is_retryable());
    assert!(send().await.expect("the truth").is_replay());
}

#[tokio::test(start_paused = true)]
async fn c5_the_deadline_covers_the_queue() {
    let domain = on(MemoryStore::new()).await;
    let a = scripted("a");
    let first = domain.send(&a, Create(Script::new([Step::Hang], Ending::NoOp)));
    let first = tokio::spawn(async move { first.await });
    tokio::task::yield_now().await;
    let second = domain.send(&a, Create(Script::take("k"))).deadline(Duration::from_secs(1)).await;
    assert!(matches!(second, Err(Error::Timeout { .. })), "{second:?}");
    first.abort();
    assert!(first.await.is_err());
    domain.send(&a, Create(Script::take("k"))).await.expect("the lane is free again (C8)");
}

#[tokio::test]
async fn r9_an_append_that_landed_and_whose_answer_was_lost_is_one_commit() {
    let store = faulty();
    let domain = on(store.clone()).await;
    store.fail(Call::Append, 1, Fault::LostAfter);
    let outcome = domain.send(&scripted("a"), Create(Script::take("k"))).await.expect("settled as written");
    assert_eq!((outcome.version(), outcome.is_replay()), (1, false));
    assert_eq!(domain.commits(0, 10).await.expect("the log").len(), 1);
    assert!(holds(&domain, "a", NAMES, "k").await);
}

#[tokio::test]
async fn r9_an_append_that_did_not_land_is_surely_not_written_and_a_late_one_fails() {
    let store = faulty();
    let domain = on(store.clone()).await;
    for fault in [Fault::LostBefore, Fault::Late] {
        store.fail(Call::Append, 1, fault);
        let sent = domain.send(&scripted("a"), Create(Script::take("k"))).await;
        let Err(error @ Error::NotWritten { .. }) = sent else { panic!("{fault:?}: {sent:?}") };
        assert!(error.surely_not_written() && error.is_retryable());
    }
    assert_eq!(store.release_held(), 1);
    assert!(domain.commits(0, 10).await.expect("the log").is_empty());
    domain.send(&scripted("b"), Create(Script::take("k"))).await.expect("nothing is pending");
}

#[tokio::test]
async fn r9_while_it_cannot_be_settled_the_outcome_is_unknown_and_nothing_is_given_up() {
    let store = faulty();
    let domain = builder(store.clone()).pending_wait(Duration::ZERO).build().await.expect("built");
    for (append, landed) in [(Fault::LostAfter, true), (Fault::LostBefore, false)] {
        let (id, key) = (format!("{append:?}"), format!("key {append:?}"));
        store.fail(Call::Append, 1, append);
        (1..=3).for_each(|time| store.fail(Call::Settle, time, Fault::FailBefore));
        let send = || domain.send(&scripted(&id), Create(Script::take(&key))).request_id(&*id);
        let sent = send().await;
        assert!(matches!(sent, Err(Error::OutcomeUnknown { .. })), "{sent:?}");
        let other = domain.send(&scripted("other"), Create(Script::take(&key))).await;
        assert!(matches!(&other, Err(Error::Rejected(no)) if no.is_provisional() != landed), "{other:?}");
        assert_eq!(send().await.expect("sent again").is_replay(), landed);
        assert!(holds(&domain, &id, NAMES, &key).await);
    }
}

#[tokio::test]
async fn r6_a_command_is_decided_again_at_least_ten_times_and_not_for_ever() {
    let store = MemoryStore::new();
    let (domain, other) =
        (builder(store.clone()).pause_between_attempts(false).build().await.expect("built"), on(store).await);
    let a = scripted("a");
    other.send(&a, Create(Script::take("k"))).await.expect("created");
    // Somebody else writes between every load and append.
    let intruder = tokio::spawn({
        let (other, a) = (other.clone(), a.clone());
        async move {
            loop {
                drop(other.send(&a, Change(Script::new([], Ending::Happen("in between".into())))).await);
                tokio::task::yield_now().await;
            }
        }
    });
    let script =
        Script::new([Step::Reserve("l".into()), Step::Yield, Step::Yield, Step::Yield], Ending::Happen("mine".into()));
    let sent = domain.send(&a, Change(script)).await;
    intruder.abort();
    let Err(Error::Conflict { attempts, expected: None, .. }) = sent else { panic!("{sent:?}") };
    assert!(attempts >= 10, "{attempts} attempts");
    other.send(&scripted("b"), Create(Script::take("l"))).await.expect("each attempt gave its key up");
}

#[tokio::test]
async fn r2_an_attempt_whose_reserve_failed_can_not_commit() {
    let store = faulty();
    let domain = on(store.clone()).await;
    (1..=3).for_each(|time| store.fail(Call::Reserve, time, Fault::FailBefore));
    // The handler swallows nothing here; what it would make of the error does not count.
    let sent = domain.send(&scripted("a"), Create(Script::take("k"))).await;
    let Err(error) = sent else { panic!("{sent:?}") };
    assert_eq!((error.code(), error.is_retryable()), ("STORE_UNAVAILABLE", true));
    assert!(domain.commits(0, 10).await.expect("the log").is_empty());
    // Lost once is asked again with the same token, and is not taken by its own first try (U19).
    store.fail(Call::Reserve, 1, Fault::LostAfter);
    domain.send(&scripted("a"), Create(Script::take("k"))).await.expect("asked again");
}
