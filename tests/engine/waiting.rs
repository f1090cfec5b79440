//! Waiting for pending keys of others (R21, C4).

use super::{builder, faulty, text};
use freehold::reservation::{KeyId, RequestHash, Reserved};
use freehold::store::{Reserve, ReserveKey};
use freehold::{Error, MemoryStore, Store, Text, Token};
use freehold_testkit::conformance::commands::{holds, scripted};
use freehold_testkit::script::{Change, Create, Ending, NAMES, Script, Step, TAKEN};
use freehold_testkit::store::{Call, Fault};
use std::time::Duration;

/// Leaves `key` pending for aggregate `who`, as a process that died does.
async fn left_pending(store: &dyn Store, who: &str, key: &str, pending: Duration) -> Token {
    let holder = scripted(who).stream().clone();
    let token = Token::from_u128(77);
    let key = KeyId {
        key: key.into(),
        namespace: Text::from_static(NAMES.name()),
        scope: holder.tenant.clone(),
        context: holder.aggregate.context.clone(),
    };
    let pending_ms = u64::try_from(pending.as_millis()).expect("not so long");
    let keys = vec![ReserveKey { key, epoch: 1, token, request: RequestHash(1), pending_ms }];
    let reply = store.reserve(Reserve { holder, keys }).await.expect("answered");
    assert_eq!(reply.answers, [Reserved::Newly]);
    token
}

#[tokio::test]
async fn r21_a_key_that_stays_pending_makes_the_rejection_provisional() {
    let store = MemoryStore::new();
    let domain = builder(store.clone()).pending_wait(Duration::from_millis(20)).build().await.expect("built");
    left_pending(&store, "dead", "k", Duration::from_secs(3_600)).await;
    let sent = domain.send(&scripted("a"), Create(Script::take("k"))).await;
    let Err(error @ Error::Rejected(_)) = &sent else { panic!("{sent:?}") };
    assert!(error.is_retryable() && error.surely_not_written());
    let rejection = error.rejection().expect("a rejection");
    assert!(rejection.is_provisional() && rejection.code() == TAKEN);
    // A rejection of another reason, in an attempt that met a pending key, is provisional as well.
    let script = Script::new([Step::TryReserve(text("k"))], Ending::Reject);
    let sent = domain.send(&scripted("a"), Create(script)).await;
    assert!(matches!(&sent, Err(error) if error.is_retryable()), "{sent:?}");
    // A confirmed key makes a final one.
    domain.send(&scripted("b"), Create(Script::take("l"))).await.expect("created");
    let sent = domain.send(&scripted("a"), Create(Script::take("l"))).await;
    assert!(matches!(&sent, Err(error) if !error.is_retryable()), "{sent:?}");
}

#[tokio::test]
async fn r21_a_command_waits_until_the_lease_has_ended_and_then_succeeds() {
    let store = MemoryStore::new();
    let domain = builder(store.clone()).pending_wait(Duration::from_secs(30)).build().await.expect("built");
    left_pending(&store, "dead", "k", Duration::from_millis(40)).await;
    let outcome = domain.send(&scripted("a"), Create(Script::take("k"))).await.expect("it waited");
    assert!(outcome.attempts() > 1);
}

#[tokio::test]
async fn r21_a_command_learns_at_once_when_the_pending_key_is_confirmed_or_given_up() {
    let store = MemoryStore::new();
    let domain = builder(store.clone()).pending_wait(Duration::from_secs(3_600)).build().await.expect("built");
    let token = left_pending(&store, "other", "k", Duration::from_secs(3_600)).await;
    let waiting = domain.send(&scripted("a"), Create(Script::take("k")));
    let waiting = tokio::spawn(async move { waiting.await });
    let key = NAMES.key_id("k", scripted("other").stream()).expect("a key");
    let give_up = freehold::store::GiveUp { holder: scripted("other").stream().clone(), token, keys: vec![key] };
    store.give_up(give_up).await.expect("given up");
    waiting.await.expect("no panic").expect("free now");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r21_two_that_ask_for_each_others_keys_do_not_both_lose_for_nothing() {
    for round in 0..100 {
        let domain = builder(MemoryStore::new()).build().await.expect("built");
        let both = |first: &str, second: &str| {
            let steps = [first, second].map(|key| Step::Reserve(format!("{key}-{round}")));
            Script::new([steps[0].clone(), Step::Yield, steps[1].clone()], Ending::Happen(text("both")))
        };
        let (one, other) = (both("x", "y"), both("y", "x"));
        let send = |id: &'static str, script: Script| {
            let sent = domain.send(&scripted(id), Create(script));
            tokio::spawn(async move { sent.await.is_ok() })
        };
        let (one, other) = (send("a", one), send("b", other));
        let won = [one.await.expect("no panic"), other.await.expect("no panic")];
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "round {round}: {won:?}");
    }
}

#[tokio::test]
async fn c4_a_key_pending_under_the_same_request_is_waited_for_and_not_taken() {
    let store = faulty();
    let domain = builder(store.clone()).pending_wait(Duration::from_millis(5)).build().await.expect("built");
    // The first send dies after its reserve: its lease stands.
    store.fail(Call::Append, 1, Fault::HangBefore);
    let first = domain.send(&scripted("first"), Create(Script::take("k"))).request_id("r");
    let mut first = std::pin::pin!(IntoFuture::into_future(first));
    tokio::select! {
        biased;
        _ = &mut first => panic!("it hangs"),
        () = store.until_hung() => {}
    }
    // Sent again, to a fresh id as a caller of a creating command may: it must not pick the second name instead.
    let again = Script::new([Step::ReserveAny(vec![text("k"), text("second")])], Ending::Happen(text("took k")));
    let sent = domain.send(&scripted("again"), Create(again)).request_id("r").await;
    let Err(error @ Error::OutcomeUnknown { .. }) = &sent else { panic!("{sent:?}") };
    assert!(error.is_retryable() && !error.surely_not_written(), "the first send may still be written");
    assert!(domain.reservations().holder("scripted", NAMES, Some("acme"), "second").await.expect("read").is_none());
    // Another request is told taken, provisionally, and may go on to another name.
    let other = Script::new([Step::ReserveAny(vec![text("k"), text("second")])], Ending::Happen(text("other")));
    domain.send(&scripted("other"), Create(other)).request_id("another").await.expect("second is free");
    assert!(holds(&domain, "other", NAMES, "second").await);
}

#[tokio::test]
async fn a_conflicting_release_frees_nothing_for_the_waiting() {
    let domain = builder(MemoryStore::new()).build().await.expect("built");
    domain.send(&scripted("a"), Create(Script::take("k"))).await.expect("created");
    let failing = Script::new([Step::Release(text("k"))], Ending::Fail);
    assert!(domain.send(&scripted("a"), Change(failing)).await.is_err());
    let sent = domain.send(&scripted("b"), Create(Script::take("k"))).await;
    assert!(matches!(&sent, Err(error) if !error.is_retryable()), "{sent:?}");
}
