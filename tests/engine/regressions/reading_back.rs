//! The state is made of events as they are read back, and what can't be read back is not committed (C9, C1, C4, C6).

use super::super::on;
use super::id;
use freehold::prelude::*;
use freehold::store::{Append, CommitKind, RequestKey};
use freehold::{Error, MemoryStore, Outcome, Store, Token};
use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::{Ensure, Script};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Parcel {
    label: String,
    weight: Option<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Label {}

#[derive(Debug, Serialize, Deserialize)]
struct Weigh {
    weight: Option<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Route {}

/// A part of it is there until it is written.
#[derive(Debug, Event, Serialize, Deserialize)]
struct Labelled {
    #[serde(skip)]
    printed: Option<String>,
}

/// A weight that is no number is written as null.
#[derive(Debug, Event, Serialize, Deserialize)]
struct Weighed {
    weight: Option<f64>,
}

/// JSON has no such keys.
#[derive(Debug, Event, Serialize, Deserialize)]
struct Routed {
    by: BTreeMap<(u8, u8), u8>,
}

#[aggregate(context = "regressions", name = "parcel", snapshot_every = 0)]
impl Parcel {
    #[on_command(creates = "allowed")]
    fn label(&self, _: Label) -> Labelled {
        Labelled { printed: Some("fragile".into()) }
    }

    #[on_command(creates = "allowed")]
    fn weigh(&self, command: Weigh) -> Weighed {
        Weighed { weight: command.weight.map(|weight| weight / 0.0) }
    }

    #[on_command(creates = "allowed")]
    fn route(&self, _: Route) -> Routed {
        Routed { by: [((1, 2), 3)].into() }
    }

    #[on_event]
    fn labelled(&mut self, event: &Labelled) {
        self.label.clone_from(event.printed.as_ref().expect("a label was printed"));
    }

    #[on_event]
    fn weighed(&mut self, event: &Weighed) {
        self.weight = event.weight;
    }

    #[on_event]
    fn routed(&mut self, _: &Routed) {}
}

async fn parcels(store: &MemoryStore) -> Domain {
    let builder = Domain::builder().without_discovery().aggregate::<Parcel>().store(store.clone());
    builder.build().await.expect("built")
}

/// An event was applied as the handler had made it, and could not be applied once it had been read back.
#[tokio::test]
async fn c9_an_event_whose_apply_panics_only_when_it_is_read_back_is_not_committed() {
    let store = MemoryStore::new();
    let domain = parcels(&store).await;
    let sent = domain.send(&id::<Parcel>("p"), Label {}).await;
    assert!(matches!(&sent, Err(error) if error.code() == "PANICKED"), "{sent:?}");
    assert!(store.commits(0, 9).await.expect("the log").is_empty());
    domain.send(&id::<Parcel>("p"), Weigh { weight: None }).await.expect("the aggregate goes on");
    parcels(&store).await.load(&id::<Parcel>("p")).await.expect("loaded elsewhere");
}

/// The process that wrote an event went on with another state than every process that read it.
#[tokio::test]
async fn c9_the_warm_state_and_the_outcome_are_what_every_other_process_reads() {
    let store = MemoryStore::new();
    let (here, there) = (parcels(&store).await, parcels(&store).await);
    let sent = here.send(&id::<Parcel>("p"), Weigh { weight: Some(0.0) }).await.expect("written: no number is null");
    let Outcome::Committed(committed) = sent else { panic!("{sent:?}") };
    let [ParcelEvent::Weighed(returned)] = &*committed.events else { panic!("{:?}", committed.events) };
    assert_eq!(returned.weight, None, "the outcome has the event as it was read back");
    let (warm, loaded) = (here.load(&id::<Parcel>("p")).await, there.load(&id::<Parcel>("p")).await);
    let (warm, loaded) = (warm.expect("loaded"), loaded.expect("loaded"));
    assert_eq!((warm.version(), warm.weight), (loaded.version(), loaded.weight));
    assert_eq!(here.load(&id::<Parcel>("p")).cached().await.expect("loaded").weight, None);
}

/// An event that could not be written was told as one that could not be read.
#[tokio::test]
async fn c6_an_event_that_can_not_be_written_is_told_as_such() {
    let store = MemoryStore::new();
    let error = parcels(&store).await.send(&id::<Parcel>("p"), Route {}).await.expect_err("no JSON");
    let text = error.to_string();
    assert!(text.contains("written") && !text.contains("read"), "{text}");
    assert!(text.contains("Routed"), "the event is named: {text}");
    assert!(store.commits(0, 9).await.expect("the log").is_empty());
}

/// A request that had its commit failed for an event that somebody else had written since.
#[tokio::test]
async fn c4_a_replay_comes_before_a_stream_that_can_not_be_read() {
    let store = MemoryStore::new();
    let first = on(store.clone()).await;
    first.send(&scripted("a"), Ensure(Script::take("k"))).request_id("r").await.expect("written");
    let mut commit = first.commits(0, 1).await.expect("the log").remove(0);
    commit.events[0].name = "FromTheFuture".into();
    let token = Token::from_u128(99);
    let append = Append {
        stream: commit.stream,
        expected_version: 1,
        kind: CommitKind::Command,
        command: "Ensure".into(),
        request: RequestKey::of_token(token),
        token,
        mark: 0,
        events: commit.events,
        keys: Vec::new(),
        metadata: None,
    };
    store.append(append).await.expect("written by a newer release");
    let second = on(store).await;
    let again = second.send(&scripted("a"), Ensure(Script::take("k"))).request_id("r").await;
    assert!(matches!(&again, Ok(outcome) if outcome.is_replay()), "{again:?}");
    let fresh = second.send(&scripted("a"), Ensure(Script::take("l"))).request_id("s").await;
    assert!(matches!(fresh, Err(Error::Undecodable { .. })), "and nothing new is decided on it: {fresh:?}");
}
