//! Whose clock it is (R7): leases end by the server's time, however far the clocks of the processes are from it, and from
//! each other.

use crate::crowd::release;
use freehold::{AggregateId, Clock, Domain, Error, Outcome, Store, SystemClock, Timestamp};
use freehold_testkit::ManualClock;
use freehold_testkit::conformance::commands::{holds, scripted};
use freehold_testkit::script::{Change, Create, Ending, NAMES, Script, Scripted, Step};
use freehold_tests::postgres;
use std::sync::Arc;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);
/// How long leases last, by the server's clock.
const LEASE: Duration = Duration::from_secs(30);

async fn domain(store: &Arc<dyn Store>, now: Timestamp) -> Domain {
    let builder = Domain::builder().without_discovery().aggregate::<Scripted>().namespace(NAMES).pending_for(LEASE);
    let builder = builder.clock(Arc::new(ManualClock::at(now))).pending_wait(Duration::ZERO);
    builder.shared_store(Arc::clone(store)).build().await.expect("the domain is built")
}

async fn take(domain: &Domain, id: &AggregateId<Scripted>) -> Result<Outcome<Scripted>, Error> {
    domain.send(id, Create(Script::take("name"))).await
}

#[track_caller]
fn assert_pending(outcome: Result<Outcome<Scripted>, Error>) {
    let rejected = outcome.expect_err("the name is pending");
    assert!(rejected.rejection().is_some_and(freehold::Rejection::is_provisional), "{rejected:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run starts one"]
async fn leases_end_by_the_servers_clock_alone() {
    let now = SystemClock.now();
    for (claims, wants) in [(now + HOUR, now), (now, now + HOUR), (Timestamp::from_millis(0), now + HOUR)] {
        let subject = postgres().await;
        let (ahead, behind) = (domain(subject.store(), claims).await, domain(subject.store(), wants).await);
        let (first, second) = (scripted("first"), scripted("second"));
        let hangs = Create(Script::new([Step::Reserve("name".into()), Step::Hang], Ending::NoOp));
        let attempt = tokio::spawn(IntoFuture::into_future(ahead.send(&first, hangs)));
        while ahead.reservations().holder("scripted", NAMES, Some("acme"), "name").await.expect("read").is_none() {
            assert!(!attempt.is_finished());
        }
        assert_pending(take(&behind, &second).await);
        subject.advance(LEASE.saturating_sub(Duration::from_millis(1)));
        assert_pending(take(&behind, &second).await);
        subject.advance(Duration::from_millis(1));
        let taken = take(&behind, &second).await.expect("the lease has ended");
        let at = taken.committed().expect("a commit").at;
        assert!(at.saturating_since(now) < HOUR && now.saturating_since(at) < HOUR, "the server's time: {at:?}");
        attempt.abort();
        assert!(holds(&ahead, "second", NAMES, "name").await);
        ahead.send(&second, Change(release("name"))).await.expect("released");
        take(&ahead, &first).await.expect("and free for whoever asks");
    }
}
