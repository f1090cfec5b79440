//! A panic in the user's code, wherever it is, is an answer of that command, or nothing at all (C9).

use super::super::builder;
use super::id;
use freehold::json::Value;
use freehold::observe::{Decided, Observer};
use freehold::prelude::*;
use freehold::store::{Append, CommitKind, RequestKey};
use freehold::{EncodedEvent, Error, MemoryStore, Store, Token, UpcastError};
use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::{Create, Script};
use serde::Serializer;
use serde::ser::SerializeStruct;
use std::sync::Arc;

/// A state that can be made to panic when it is copied, or when it is written.
#[derive(Debug, Default, Deserialize)]
struct Bomb {
    copies: bool,
    writes: bool,
}

impl Clone for Bomb {
    fn clone(&self) -> Self {
        assert!(!self.copies, "a state that can't be copied");
        Self { ..*self }
    }
}

impl Serialize for Bomb {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        assert!(!self.writes, "a state that can't be written");
        let mut state = serializer.serialize_struct("Bomb", 2)?;
        state.serialize_field("copies", &self.copies)?;
        state.serialize_field("writes", &self.writes)?;
        state.end()
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Arm {
    copies: bool,
    writes: bool,
}

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(version = 2, upcasters = [never])]
struct Armed {
    copies: bool,
    writes: bool,
}

fn never(_: Value) -> Result<Value, UpcastError> {
    panic!("an upcaster that panics")
}

#[aggregate(context = "regressions", name = "bomb", snapshot_every = 1)]
impl Bomb {
    #[on_command(creates = "allowed")]
    fn arm(&self, command: Arm) -> Armed {
        Armed { copies: command.copies, writes: command.writes }
    }

    #[on_event]
    fn armed(&mut self, event: &Armed) {
        (self.copies, self.writes) = (event.copies, event.writes);
    }
}

async fn bombs(store: &MemoryStore) -> Domain {
    Domain::builder().without_discovery().aggregate::<Bomb>().store(store.clone()).build().await.expect("built")
}

/// A commit was reported as a panic of `send`, because its snapshot could not be written.
#[tokio::test]
async fn c9_a_panic_while_a_snapshot_is_written_is_ignored() {
    let store = MemoryStore::new();
    let domain = bombs(&store).await;
    let sent = domain.send(&id::<Bomb>("b"), Arm { copies: false, writes: true });
    let joined = tokio::spawn(async move { sent.await.map(|outcome| outcome.version()) }).await;
    assert!(matches!(joined, Ok(Ok(1))), "it is committed, and told so: {joined:?}");
    assert!(bombs(&store).await.load(&id::<Bomb>("b")).await.expect("loaded from its events").writes);
}

/// A state whose `Clone` panics took the caller's task with it.
#[tokio::test]
async fn c9_a_panic_while_the_state_is_copied_is_an_error() {
    let store = MemoryStore::new();
    let domain = bombs(&store).await;
    domain.send(&id::<Bomb>("b"), Arm { copies: true, writes: false }).await.expect("armed");
    let sent = domain.send(&id::<Bomb>("b"), Arm { copies: false, writes: false });
    let joined = tokio::spawn(async move { sent.await.map(drop) }).await;
    assert!(matches!(joined, Ok(Err(Error::Panicked { .. }))), "{joined:?}");
    assert_eq!(store.commits(0, 9).await.expect("the log").len(), 1);
    domain.load(&id::<Bomb>("b")).await.expect("it is still there");
}

/// An upcaster that panics took the task of whoever loaded the aggregate.
#[tokio::test]
async fn c9_a_panic_in_an_upcaster_is_an_error() {
    let store = MemoryStore::new();
    let data = serde_json::value::to_raw_value(&serde_json::json!({})).expect("JSON");
    let token = Token::from_u128(1);
    let append = Append {
        stream: id::<Bomb>("b").stream().clone(),
        expected_version: 0,
        kind: CommitKind::Command,
        command: "Arm".into(),
        request: RequestKey::of_token(token),
        token,
        mark: 0,
        events: vec![EncodedEvent { name: "Armed".into(), version: 1, data }],
        keys: Vec::new(),
        metadata: None,
    };
    store.append(append).await.expect("written by an older release");
    let domain = bombs(&store).await;
    let (load, sent) =
        (domain.load(&id::<Bomb>("b")), domain.send(&id::<Bomb>("b"), Arm { copies: false, writes: false }));
    let loaded = tokio::spawn(async move { load.await.map(|loaded| loaded.version()) }).await;
    assert!(matches!(loaded, Ok(Err(Error::Panicked { .. }))), "{loaded:?}");
    let joined = tokio::spawn(async move { sent.await.map(drop) }).await;
    assert!(matches!(joined, Ok(Err(Error::Panicked { .. }))), "{joined:?}");
    assert_eq!(store.commits(0, 9).await.expect("the log").len(), 1);
}

#[derive(Debug)]
struct Clumsy;

impl Observer for Clumsy {
    fn decided(&self, _: &Decided<'_>) {
        panic!("an observer that panics")
    }
}

/// An observer that panics took the caller's task, after the handler had decided.
#[tokio::test]
async fn c9_a_panic_in_an_observer_is_ignored() {
    let domain = builder(MemoryStore::new()).observer(Arc::new(Clumsy)).build().await.expect("built");
    let sent = domain.send(&scripted("a"), Create(Script::take("k")));
    let joined = tokio::spawn(async move { sent.await.map(|outcome| outcome.version()) }).await;
    assert!(matches!(joined, Ok(Ok(1))), "{joined:?}");
}
