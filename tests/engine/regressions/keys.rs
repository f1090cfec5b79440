//! Keys: what a decision may ask for, what it leaves, and who gets to see them (R2, R3, R5, R11, R13, R17, R19).

use super::super::on;
use super::stores::Late;
use super::{id, record};
use freehold::prelude::*;
use freehold::reservation::lifecycle::KeyUse;
use freehold::store::{Append, CommitKind, KeyClaim, Load, RequestKey, SnapshotRecord};
use freehold::{DomainBuilder, MemoryStore, Normalizer, Store, Token};
use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::{Create, Script};
use freehold_testkit::store::{Call, Fault, FaultyStore};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

const SEATS: Namespace = Namespace::new("regressions.seat");
/// Normalised twice a key is another one than normalised once.
const GROWING: Namespace =
    Namespace::new("regressions.growing").normalized(Normalizer::named("growing", 1, |text| format!("{text}!")));

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Booking {
    seats: u32,
}

macro_rules! commands {
    ($($name:ident),*) => { $(#[derive(Debug, Serialize, Deserialize)] struct $name {})* };
}
commands!(Plain, TooMany, OneIsInvalid, Regardless, Impatient, ImpatientNoOp, Grow);

#[derive(Debug, Event, Serialize, Deserialize)]
struct Booked {}

/// Polls a reserve once, and drops it: a time limit that has passed.
async fn lose_patience(scope: &mut DecideScope<'_>) {
    let mut reserve = pin!(scope.reserve(SEATS, "slow"));
    std::future::poll_fn(|context| {
        let _no_answer = reserve.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
}

/// Releases a held key, then reserves it: kept (R11).
async fn keep(scope: &mut DecideScope<'_>) -> Result<Decision<Booking, OneIsInvalid>, DecideError> {
    scope.release(SEATS, "held");
    scope.reserve(SEATS, "held").await?.or_reject("TAKEN", "taken")?;
    Ok(Decision::event(Booked {}))
}

#[aggregate(context = "regressions", name = "booking")]
impl Booking {
    #[on_command(creates = "allowed")]
    fn plain(&self, _: Plain) -> Booked {
        Booked {}
    }

    /// Goes on with one key where a batch was too large.
    #[on_command(creates = "allowed", produces = [Booked])]
    async fn too_many(&self, _: TooMany, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        scope.reserve(SEATS, "first").await?.or_reject("TAKEN", "taken")?;
        let many: Vec<String> = (0..10_001).map(|number| format!("k{number}")).collect();
        assert!(scope.reserve_all(SEATS, &many).await.is_err(), "too many");
        scope.release(SEATS, "held");
        scope.reserve(SEATS, "held").await?.or_reject("TAKEN", "taken")?;
        Ok(Decision::event(Booked {}))
    }

    /// Goes on where a batch had a key that is none.
    #[on_command(creates = "allowed", produces = [Booked])]
    async fn one_is_invalid(&self, _: OneIsInvalid, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        for number in 0..20 {
            scope.reserve(SEATS, &format!("own-{number}")).await?.or_reject("TAKEN", "taken")?;
        }
        assert!(scope.reserve_all(SEATS, ["a", "", "b"]).await.is_err(), "blank");
        keep(scope).await
    }

    /// Goes on where the store failed.
    #[on_command(creates = "allowed", produces = [Booked])]
    async fn regardless(&self, _: Regardless, scope: &mut DecideScope<'_>) -> Decision {
        drop(scope.reserve(SEATS, "x").await);
        Decision::event(Booked {})
    }

    #[on_command(creates = "allowed", produces = [Booked])]
    async fn impatient(&self, _: Impatient, scope: &mut DecideScope<'_>) -> Decision {
        lose_patience(scope).await;
        Decision::event(Booked {})
    }

    #[on_command(creates = "allowed", produces = [Booked])]
    async fn impatient_no_op(&self, _: ImpatientNoOp, scope: &mut DecideScope<'_>) -> Decision {
        lose_patience(scope).await;
        Decision::no_op()
    }

    #[on_command(creates = "allowed", produces = [Booked])]
    async fn grow(&self, _: Grow, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        scope.reserve(GROWING, "k").await?.or_reject("TAKEN", "taken")?;
        Ok(Decision::event(Booked {}))
    }

    #[on_event]
    fn booked(&mut self, _: &Booked) {
        self.seats += 1;
    }
}

fn bookings(store: impl Store) -> DomainBuilder {
    let builder = Domain::builder().without_discovery().aggregate::<Booking>().namespace(SEATS).namespace(GROWING);
    builder.store(store).pause_between_attempts(false)
}

/// Gives `key` to the aggregate `holder`, which has no commit yet.
async fn hold(store: &MemoryStore, holder: &AggregateId<Booking>, key: &str) {
    let token = Token::from_u128(4_711);
    let key = SEATS.key_id(key, holder.stream()).expect("a key");
    let append = Append {
        stream: holder.stream().clone(),
        expected_version: 0,
        kind: CommitKind::Import,
        command: "import".into(),
        request: RequestKey::of_token(token),
        token,
        mark: 0,
        events: Vec::new(),
        keys: vec![KeyClaim { key, epoch: 1, key_use: KeyUse::Take }],
        metadata: None,
    };
    store.append(append).await.expect("imported");
}

/// A batch that is refused leaves the keys before it as they were: one of them, released and reserved again, is kept.
#[tokio::test]
async fn r11_the_last_call_wins_after_a_refused_batch() {
    let (store, a) = (MemoryStore::new(), id::<Booking>("a"));
    let domain = bookings(store.clone()).build().await.expect("built");
    hold(&store, &a, "held").await;
    domain.send(&a, OneIsInvalid {}).await.expect("a key that is none is the handler's matter");
    assert!(record(&store, SEATS, "held", &a).await.is_some_and(|record| record.is_confirmed()), "kept");
    assert!(record(&store, SEATS, "own-19", &a).await.is_some_and(|record| record.is_confirmed()), "taken");
    assert_eq!(record(&store, SEATS, "b", &a).await, None);
}

/// A handler that ignored a refused batch committed without its keys, and could lose one that it held.
#[tokio::test]
async fn r17_a_handler_that_ignores_too_many_keys_can_not_commit() {
    let (store, a) = (MemoryStore::new(), id::<Booking>("a"));
    let domain = bookings(store.clone()).build().await.expect("built");
    hold(&store, &a, "held").await;
    let sent = domain.send(&a, TooMany {}).await;
    assert!(matches!(&sent, Err(error) if error.code() == "INVALID_KEY"), "{sent:?}");
    assert!(
        record(&store, SEATS, "held", &a).await.is_some_and(|record| record.is_confirmed()),
        "nothing was released"
    );
    assert_eq!((record(&store, SEATS, "first", &a).await, record(&store, SEATS, "k0", &a).await), (None, None));
    assert_eq!(store.commits(0, 9).await.expect("the log").len(), 1);
}

/// A handler that ignores a store that failed can't commit.
#[tokio::test]
async fn r2_a_handler_that_ignores_a_failed_store_can_not_commit() {
    let store = FaultyStore::new(MemoryStore::new());
    let domain = bookings(store.clone()).build().await.expect("built");
    (1..=3).for_each(|time| store.fail(Call::Reserve, time, Fault::FailBefore));
    let sent = domain.send(&id::<Booking>("a"), Regardless {}).await;
    assert!(matches!(&sent, Err(error) if error.is_retryable() && error.surely_not_written()), "{sent:?}");
    assert!(domain.commits(0, 9).await.expect("the log").is_empty());
    domain.send(&id::<Booking>("a"), Regardless {}).await.expect("the store is well again");
}

fn late(store: &MemoryStore) -> Late {
    Late { inner: store.clone(), call: Call::Reserve, by: Duration::from_millis(20) }
}

/// A reserve that its handler dropped was neither confirmed nor given up by the commit that followed.
#[tokio::test(start_paused = true)]
async fn r5_a_handler_that_dropped_a_reserve_can_not_commit_and_leaves_no_lease() {
    let (store, a) = (MemoryStore::new(), id::<Booking>("a"));
    let domain = bookings(late(&store)).build().await.expect("built");
    let sent = domain.send(&a, Impatient {}).await;
    assert!(matches!(&sent, Err(error) if error.code() == "MISCONFIGURED"), "{sent:?}");
    domain.close().await.expect("drained");
    assert_eq!(record(&store, SEATS, "slow", &a).await, None);
    assert!(store.commits(0, 9).await.expect("the log").is_empty());
    drop(domain.send(&a, ImpatientNoOp {}).await);
    domain.close().await.expect("drained");
    assert_eq!(record(&store, SEATS, "slow", &a).await, None, "without a commit neither");
}

/// The same where the state was not the newest, so that the append would have been refused.
#[tokio::test(start_paused = true)]
async fn r5_a_dropped_reserve_leaves_no_lease_after_a_conflict() {
    let (store, a) = (MemoryStore::new(), id::<Booking>("a"));
    let here = bookings(late(&store)).attempts(1).build().await.expect("built");
    let there = bookings(store.clone()).build().await.expect("built");
    here.send(&a, Plain {}).await.expect("written");
    there.send(&a, Plain {}).await.expect("written");
    assert!(here.send(&a, Impatient {}).await.is_err(), "its warm state is behind");
    here.close().await.expect("drained");
    assert_eq!(record(&store, SEATS, "slow", &a).await, None);
    assert_eq!(store.commits(0, 9).await.expect("the log").len(), 2);
}

/// A key under a normaliser of one's own that is not idempotent could be held, and not be named any more.
#[tokio::test]
async fn r13_a_normaliser_that_is_not_idempotent_gives_an_invalid_key() {
    let (store, a) = (MemoryStore::new(), id::<Booking>("a"));
    let domain = bookings(store.clone()).build().await.expect("built");
    let sent = domain.send(&a, Grow {}).await;
    assert!(matches!(&sent, Err(error) if error.code() == "INVALID_KEY"), "{sent:?}");
    assert_eq!(GROWING.key("k").expect_err("not idempotent").namespace(), GROWING.name());
    assert!(!GROWING.same_key("k", "k"), "what is no key is not the same");
    assert!(store.commits(0, 9).await.expect("the log").is_empty());
}

/// Leases that end at once, or never, were taken: of a namespace's own, and of less than a millisecond.
#[tokio::test]
async fn r3_a_pending_time_is_between_a_millisecond_and_a_day_wherever_it_is_said() {
    let day = Duration::from_secs(24 * 3_600);
    let built = async |pending: Duration| {
        let builder = || Domain::builder().without_discovery().aggregate::<Booking>().store(MemoryStore::new());
        let of_the_domain = builder().namespace(SEATS).pending_for(pending).build().await;
        let of_a_namespace = builder().namespace(SEATS.pending_for(pending)).build().await;
        [of_the_domain.is_ok(), of_a_namespace.is_ok()]
    };
    for pending in [Duration::ZERO, Duration::from_micros(999), day + Duration::from_nanos(1), Duration::MAX] {
        assert_eq!(built(pending).await, [false, false], "{pending:?}");
    }
    for pending in [Duration::from_millis(1), Duration::from_secs(30), day] {
        assert_eq!(built(pending).await, [true, true], "{pending:?}");
    }
}

/// `Debug` of what goes into a store and comes out of it showed the fields of events, and metadata.
#[tokio::test]
async fn r19_debug_of_commits_shows_no_event_data_and_no_metadata() {
    const SECRET: &str = "ana@example.test";
    let store = MemoryStore::new();
    let domain = on(store.clone()).await;
    let a = scripted("a");
    for number in 1..=3 {
        let script = Script::take(&format!("{number} {SECRET}"));
        let sent = domain.send(&a, freehold_testkit::script::Ensure(script)).metadata("by", SECRET).await;
        sent.expect("written");
    }
    let other = domain.send(&scripted("b"), Create(Script::take("k"))).await.expect("created");
    assert!(format!("{other:?}").contains("Committed"));
    let log = domain.commits(0, 10).await.expect("the log");
    let commit = log[0].clone();
    let load = Load { stream: a.stream().clone(), after_version: 0, snapshot_of: Some(1) };
    let loaded = store.load(load).await.expect("loaded");
    let snapshot: Option<SnapshotRecord> = loaded.snapshot.clone();
    assert!(snapshot.as_ref().is_some_and(|snapshot| snapshot.state.get().contains(SECRET)), "a secret is there");
    let append = Append {
        stream: commit.stream.clone(),
        expected_version: 1,
        kind: commit.kind,
        command: commit.command.clone(),
        request: commit.request.clone(),
        token: commit.token,
        mark: 0,
        events: commit.events.clone(),
        keys: Vec::new(),
        metadata: commit.metadata.clone(),
    };
    let everything = [
        format!("{log:?} {log:#?}"),
        format!("{loaded:?} {loaded:#?}"),
        format!("{snapshot:?} {snapshot:#?}"),
        format!("{append:?} {append:#?}"),
        format!("{:?} {:#?}", commit.events, commit.events),
    ];
    for text in everything {
        assert!(!text.contains("ana@") && !text.contains("example.test"), "{text}");
    }
}
