//! What is stored and read back: versions of events, unknown events, snapshots, metadata (C9, and the section on events).

use super::on;
use freehold::json::Value;
use freehold::prelude::*;
use freehold::store::{Append, CommitKind, Fingerprint, RequestKey};
use freehold::{EncodedEvent, Error, MemoryStore, RequestId, Store, Text, Token, UpcastError};
use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::{Change, Create, Ending, Script};
use freehold_testkit::store::{Call, RecordingStore};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Account {
    owner: String,
    cents: i64,
    rate: f64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Open {
    owner: String,
    cents: i64,
    rate: f64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Corrupt {}

/// Version 1 had `euros`, version 2 `cents` and no rate.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(name = "opened", version = 3, upcasters = [cents, rate])]
struct Opened {
    owner: String,
    cents: i64,
    rate: f64,
}

/// Written in one form and read in another: nothing that is committed may be so.
#[derive(Debug, Event, Serialize, Deserialize)]
struct Unreadable {
    #[serde(serialize_with = "as_text")]
    number: u64,
}

fn as_text<S: serde::Serializer>(_: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("not a number")
}

fn cents(mut event: Value) -> Result<Value, UpcastError> {
    let euros = event["euros"].as_i64().ok_or_else(|| UpcastError::new("`euros` is missing"))?;
    event["cents"] = (euros * 100).into();
    Ok(event)
}

fn rate(mut event: Value) -> Result<Value, UpcastError> {
    event["rate"] = 0.1.into();
    Ok(event)
}

#[aggregate(context = "decoding", name = "account", snapshot_every = 2)]
impl Account {
    #[on_command(creates, produces = [Opened])]
    fn open(&self, command: Open) -> Decision {
        Decision::event(Opened { owner: command.owner, cents: command.cents, rate: command.rate })
    }

    #[on_command(creates = "allowed", produces = [Unreadable])]
    fn corrupt(&self, _: Corrupt) -> Decision {
        Decision::event(Unreadable { number: 1 })
    }

    #[on_event]
    fn opened(&mut self, event: &Opened) {
        *self = Self { owner: event.owner.clone(), cents: event.cents, rate: event.rate };
    }

    #[on_event]
    fn unreadable(&mut self, _: &Unreadable) {}
}

/// Writes an event as an older or a newer release would have.
async fn written(store: &dyn Store, id: &AggregateId<Account>, name: &str, version: u32, data: &str) {
    let data = serde_json::value::RawValue::from_string(data.to_owned()).expect("JSON");
    let reply = store.append(Append {
        stream: id.stream().clone(),
        expected_version: 0,
        kind: CommitKind::Command,
        command: Text::from_static("Open"),
        request: RequestKey { id: RequestId::new("old").expect("an id"), fingerprint: Fingerprint([1; 32]) },
        token: Token::from_u128(1),
        mark: 0,
        events: vec![EncodedEvent { name: name.into(), version, data }],
        keys: Vec::new(),
        metadata: None,
    });
    reply.await.expect("written");
}

async fn domain(store: &MemoryStore) -> Domain {
    let builder = Domain::builder().without_discovery().aggregate::<Account>();
    builder.store(store.clone()).build().await.expect("built")
}

#[tokio::test]
async fn events_of_every_older_version_are_upcast() {
    for (version, data) in [
        (1, r#"{"owner":"ana","euros":5}"#),
        (2, r#"{"owner":"ana","cents":500}"#),
        (3, r#"{"owner":"ana","cents":500,"rate":0.1}"#),
    ] {
        let (store, id) = (MemoryStore::new(), AggregateId::new("a").expect("an id"));
        written(&store, &id, "opened", version, data).await;
        let account = domain(&store).await.load(&id).await.expect("loaded");
        assert_eq!(*account.state(), Account { owner: "ana".into(), cents: 500, rate: 0.1 }, "version {version}");
    }
}

#[tokio::test]
async fn what_can_not_be_read_names_event_and_stream_and_shows_no_content() {
    for (name, version, data, says) in [
        ("opened", 4, r#"{"secret":1}"#, "of a version that this code does not know"),
        ("opened", 0, r#"{"secret":1}"#, "of a version that this code does not know"),
        ("closed", 1, r#"{"secret":1}"#, "not known to this aggregate"),
        ("opened", 3, r#"{"owner":"secret"}"#, "a field is missing or has another type"),
        ("opened", 1, r#"{"owner":"secret"}"#, "`euros` is missing"),
    ] {
        let (store, id) = (MemoryStore::new(), AggregateId::new("a").expect("an id"));
        written(&store, &id, name, version, data).await;
        let domain = domain(&store).await;
        let Err(error @ Error::Undecodable { .. }) = domain.load(&id).await else { panic!("{name} {version} is read") };
        let text = error.to_string();
        assert!(text.contains(says) && text.contains(name) && text.contains("decoding.account \"a\""), "{text}");
        assert!(!text.contains("secret"), "{text}");
        let open = Open { owner: "b".into(), cents: 1, rate: 1.0 };
        assert!(domain.send(&id, open).await.is_err(), "and nothing is decided on it");
        assert_eq!(store.commits(0, 9).await.expect("the log").len(), 1);
    }
}

#[tokio::test]
async fn c9_nothing_is_committed_that_can_not_be_loaded_again() {
    let store = MemoryStore::new();
    let domain = domain(&store).await;
    let id = AggregateId::<Account>::new("a").expect("an id");
    assert!(matches!(domain.send(&id, Corrupt {}).await, Err(Error::Undecodable { .. })));
    assert!(store.commits(0, 9).await.expect("the log").is_empty());
    // Numbers come back bit by bit.
    let rate = 0.1 + 0.2;
    domain.send(&id, Open { owner: "ana".into(), cents: i64::MIN, rate }).await.expect("opened");
    let cold = self::domain(&store).await.load(&id).await.expect("loaded");
    assert_eq!((cold.cents, cold.rate.to_bits()), (i64::MIN, rate.to_bits()));
    assert!(domain.send(&id, Open { owner: "b".into(), cents: 1, rate: f64::NAN }).await.is_err());
}

#[tokio::test]
async fn snapshots_shorten_a_cold_load_and_change_nothing() {
    let store = MemoryStore::new();
    let domain = on(store.clone()).await;
    let a = scripted("a");
    domain.send(&a, Create(Script::take("k"))).await.expect("created");
    for number in 0..9 {
        domain.send(&a, Change(Script::new([], Ending::Happen(format!("{number}"))))).await.expect("changed");
    }
    let recording = RecordingStore::new(store.clone());
    let cold = on(recording.clone()).await.load(&a).await.expect("loaded");
    assert_eq!(recording.calls(), [Call::Register, Call::Load]);
    assert_eq!((cold.version(), cold.happened.len()), (10, 10));
    let read = store.load(freehold::store::Load { stream: a.stream().clone(), after_version: 0, snapshot_of: Some(1) });
    let read = read.await.expect("read");
    assert_eq!((read.snapshot.map(|snapshot| snapshot.version), read.commits.len()), (Some(9), 1));
}

#[tokio::test]
async fn metadata_is_stored_with_the_commit() {
    let domain = on(MemoryStore::new()).await;
    let send = domain.send(&scripted("a"), Create(Script::take("k")));
    send.metadata("by", "ana").metadata("try", 1).metadata("try", 2).await.expect("created");
    let log = domain.commits(0, 1).await.expect("the log");
    assert_eq!(log[0].metadata.as_deref().map(serde_json::value::RawValue::get), Some(r#"{"by":"ana","try":2}"#));
}
