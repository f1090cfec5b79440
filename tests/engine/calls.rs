//! Which store calls a command costs (C1, C3).

use super::on;
use freehold::{Error, MemoryStore, Outcome, StoreReply};
use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::{Change, Create, Ending, Ensure, Script, Step};
use freehold_testkit::store::{Call, RecordingStore};
use parking_lot::Mutex;
use std::sync::Arc;

fn plain() -> Script {
    Script::new([], Ending::Happen("plain".into()))
}

#[tokio::test]
async fn c3_a_handler_without_scope_costs_a_load_and_an_append_and_a_warm_one_the_append_alone() {
    let store = RecordingStore::new(MemoryStore::new());
    let domain = on(store.clone()).await;
    let a = scripted("a");
    let _ = store.take_calls();
    domain.send(&a, Ensure(plain())).await.expect("written");
    assert_eq!(store.take_calls(), [Call::Load, Call::Append]);
    domain.send(&a, Ensure(plain())).await.expect("written");
    assert_eq!(store.take_calls(), [Call::Append]);
    domain.send(&scripted("b"), Create(Script::take("k"))).await.expect("written");
    assert_eq!(store.take_calls(), [Call::Reserve, Call::Append], "what creates needs no load (C2)");
    domain
        .send(&scripted("b"), Change(Script::new([Step::TryReserve("l".into())], Ending::NoOp)))
        .await
        .expect("no-op");
    assert_eq!(store.take_calls(), [Call::Reserve, Call::GiveUp, Call::Check], "C1: a warm no-op is checked");
}

#[tokio::test]
async fn c1_an_answer_without_append_is_never_given_from_a_stale_state() {
    let store = MemoryStore::new();
    let (here, there) = (on(store.clone()).await, on(store).await);
    let a = scripted("a");
    // Each process has the state at version 1 warm, then the other writes.
    here.send(&a, Create(Script::take("k"))).await.expect("created");
    there.load(&a).await.expect("loaded");
    here.send(&a, Change(Script::new([Step::Release("k".into())], Ending::Happen("released".into()))))
        .await
        .expect("ok");
    // Decided on the warm version 1; only a newer state can answer.
    let no_op = there.send(&a, Change(Script::new([], Ending::NoOp))).await.expect("no-op");
    assert_eq!((no_op.version(), no_op.attempts()), (2, 2));
    here.send(&a, Change(Script::new([], Ending::Happen("third".into())))).await.expect("written");
    let rejected = there.send(&a, Change(Script::new([], Ending::Reject))).await;
    assert!(matches!(rejected, Err(Error::Rejected(_))));
    assert_eq!(there.load(&a).cached().await.expect("loaded").version(), 3, "the rejection was decided on version 3");
    here.send(&a, freehold::Delete {}).await.expect("deleted");
    assert!(matches!(there.send(&a, Change(plain())).await, Err(Error::Deleted { .. })));
    here.send(&a, freehold::Restore {}).await.expect("restored");
    let sent = there.send(&a, Change(plain())).await;
    assert!(matches!(sent, Ok(Outcome::Committed(_))), "its warm state said deleted: {sent:?}");
}

#[tokio::test]
async fn c1_a_creation_decided_without_a_load_is_not_answered_before_the_store_agrees() {
    let store = MemoryStore::new();
    let (here, there) = (on(store.clone()).await, on(store).await);
    let a = scripted("a");
    here.send(&a, Create(plain())).await.expect("created");
    for ending in [Ending::NoOp, Ending::Reject, Ending::Fail, Ending::Happen("again".into())] {
        let fresh = there.send(&a, Create(Script::new([], ending.clone()))).await;
        assert!(matches!(fresh, Err(Error::AlreadyExists { .. })), "{ending:?}: {fresh:?}");
    }
}

#[tokio::test]
async fn c1_a_load_is_as_new_as_the_store_unless_cached_is_asked_for() {
    let store = MemoryStore::new();
    let (here, there) = (on(store.clone()).await, on(store).await);
    let a = scripted("a");
    here.send(&a, Create(plain())).await.expect("created");
    there.load(&a).await.expect("loaded");
    here.send(&a, Change(plain())).await.expect("changed");
    assert_eq!(there.load(&a).cached().await.expect("loaded").version(), 1);
    assert_eq!(there.load(&a).await.expect("loaded").version(), 2);
    assert_eq!(there.load(&a).cached().await.expect("loaded").version(), 2);
}

/// A store whose data can be replaced by an older copy beneath a running process.
#[derive(Debug, Clone)]
struct Restored(Arc<Mutex<MemoryStore>>);

impl Restored {
    fn around<T>(&self, _: Call, perform: impl FnOnce(&MemoryStore) -> StoreReply<T>) -> StoreReply<T> {
        let store = self.0.lock().clone();
        perform(&store)
    }
}

freehold_testkit::store_around!(Restored);

#[tokio::test]
async fn c1_a_warm_state_that_is_ahead_of_a_restored_store_is_forgotten() {
    let current = Arc::new(Mutex::new(MemoryStore::new()));
    let domain = on(Restored(Arc::clone(&current))).await;
    let a = scripted("a");
    let restore = || async {
        let copy = MemoryStore::new();
        on(copy.clone()).await.send(&a, Create(plain())).await.expect("the copy has version 1");
        *current.lock() = copy;
    };
    domain.send(&a, Create(plain())).await.expect("created");
    domain.send(&a, Change(plain())).await.expect("changed");
    restore().await;
    assert_eq!(domain.load(&a).await.expect("loaded").version(), 1);
    for _ in 0..3 {
        domain.send(&a, Change(plain())).await.expect("changed");
    }
    restore().await;
    assert_eq!(domain.send(&a, Change(plain())).await.expect("changed").version(), 2);
    domain.send(&a, Change(plain())).await.expect("changed");
    restore().await;
    let no_op = domain.send(&a, Change(Script::new([], Ending::NoOp))).await.expect("no-op");
    assert_eq!(no_op.version(), 1);
}
