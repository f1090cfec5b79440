//! Expiry, and what never expires (R3, R7). Nothing sleeps: the store's clock is moved.

#![expect(clippy::missing_panics_doc, reason = "a case panics when the store does not conform")]

use super::Subject;
use super::actor::{Actor, PENDING_MS, pending_until, registered};
use freehold::reservation::Reserved;
use freehold::reservation::lifecycle::KeyUse::Take;
use std::time::Duration;

const YEAR: Duration = Duration::from_secs(365 * 24 * 3_600);

/// R7: one millisecond before its end a lease stands; at its end it has ended.
pub async fn a_lease_has_ended_at_the_very_instant(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    assert_eq!(a.reserve("k").await, Reserved::Newly);
    subject.advance(Duration::from_millis(PENDING_MS - 1));
    pending_until(b.reserve("k").await);
    subject.advance(Duration::from_millis(1));
    assert_eq!(b.reserve("k").await, Reserved::Newly);
}

/// R7, U11, U16: an expired key is free at once, for its former claimant as well, whether swept or not.
pub async fn an_expired_key_is_free_without_a_sweep(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    for key in ["k", "l"] {
        assert_eq!(a.reserve(key).await, Reserved::Newly);
    }
    pending_until(b.reserve("k").await);
    assert_eq!(a.again(0).reserve("l").await, Reserved::Newly, "the same aggregate may try again at once");
    subject.advance(Duration::from_millis(PENDING_MS));
    b.take("k").await;
    a.again(0).take("l").await;
    assert_eq!(a.load().await.commits.len(), 1);
}

/// U08: a claimant whose lease has expired gives up, and the next one's claim stands.
pub async fn a_late_holder_leaves_the_next_ones_claim_alone(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b, c) = (Actor::new(subject, "a"), Actor::new(subject, "b"), Actor::new(subject, "c"));
    assert_eq!(a.reserve("k").await, Reserved::Newly);
    subject.advance(Duration::from_secs(31));
    assert_eq!(b.reserve("k").await, Reserved::Newly);
    subject.advance(Duration::from_secs(1));
    a.give_up("k").await;
    pending_until(c.reserve("k").await);
    Actor::wrote(&b.append(&[("k", Take)]).await);
    assert!(b.holds("k").await);
}

/// R7, U13: a sweep takes what is pending and expired at that moment, and nothing else.
pub async fn a_sweep_takes_expired_leases_only(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    for key in ["confirmed-late", "renewed", "expired"] {
        assert_eq!(a.reserve(key).await, Reserved::Newly);
    }
    subject.advance(Duration::from_millis(PENDING_MS));
    Actor::wrote(&a.append(&[("confirmed-late", Take)]).await);
    assert_eq!(b.reserve("renewed").await, Reserved::Newly);
    assert_eq!(subject.store().sweep().await.expect("a sweep"), 1);
    assert_eq!(subject.store().sweep().await.expect("a sweep"), 0);
    assert_eq!(a.record("expired").await, None);
    assert!(a.holds("confirmed-late").await);
    pending_until(Actor::new(subject, "c").reserve("renewed").await);
}

/// R4, U18: confirming ends the expiry; no time and no sweep takes a confirmed key.
pub async fn a_confirmed_key_never_expires(subject: &Subject) {
    registered(&**subject.store()).await;
    let a = Actor::new(subject, "a");
    a.take("k").await;
    assert_eq!(a.record("k").await.expect("a record").expires_at(), None);
    for _ in 0..10 {
        subject.advance(YEAR);
        subject.store().sweep().await.expect("a sweep");
    }
    let store = subject.reopened().await;
    let b = Actor::of(&store, super::actor::stream("b"));
    assert_eq!(b.reserve("k").await, Reserved::TakenHeld);
    assert!(a.holds("k").await);
}

/// U15: a lease of any length is taken; the longest are for ever.
pub async fn forever_does_not_overflow(subject: &Subject) {
    registered(&**subject.store()).await;
    for (number, pending_ms) in [i64::MAX.unsigned_abs(), u64::MAX, u64::MAX / 2].into_iter().enumerate() {
        let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
        let a = Actor { pending_ms, ..a };
        let key = format!("k-{number}");
        assert_eq!(a.reserve(&key).await, Reserved::Newly);
        subject.advance(YEAR);
        pending_until(b.reserve(&key).await);
    }
    let now = Actor { pending_ms: 0, ..Actor::new(subject, "a") };
    assert_eq!(now.reserve("at-once").await, Reserved::Newly);
    assert_eq!(Actor::new(subject, "b").reserve("at-once").await, Reserved::Newly, "a lease of no time has ended");
}

/// R3, R7: a record of which one lease has expired and another stands is left by a sweep, and stays the other's.
pub async fn a_sweep_leaves_what_one_attempt_still_claims(subject: &Subject) {
    registered(&**subject.store()).await;
    let (first, c) = (Actor::new(subject, "a"), Actor::new(subject, "c"));
    let second = Actor { pending_ms: 2 * PENDING_MS, ..first.again(0) };
    assert_eq!(first.reserve("k").await, Reserved::Newly);
    assert_eq!(second.reserve("k").await, Reserved::Newly);
    subject.advance(Duration::from_millis(PENDING_MS));
    assert_eq!(subject.store().sweep().await.expect("a sweep"), 0);
    pending_until(c.reserve("k").await);
    Actor::wrote(&second.append(&[("k", Take)]).await);
    assert!(second.holds("k").await);
    // The shorter lease may have come later, too.
    let (first, third) = (Actor { pending_ms: 2 * PENDING_MS, ..Actor::new(subject, "d") }, Actor::new(subject, "d"));
    assert_eq!(first.reserve("l").await, Reserved::Newly);
    assert_eq!(third.reserve("l").await, Reserved::Newly);
    subject.advance(Duration::from_millis(PENDING_MS));
    assert_eq!(subject.store().sweep().await.expect("a sweep"), 0);
    pending_until(c.reserve("l").await);
    subject.advance(Duration::from_millis(PENDING_MS));
    assert_eq!(subject.store().sweep().await.expect("a sweep"), 1, "when the last has expired it is swept");
}
