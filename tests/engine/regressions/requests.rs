//! What a caller is told about a request that is committed, or may yet be (C4, C5, C6, R9).

use super::super::{builder, faulty, on};
use freehold::{Error, MemoryStore, Release};
use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::{Change, Create, Ending, NAMES, Script, Step};
use freehold_testkit::store::{Call, Fault, FaultyStore};
use std::time::Duration;

/// The refusal of a request that had its commit was lost, and the sender told that it was surely not written.
#[tokio::test]
async fn c4_a_lost_refusal_of_a_committed_request_ends_in_its_replay() {
    for fault in [Fault::LostAfter, Fault::LostBefore, Fault::FailBefore] {
        let memory = MemoryStore::new();
        let first = on(memory.clone()).await;
        let sent = first.send(&scripted("a"), Create(Script::take("k"))).request_id("r").await.expect("committed");
        let store = FaultyStore::new(memory);
        let second = on(store.clone()).await;
        store.fail(Call::Append, 1, fault);
        let again = second.send(&scripted("a"), Create(Script::take("k"))).request_id("r").await;
        let Ok(outcome) = &again else { panic!("{fault:?}: {again:?}") };
        assert!(outcome.is_replay());
        assert_eq!(outcome.version(), sent.version());
    }
}

/// A second send of a request that was being decided ran out of patience, and was told that it was surely not written.
#[tokio::test(start_paused = true)]
async fn c4_a_request_that_is_being_decided_elsewhere_may_be_written() {
    let domain = builder(MemoryStore::new()).pending_wait(Duration::from_millis(5)).build().await.expect("built");
    let steps = [Step::Reserve("k".into()), Step::Yield, Step::Yield];
    let script = Script::new(steps, Ending::Happen("took k".into()));
    let first = domain.send(&scripted("one"), Create(script.clone())).request_id("r");
    let mut first = Box::pin(IntoFuture::into_future(first));
    tokio::select! { biased; _ = &mut first => panic!("it yields"), () = std::future::ready(()) => {} }
    let again = domain.send(&scripted("two"), Create(script)).request_id("r").await;
    let Err(error @ Error::OutcomeUnknown { .. }) = &again else { panic!("{again:?}") };
    assert!(error.is_retryable() && !error.surely_not_written());
    first.await.expect("the first send commits");
}

/// An operator was told that nothing was released, while it was.
#[tokio::test]
async fn r9_an_operators_release_with_a_lost_answer_is_settled() {
    for fault in [Fault::LostAfter, Fault::LostBefore] {
        let store = faulty();
        let domain = on(store.clone()).await;
        domain.send(&scripted("a"), Create(Script::take("k"))).await.expect("created");
        store.fail(Call::Append, 1, fault);
        let by = Release { author: "ana", reason: "court order" };
        let released = domain.reservations().release("scripted", NAMES, Some("acme"), "k", by).await;
        assert_eq!(released.expect("released").as_ref(), Some(scripted("a").stream()), "{fault:?}");
        let holding = domain.reservations().holder("scripted", NAMES, Some("acme"), "k").await.expect("read");
        assert_eq!(holding, None, "{fault:?}");
        assert_eq!(domain.commits(0, 9).await.expect("the log").len(), 2, "{fault:?}: released once");
    }
}

/// While the store does not answer at all, an operator is told that it is not known.
#[tokio::test]
async fn r9_an_operators_release_that_can_not_be_settled_is_unknown() {
    let store = faulty();
    let domain = on(store.clone()).await;
    domain.send(&scripted("a"), Create(Script::take("k"))).await.expect("created");
    store.fail(Call::Append, 1, Fault::LostAfter);
    (1..=9).for_each(|time| store.fail(Call::Settle, time, Fault::FailBefore));
    let by = Release { author: "ana", reason: "court order" };
    let released = domain.reservations().release("scripted", NAMES, Some("acme"), "k", by).await;
    let Err(error @ Error::OutcomeUnknown { .. }) = &released else { panic!("{released:?}") };
    assert!(!error.surely_not_written());
}

/// The error of a version that does not hold spoke of others who had written in each attempt.
#[tokio::test]
async fn c5_the_conflict_of_an_expected_version_names_both_versions() {
    let domain = on(MemoryStore::new()).await;
    domain.send(&scripted("a"), Create(Script::take("k"))).await.expect("created");
    for version in 2..4_u8 {
        domain.send(&scripted("a"), Change(Script::take("k"))).await.expect("changed");
        let sent = domain.send(&scripted("a"), Change(Script::take("k"))).expect_version(77).await;
        let text = sent.expect_err("no such version").to_string();
        assert!(text.contains("77") && text.contains(&version.to_string()), "{text}");
        assert!(!text.contains("attempt"), "{text}");
    }
}
