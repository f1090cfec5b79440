//! Every public future may move between threads, and every public type may be shared and printed.
//!
//! A future that holds something that is not `Send` across an await makes the compiler refuse the user's `spawn`, far
//! from the cause. Each is asked for here, by a bound, and then awaited.

use freehold::prelude::*;
use freehold::store::{self, StoreReply};
use freehold::{
    Aggregate, AggregateType, BuildError, Clock, CodecError, CommandContext, CommandInfo, Committed, Creates, Delete,
    DomainBuilder, EncodedEvent, Error, EventInfo, Holding, IdSource, InvalidId, InvalidKey, Loaded, MemoryStore, Need,
    Normalizer, Outcome, RandomIds, Release, RequestId, Reservations, Reserved, Restore, SendCommand, SqliteStore,
    Store, StoreError, StoreErrorKind, StoreFailure, StreamId, SystemClock, Tenancy, Text, Timestamp, Token,
    UpcastError, observe, registry, reservation,
};
use freehold_testkit::conformance::{Case, Subject};
use freehold_testkit::store::{FaultyStore, RecordingStore};
use freehold_testkit::{ManualClock, SequentialIds, Spec, model, script, sim};
use std::fmt::Debug;
use std::future::IntoFuture;
use std::sync::Arc;

/// `future`, if it may move between threads.
fn sent<F: IntoFuture<IntoFuture: Send>>(future: F) -> F::IntoFuture {
    future.into_future()
}

/// The name of `T`, if it may be shared between threads and printed.
fn shared<T: ?Sized + Send + Sync + Debug>() -> &'static str {
    std::any::type_name::<T>()
}

#[namespace]
const NAMES: Namespace = Namespace::new("catalog.name");

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Brand {}

#[derive(Debug, Serialize, Deserialize)]
struct Create {
    name: String,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Created {}

#[aggregate(context = "catalog")]
impl Brand {
    #[on_command(creates, produces = [Created])]
    async fn create(&self, command: Create, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        let (name, more) = (command.name.as_str(), format!("{} more", command.name));
        sent(scope.reserve(NAMES, name)).await?.or_reject("TAKEN", "taken")?;
        let answers = sent(scope.reserve_all(NAMES, [name, &more])).await?;
        assert_eq!(answers.len(), 2);
        assert!(!sent(scope.holds(NAMES, name)).await?);
        Ok(Decision::event(Created {}))
    }

