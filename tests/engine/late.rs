//! Requests that were answered without a commit, and appends of theirs that land too late (C4).

use freehold::prelude::*;
use freehold::{Error, MemoryStore, Outcome, Store};
use freehold_testkit::store::{Call, Fault, FaultyStore, RecordingStore};
use std::sync::Arc;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Lamp {
    lit: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct Light {}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Lit {}

/// What a handler finds outside the aggregate: the same command is decided otherwise in another process.
#[derive(Debug, Clone, Copy)]
enum Weather {
    Dark,
    Bright,
    Storm,
}

trait Outside: Send + Sync {
    fn weather(&self) -> Weather;
}

impl Outside for Weather {
    fn weather(&self) -> Weather {
        *self
    }
}

#[aggregate(context = "late", name = "lamp")]
impl Lamp {
    #[on_command(creates = "allowed")]
    async fn light(&self, _: Light, outside: &dyn Outside) -> Result<Option<Lit>, Rejection> {
        tokio::task::yield_now().await;
        match outside.weather() {
            Weather::Dark => Ok(Some(Lit {})),
            Weather::Bright => Ok(None),
            Weather::Storm => Err(Rejection::new("STORM", "no lamp stays lit")),
        }
    }

    #[on_event]
    fn lit(&mut self, _: &Lit) {
        self.lit += 1;
    }
}

fn lamp() -> AggregateId<Lamp> {
    AggregateId::new("lamp").expect("an id")
}

/// A process on `store`, in its own weather.
async fn process(store: impl Store, weather: Weather) -> Domain {
    let builder = Domain::builder().without_discovery().aggregate::<Lamp>().store(store);
    builder.provide::<dyn Outside>(Arc::new(weather)).build().await.expect("built")
}

/// Sends the request once more, to a process that has nothing to commit: it is told so.
async fn is_answered_without_a_commit(domain: &Domain) {
    match domain.send(&lamp(), Light {}).request_id("r").await {
        Ok(Outcome::NoOp { .. }) => {}
        Err(error @ Error::Rejected(_)) => assert!(error.surely_not_written(), "{error}"),
        other => panic!("{other:?}"),
    }
}

/// Who was told that a request has no commit may send another one instead: the append of a process that died must not
/// land behind the back.
#[tokio::test]
async fn c4_an_append_of_a_dead_process_does_not_land_after_an_answer_without_commit() {
    for weather in [Weather::Bright, Weather::Storm] {
        let memory = MemoryStore::new();
        let store = FaultyStore::new(memory.clone());
        let dead = process(store.clone(), Weather::Dark).await;
        store.fail(Call::Append, 1, Fault::Late);
        (1..=9).for_each(|time| store.fail(Call::Settle, time, Fault::FailBefore));
        let sent = dead.send(&lamp(), Light {}).request_id("r").await;
        assert!(matches!(sent, Err(Error::OutcomeUnknown { .. })), "it dies before it can settle: {sent:?}");
        drop(dead);

        let other = process(memory.clone(), weather).await;
        is_answered_without_a_commit(&other).await;
        assert_eq!(store.release_held(), 1);
        assert!(memory.commits(0, 9).await.expect("the log").is_empty(), "{weather:?}: it landed after the answer");
        is_answered_without_a_commit(&other).await;
        // In a process that has something to commit, the request is as good as new.
        let dark = process(memory.clone(), Weather::Dark).await;
        let sent = dark.send(&lamp(), Light {}).request_id("r").await.expect("committed");
        assert!(!sent.is_replay());
        assert_eq!(memory.commits(0, 9).await.expect("the log").len(), 1, "{weather:?}");
    }
}

/// The answer of another send of the same request stops a send that is under way, once: it decides again and commits.
#[tokio::test]
async fn c4_a_send_that_meets_a_mark_decides_again_and_commits() {
    for weather in [Weather::Bright, Weather::Storm] {
        let memory = MemoryStore::new();
        let (here, there) = (process(memory.clone(), Weather::Dark).await, process(memory.clone(), weather).await);
        let sending = here.send(&lamp(), Light {}).request_id("r");
        let mut sending = Box::pin(IntoFuture::into_future(sending));
        tokio::select! { biased; _ = &mut sending => panic!("it yields"), () = std::future::ready(()) => {} }
        is_answered_without_a_commit(&there).await;
        is_answered_without_a_commit(&there).await;
        let sent = sending.await.expect("it decides again");
        assert!(matches!(sent, Outcome::Committed(_)) && !sent.is_replay(), "{sent:?}");
        assert_eq!(sent.attempts(), 2, "one that knows the newest mark passes");
        assert_eq!(memory.commits(0, 9).await.expect("the log").len(), 1, "{weather:?}");
        let again = there.send(&lamp(), Light {}).request_id("r").await.expect("the commit");
        assert!(again.is_replay() && again.version() == 1, "{again:?}");
    }
}

/// A send that gives up after conflicts is an answer without a commit too: the store is asked for the request before.
#[tokio::test]
async fn c4_a_send_that_ends_in_conflicts_asks_for_its_request_first() {
    let memory = MemoryStore::new();
    let store = RecordingStore::new(memory.clone());
    let builder = Domain::builder().without_discovery().aggregate::<Lamp>().store(store.clone()).attempts(1);
    let here = builder.provide::<dyn Outside>(Arc::new(Weather::Dark)).build().await.expect("built");
    let there = process(memory.clone(), Weather::Dark).await;
    let mut sending = Box::pin(IntoFuture::into_future(here.send(&lamp(), Light {}).request_id("r")));
    tokio::select! { biased; _ = &mut sending => panic!("it yields"), () = std::future::ready(()) => {} }
    there.send(&lamp(), Light {}).await.expect("committed");
    let error = sending.await.expect_err("another was first");
    assert!(matches!(error, Error::Conflict { .. }), "{error:?}");
    assert!(store.calls().ends_with(&[Call::Append, Call::Check]), "{:?}", store.calls());
}
