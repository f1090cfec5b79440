//! Waiting for keys that others have pending: how long, and when not at all (R21).

use super::super::{builder, on};
use super::id;
use freehold::prelude::*;
use freehold::reservation::RequestHash;
use freehold::store::{Reserve, ReserveKey};
use freehold::{Clock, Error, MemoryStore, Sleep, Store, StoreReply, Timestamp, Token};
use freehold_testkit::ManualClock;
use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::{Create, Ending, NAMES, Script, Step};
use freehold_testkit::store::Call;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::Instant;

/// A deadline that passed while the command waited for a key turned its rejection into a timeout.
#[tokio::test(start_paused = true)]
async fn r21_a_deadline_within_the_wait_returns_the_provisional_rejection() {
    let domain = on(MemoryStore::new()).await;
    let hang = Script::new([Step::Reserve("k".into()), Step::Hang], Ending::NoOp);
    let mut first = Box::pin(IntoFuture::into_future(domain.send(&scripted("a"), Create(hang))));
    tokio::select! { biased; _ = &mut first => panic!("it hangs"), () = std::future::ready(()) => {} }
    let start = Instant::now();
    let sent = domain.send(&scripted("b"), Create(Script::take("k"))).deadline(Duration::from_millis(100)).await;
    assert!(matches!(&sent, Err(Error::Rejected(rejection)) if rejection.is_provisional()), "{sent:?}");
    assert!(start.elapsed() <= Duration::from_millis(110), "the deadline holds: {:?}", start.elapsed());
}

/// A clock on which sleeping takes no time but its own.
#[derive(Debug, Clone)]
struct Hasty(ManualClock);

impl Clock for Hasty {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        self.0.advance(duration);
        Box::pin(std::future::ready(()))
    }
}

/// A store each of whose calls takes a while, on the domain's clock.
#[derive(Debug, Clone)]
struct Sluggish {
    inner: MemoryStore,
    clock: ManualClock,
    takes: Duration,
}

impl Sluggish {
    fn around<T>(&self, _: Call, perform: impl FnOnce(&MemoryStore) -> StoreReply<T>) -> StoreReply<T> {
        self.clock.advance(self.takes);
        perform(&self.inner)
    }
}

freehold_testkit::store_around!(Sluggish);

/// Only what was slept counted as waiting, so that on a slow store a command waited many times its budget.
#[tokio::test]
async fn r21_the_budget_is_the_time_that_passes() {
    let clock = ManualClock::default();
    let inner = MemoryStore::new();
    let takes = Duration::from_millis(150);
    let store = Sluggish { inner: inner.clone(), clock: clock.clone(), takes };
    let domain = builder(store).clock(Arc::new(Hasty(clock.clone()))).build().await.expect("built");
    let dead = scripted("dead").stream().clone();
    let key = ReserveKey {
        key: NAMES.key_id("k", &dead).expect("a key"),
        epoch: 1,
        token: Token::from_u128(1),
        request: RequestHash(1),
        pending_ms: 3_600_000,
    };
    inner.reserve(Reserve { holder: dead, keys: vec![key] }).await.expect("reserved");
    let before = clock.now();
    let sent = domain.send(&scripted("b"), Create(Script::take("k"))).await;
    assert!(matches!(&sent, Err(Error::Rejected(rejection)) if rejection.is_provisional()), "{sent:?}");
    let waited = clock.now().saturating_since(before);
    // A second in all; what was under way when it was spent is not cut off.
    assert!((Duration::from_secs(1)..=Duration::from_millis(2_000)).contains(&waited), "{waited:?}");
}

const KEYS: Namespace = Namespace::new("regressions.nested");

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Outer {}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Inner {}

#[derive(Debug, Serialize, Deserialize)]
struct Grab {
    key: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Nest {
    key: String,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Grabbed {
    key: String,
}

/// How a handler gets at the domain that runs it.
trait Sender: Send + Sync {
    fn domain(&self) -> Domain;
}

struct Later(OnceLock<Domain>);

impl Sender for Later {
    fn domain(&self) -> Domain {
        self.0.get().expect("the domain is built").clone()
    }
}

#[aggregate(context = "regressions", name = "outer")]
impl Outer {
    #[on_command(creates = "allowed", produces = [Grabbed])]
    async fn nest(
        &self,
        command: Nest,
        sender: &dyn Sender,
        scope: &mut DecideScope<'_>,
    ) -> Result<Decision, DecideError> {
        scope.reserve(KEYS, &command.key).await?.or_reject("TAKEN", "taken")?;
        let inner = sender.domain().send(&id::<Inner>("inner"), Grab { key: command.key.clone() }).await;
        assert!(matches!(&inner, Err(Error::Rejected(rejection)) if rejection.is_provisional()), "{inner:?}");
        Ok(Decision::event(Grabbed { key: command.key }))
    }

    #[on_event]
    fn grabbed(&mut self, _: &Grabbed) {}
}

#[aggregate(context = "regressions", name = "inner")]
impl Inner {
    #[on_command(creates = "allowed", produces = [Grabbed])]
    async fn grab(&self, command: Grab, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        scope.reserve(KEYS, &command.key).await?.or_reject("TAKEN", "taken")?;
        Ok(Decision::event(Grabbed { key: command.key }))
    }

    #[on_event]
    fn grabbed(&mut self, _: &Grabbed) {}
}

/// A send from inside a handler waited its whole budget for a key that the handler itself had pending.
#[tokio::test(start_paused = true)]
async fn r21_a_nested_send_does_not_wait_for_its_own_caller() {
    let later = Arc::new(Later(OnceLock::new()));
    let sender: Arc<dyn Sender> = Arc::<Later>::clone(&later);
    let builder = Domain::builder().without_discovery().aggregate::<Outer>().aggregate::<Inner>().namespace(KEYS);
    let domain = builder.provide::<dyn Sender>(sender).store(MemoryStore::new()).build().await.expect("built");
    let _first = later.0.set(domain.clone());
    let start = Instant::now();
    domain.send(&id::<Outer>("o"), Nest { key: "k".into() }).await.expect("nested");
    assert!(start.elapsed() < Duration::from_millis(100), "it waited {:?} for its own caller", start.elapsed());
}