    #[on_event]
    fn created(&mut self, _: &Created) {}
}

async fn every_call(domain: Domain) -> Result<(), Error> {
    let brand = AggregateId::<Brand>::new("contoso")?;
    let outcome = sent(domain.send(&brand, Create { name: "contoso".to_owned() }).request_id("1")).await?;
    assert_eq!(outcome.version(), 1);
    sent(domain.load(&brand)).await?;
    assert_eq!(sent(domain.commits(0, 10)).await?.len(), 1);
    let reservations = domain.reservations();
    let held = sent(reservations.held_by(brand.stream())).await?;
    assert_eq!(held.len(), 2);
    assert!(sent(reservations.holder("catalog", NAMES, None, "contoso")).await?.is_some());
    let by = Release { author: "operator", reason: "a mistake" };
    assert!(sent(reservations.release("catalog", NAMES, None, "contoso", by)).await?.is_some());
    sent(domain.send(&brand, Delete {})).await?;
    sent(domain.close()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_future_moves_between_threads() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let opened = tokio::spawn(sent(SqliteStore::open(directory.path().join("a.db")))).await;
    let sqlite = opened.expect("no panic").expect("the file opens");
    let domain = tokio::spawn(sent(Domain::builder().store(sqlite).build())).await;
    let domain = domain.expect("no panic").expect("everything is registered");
    tokio::spawn(every_call(domain)).await.expect("no panic").expect("every call succeeds");
}

#[tokio::test]
async fn every_reply_of_a_store_moves_between_threads() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let options = SqliteStore::options();
    let sqlite = sent(options.open(directory.path().join("a.db"))).await.expect("the file opens");
    let stores: [Arc<dyn Store>; 2] = [Arc::new(MemoryStore::new()), Arc::new(sqlite.clone())];
    for store in stores {
        assert!(sent(store.commits(0, 1)).await.expect("a page").is_empty());
        assert_eq!(sent(store.sweep()).await.expect("a number"), 0);
        sent(store.drain()).await.expect("nothing is under way");
    }
    sent(StoreReply::ready(Ok(()))).await.expect("it is there");
    sent(StoreReply::waiting(async { Ok(()) })).await.expect("it comes");
    sent(sqlite.close()).await.expect("it closes");
}

#[test]
fn every_type_is_shared_and_printed() {
    let names = [
        shared::<Domain>(),
        shared::<DomainBuilder>(),
        shared::<BuildError>(),
        shared::<SendCommand<Brand, Create>>(),
        shared::<freehold::LoadAggregate<Brand>>(),
        shared::<Reservations<'_>>(),
        shared::<Release<'_>>(),
        shared::<Holding>(),
        shared::<Outcome<Brand>>(),
        shared::<Committed<Brand>>(),
        shared::<Loaded<Brand>>(),
        shared::<Error>(),
        shared::<Decision<Brand, Create>>(),
        shared::<DecideError>(),
        shared::<Rejection>(),
        shared::<RejectionCode>(),
        shared::<CommandContext>(),
        shared::<CommandInfo>(),
        shared::<Delete>(),
        shared::<Restore>(),
        shared::<Creates>(),
        shared::<<Brand as Aggregate>::Event>(),
        shared::<EventInfo>(),
        shared::<EncodedEvent>(),
        shared::<CodecError>(),
        shared::<UpcastError>(),
        shared::<AggregateId<Brand>>(),
        shared::<AggregateType>(),
        shared::<StreamId>(),
        shared::<RequestId>(),
        shared::<Token>(),
        shared::<Text>(),
        shared::<Timestamp>(),
        shared::<InvalidId>(),
        shared::<InvalidKey>(),
        shared::<Namespace>(),
        shared::<Normalizer>(),
        shared::<Reserved>(),
        shared::<Tenancy>(),
        shared::<reservation::KeyId>(),
        shared::<reservation::Lease>(),
        shared::<reservation::Record>(),
        shared::<reservation::RecordState>(),
        shared::<registry::AggregateDescriptor>(),
        shared::<registry::NamespaceDescriptor>(),
        shared::<registry::Report>(),
        shared::<registry::Source>(),
        shared::<Need>(),
        shared::<observe::Decided<'_>>(),
        shared::<observe::ScopeCall>(),
        shared::<dyn observe::Observer>(),
        shared::<dyn Clock>(),
        shared::<dyn IdSource>(),
        shared::<SystemClock>(),
        shared::<RandomIds>(),
    ];
    assert!(names.iter().all(|name| !name.is_empty()));
}

#[test]
fn every_type_of_stores_and_of_the_testkit_is_shared_and_printed() {
    let names = [
        shared::<dyn Store>(),
        shared::<MemoryStore>(),
        shared::<SqliteStore>(),
        shared::<store::sqlite::SqliteOptions>(),
        shared::<StoreError>(),
        shared::<StoreErrorKind>(),
        shared::<StoreFailure>(),
        shared::<store::Append>(),
        shared::<store::AppendReply>(),
        shared::<store::Check>(),
        shared::<store::Checked>(),
        shared::<store::CommitRecord>(),
        shared::<store::GiveUp>(),
        shared::<store::KeyChange>(),
        shared::<store::KeyClaim>(),
        shared::<store::Load>(),
        shared::<store::LoadedStream>(),
        shared::<store::NamespaceRecord>(),
        shared::<store::Refusal>(),
        shared::<store::Registered>(),
        shared::<store::Rekey>(),
        shared::<store::RekeyReply>(),
        shared::<store::RequestKey>(),
        shared::<store::Reserve>(),
        shared::<store::ReserveReply>(),
        shared::<store::Settle>(),
        shared::<store::Settled>(),
        shared::<store::SnapshotRecord>(),
        shared::<store::Written>(),
        shared::<ManualClock>(),
        shared::<SequentialIds>(),
        shared::<Spec<Brand>>(),
        shared::<Subject>(),
        shared::<Case>(),
        shared::<FaultyStore>(),
        shared::<RecordingStore>(),
        shared::<model::Model>(),
        shared::<script::Script>(),
        shared::<script::Scripted>(),
        shared::<sim::Simulation>(),
        shared::<sim::Disagreement>(),
    ];
    assert!(names.iter().all(|name| !name.is_empty()));
}
