//! A send that is dropped, at every await point, on a store that works behind a queue (C8, R5).

use super::super::{builder, on};
use super::stores::Queued;
use freehold::{Domain, MemoryStore, Outcome, Store};
use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::{Ending, Ending::Happen};
use freehold_testkit::script::{Ensure, NAMES, Script, Scripted, Step};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

type Sending = Pin<Box<dyn Future<Output = Result<Outcome<Scripted>, freehold::Error>> + Send>>;

/// How many steps a send takes at most: a poll, or a job of the store.
const STEPS_MAX: usize = 60;

/// What the handler does, and the keys that it holds once that is written.
fn scripts() -> [(Script, &'static [&'static str]); 5] {
    let reserve = |key: &str| Step::Reserve(key.into());
    let renamed = [reserve("k"), Step::Yield, reserve("l"), Step::Release("k".into())];
    [
        (Script::new(renamed, Happen("l".into())), &["held", "l"]),
        (Script::new([reserve("k"), reserve("l")], Ending::Reject), &["held"]),
        (Script::new([reserve("k"), Step::MustHold("k".into())], Ending::NoOp), &["held"]),
        (Script::new([reserve("held"), reserve("k")], Happen("k".into())), &["held", "k"]),
        (Script::new([reserve("k"), reserve("l")], Ending::Panic), &["held"]),
    ]
}

fn poll(sending: &mut Sending) -> Poll<Result<Outcome<Scripted>, freehold::Error>> {
    sending.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

fn send(domain: &Domain, script: &Script) -> Sending {
    domain.send(&scripted("a"), Ensure(script.clone())).request_id("r").into_future()
}

/// Sends, drops the future after `stop` steps, and checks what is left: whether the send had ended before.
async fn dropped_after(stop: usize, script: &Script, holds: &[&str], conflict: bool) -> bool {
    let memory = MemoryStore::new();
    let other = on(memory.clone()).await;
    let store = Queued::new(memory.clone());
    let domain = builder(store.clone()).pause_between_attempts(false).build().await.expect("built");
    other.send(&scripted("a"), Ensure(Script::take("held"))).await.expect("held");
    let mut sending = send(&domain, script);
    let mut is_done = false;
    for step in 0..stop {
        if step % 2 == 1 {
            store.pump();
            continue;
        }
        is_done = poll(&mut sending).is_ready();
        if is_done {
            break;
        }
        if conflict && step == 2 {
            let meanwhile = Script::new([], Happen("meanwhile".into()));
            other.send(&scripted("a"), Ensure(meanwhile)).await.expect("written");
        }
    }
    drop(sending);
    while store.pump() {}
    let place = format!("{script:?}, conflict {conflict}, dropped after {stop} steps");
    let log = other.commits(0, 100).await.expect("the log");
    let wrote = log.iter().any(|commit| commit.request.id.as_str() == "r");
    for key in ["k", "l", "held"] {
        let id = NAMES.key_id(key, scripted("a").stream()).expect("a key");
        let record = memory.reservation(id).await.expect("read").record;
        assert!(record.as_ref().is_none_or(freehold::reservation::Record::is_confirmed), "{place}: {key} {record:?}");
        let expected = if wrote { holds.contains(&key) } else { key == "held" };
        assert_eq!(record.is_some(), expected, "{place}: {key}, written: {wrote}");
    }
    sent_again(&domain, &store, script, wrote, &place);
    is_done
}

/// The aggregate is not blocked, and the request is safe to send again.
#[track_caller]
fn sent_again(domain: &Domain, store: &Queued, script: &Script, wrote: bool, place: &str) {
    let mut sending = send(domain, script);
    for _ in 0..1_000 {
        if let Poll::Ready(sent) = poll(&mut sending) {
            assert!(!wrote || sent.is_ok(), "{place}: {sent:?}");
            assert!(sent.is_err() || sent.is_ok_and(|outcome| outcome.is_replay() == wrote), "{place}");
            return;
        }
        store.pump();
    }
    panic!("{place}: sent again it hangs");
}

/// A future dropped anywhere leaves a commit or nothing, and no lease at all.
#[tokio::test]
async fn c8_a_send_dropped_at_any_await_point_leaves_no_lease() {
    // Polled by hand, so the runtime's budget of polls is to have no say.
    tokio::task::unconstrained(async {
        for (script, holds) in scripts() {
            for conflict in [false, true] {
                let mut ended = 0;
                for stop in 0..STEPS_MAX {
                    ended += usize::from(dropped_after(stop, &script, holds, conflict).await);
                }
                assert!((1..STEPS_MAX - 5).contains(&ended), "{script:?}: {ended} of {STEPS_MAX} had ended");
            }
        }
    })
    .await;
}
