//! Reserving, giving up, confirming and fencing (R1 to R5, R8, R17).

#![expect(clippy::missing_panics_doc, reason = "a case panics when the store does not conform")]

use super::Subject;
use super::actor::{Actor, PENDING_MS, assert_refused, pending_until, registered};
use freehold::reservation::lifecycle::KeyUse::{self, Keep, Take};
use freehold::reservation::{KeyId, RecordState, Reserved};
use freehold::store::{AppendReply, Refusal};
use std::time::Duration;

/// R1, R2, R3: the first gets the key, pending; the second is told so, and changes nothing.
pub async fn a_free_key_is_newly_reserved_and_a_second_claimant_told_pending(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    assert_eq!(a.reserve("k").await, Reserved::Newly);
    let before = a.record("k").await.expect("a pending record");
    let RecordState::Pending(leases) = &before.state else { panic!("not pending: {before:?}") };
    assert_eq!((leases.len(), leases[0].token, leases[0].request), (1, a.token, a.request));
    assert_eq!(pending_until(b.reserve("k").await), leases[0].expires_at);
    assert_eq!(a.record("k").await, Some(before));
}

/// R1, U01: a claim on a held key is refused, and the holder stays the holder.
pub async fn a_second_claimant_never_takes_a_held_key_over(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    let written = a.take("contoso").await;
    let held = a.record("contoso").await.expect("a record");
    assert_eq!(held.state, RecordState::Confirmed(written.position));
    assert_eq!(b.reserve("contoso").await, Reserved::TakenHeld);
    assert_refused!(b.append(&[("contoso", Take)]).await, Refusal::KeyLost);
    assert!(b.load().await.commits.is_empty());
    assert_eq!(a.record("contoso").await, Some(held));
    assert_eq!(a.again(1).reserve("contoso").await, Reserved::AlreadyHeld);
}

/// R5, U19: a reserve whose answer was lost is asked again, and is not taken by its own first try.
pub async fn asking_again_with_the_same_token_is_safe(subject: &Subject) {
    registered(&**subject.store()).await;
    let a = Actor::new(subject, "a");
    for _ in 0..3 {
        assert_eq!(a.reserve("k").await, Reserved::Newly);
    }
    let record = a.record("k").await.expect("a record");
    assert!(matches!(&record.state, RecordState::Pending(leases) if leases.len() == 1), "{record:?}");
    a.give_up("k").await;
    assert_eq!(a.record("k").await, None);
}

/// R3: each live attempt has a lease of its own; one giving up leaves the other protected.
pub async fn two_attempts_of_one_aggregate_have_one_key_pending(subject: &Subject) {
    registered(&**subject.store()).await;
    let (first, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    let second = first.again(0);
    assert_eq!(first.reserve("k").await, Reserved::Newly);
    assert_eq!(second.reserve("k").await, Reserved::Newly);
    first.give_up("k").await;
    pending_until(b.reserve("k").await);
    Actor::wrote(&second.append(&[("k", Take)]).await);
    assert!(second.holds("k").await);
    // The one that lost gives up nothing that is confirmed.
    let third = first.again(0);
    third.give_up("k").await;
    assert!(second.holds("k").await);
}

/// R5, U08: giving up takes the attempt's own lease and no other.
pub async fn giving_up_is_by_token_and_holder(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    assert_eq!(a.reserve("k").await, Reserved::Newly);
    b.give_up("k").await;
    a.again(0).give_up("k").await;
    Actor { token: a.token, ..b.clone() }.give_up("k").await;
    pending_until(b.reserve("k").await);
    a.give_up("k").await;
    a.give_up("k").await;
    assert_eq!(b.reserve("k").await, Reserved::Newly);
    a.give_up("k").await;
    pending_until(Actor::new(subject, "c").reserve("k").await);
}

/// R5, U23: what was held before an attempt stays held, however it ends.
pub async fn giving_up_never_frees_a_held_key(subject: &Subject) {
    registered(&**subject.store()).await;
    let a = Actor::new(subject, "a");
    a.take("k").await;
    for _ in 0..3 {
        let attempt = a.again(1);
        assert_eq!(attempt.reserve("k").await, Reserved::AlreadyHeld);
        attempt.give_up("k").await;
        assert_refused!(a.again(0).append(&[("k", Keep)]).await, Refusal::Conflict);
    }
    a.give_up("k").await;
    assert!(a.holds("k").await);
}

/// R1, U56: a call on many keys reserves those that are free, and refuses the others only.
pub async fn a_refused_claim_leaves_the_others_of_the_call(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    a.take("held").await;
    assert_eq!(a.again(1).reserve("pending").await, Reserved::Newly);
    let keys = ["free-1", "held", "free-2", "pending"].map(|key| b.key(key));
    let answers = b.reserve_ids(keys.to_vec()).await;
    assert_eq!((answers[0], answers[1], answers[2]), (Reserved::Newly, Reserved::TakenHeld, Reserved::Newly));
    pending_until(answers[3]);
    Actor::wrote(&b.append(&[("free-1", Take), ("free-2", Take)]).await);
    assert!(b.holds("free-1").await && b.holds("free-2").await && a.holds("held").await);
}

/// R17, U31: ten thousand keys in one decision are all confirmed, or all given up.
pub async fn ten_thousand_keys_in_one_decision(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    let keys: Vec<KeyId> = (0..10_000).map(|number| a.key(&format!("key-{number:05}"))).collect();
    assert!(a.reserve_ids(keys.clone()).await.iter().all(|answer| *answer == Reserved::Newly));
    a.give_up_ids(keys.clone()).await;
    assert_eq!(b.reserve("key-09999").await, Reserved::Newly);
    let again = a.again(0);
    let answers = again.reserve_ids(keys.clone()).await;
    assert!(answers[..9_999].iter().all(|answer| *answer == Reserved::Newly));
    pending_until(answers[9_999]);
    let claims: Vec<(KeyId, KeyUse)> = keys[..9_999].iter().map(|key| (key.clone(), Take)).collect();
    Actor::wrote(&again.store.append(again.append_call(claims)).await.expect("answered"));
    assert_eq!(again.store.held_by(again.stream.clone()).await.expect("read").len(), 9_999);
    Actor::wrote(&b.append(&[("key-09999", Take)]).await);
}

/// C4: a key pending under the very request that asks is told apart, so that it is waited for.
pub async fn a_pending_key_names_the_same_request(subject: &Subject) {
    registered(&**subject.store()).await;
    let a = Actor::new(subject, "a");
    assert_eq!(a.reserve("k").await, Reserved::Newly);
    let same = Actor { request: a.request, ..Actor::new(subject, "b") };
    let other = Actor::new(subject, "c");
    assert!(matches!(same.reserve("k").await, Reserved::TakenPending { same_request: true, .. }));
    assert!(matches!(other.reserve("k").await, Reserved::TakenPending { same_request: false, .. }));
}

/// R8: a key that is another's by now keeps the whole append from being written.
pub async fn an_append_is_fenced_by_every_key(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    assert_eq!(a.reserve("safe").await, Reserved::Newly);
    assert_eq!(a.reserve("lost").await, Reserved::Newly);
    subject.advance(Duration::from_secs(30));
    assert_eq!(b.reserve("lost").await, Reserved::Newly);
    assert_refused!(a.append(&[("safe", Take), ("lost", Take)]).await, Refusal::KeyLost);
    assert!(a.load().await.commits.is_empty());
    assert!(!a.holds("safe").await);
    Actor::wrote(&b.append(&[("lost", Take)]).await);
    // Confirmed by another, not only pending.
    let c = Actor::new(subject, "c");
    assert_refused!(c.append(&[("lost", Take)]).await, Refusal::KeyLost);
    assert!(b.holds("lost").await);
}

/// R8: a lease that expired, or was lost in a power cut, and that nobody took, is confirmed.
pub async fn an_expired_lease_that_nobody_took_is_confirmed(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    assert_eq!(a.reserve("k").await, Reserved::Newly);
    subject.advance(Duration::from_secs(3_600));
    Actor::wrote(&a.append(&[("k", Take)]).await);
    assert!(a.holds("k").await);
    // The record itself is gone: swept, or lost.
    assert_eq!(b.reserve("gone").await, Reserved::Newly);
    subject.advance(Duration::from_secs(3_600));
    subject.store().sweep().await.expect("a sweep");
    assert_eq!(b.record("gone").await, None);
    Actor::wrote(&b.append(&[("gone", Take)]).await);
    assert!(b.holds("gone").await);
    // Another's lease that has expired is nobody's.
    let (c, d) = (Actor::new(subject, "c"), Actor::new(subject, "d"));
    assert_eq!(c.reserve("both").await, Reserved::Newly);
    subject.advance(Duration::from_secs(30));
    assert_eq!(d.reserve("both").await, Reserved::Newly);
    subject.advance(Duration::from_secs(30));
    Actor::wrote(&c.append(&[("both", Take)]).await);
    assert_refused!(d.append(&[("both", Take)]).await, Refusal::KeyLost);
    assert!(c.holds("both").await);
}

/// R8: a key that was already held, and is no longer, fences as well.
pub async fn a_kept_key_that_is_gone_fences(subject: &Subject) {
    registered(&**subject.store()).await;
    let a = Actor::new(subject, "a");
    assert_refused!(a.append(&[("never", Keep)]).await, Refusal::KeyLost);
    a.take("k").await;
    let reply = a.again(1).append(&[("k", Keep)]).await;
    assert!(matches!(reply, AppendReply::Written(_)), "{reply:?}");
    assert!(a.holds("k").await);
}

/// R1: all keys of a call in one atomic write: one that is refused for its namespace keeps the others from being recorded.
pub async fn a_reserve_is_atomic(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    let unregistered = KeyId { namespace: "nobody.registered".into(), ..a.key("l") };
    for keys in [vec![a.key("k"), unregistered.clone(), a.key("m")], vec![unregistered.clone(), a.key("k")]] {
        let error = a.store.reserve(a.reserve_call(keys)).await.expect_err("a namespace is not registered");
        assert!(error.surely_not_done(), "{error:?}");
        assert_eq!((a.record("k").await, a.record("m").await), (None, None), "nothing of a refused call is there");
    }
    assert_eq!(b.reserve("k").await, Reserved::Newly);
}

/// C4: of several live attempts on a pending key, the one with the same request is found, whichever came first.
pub async fn the_same_request_is_found_among_all_leases(subject: &Subject) {
    registered(&**subject.store()).await;
    let first = Actor::new(subject, "a");
    let second = first.again(0);
    assert_eq!(first.reserve("k").await, Reserved::Newly);
    assert_eq!(second.reserve("k").await, Reserved::Newly);
    for request in [first.request, second.request] {
        let same = Actor { request, ..Actor::new(subject, "b") };
        let answer = same.reserve("k").await;
        assert!(matches!(answer, Reserved::TakenPending { same_request: true, .. }), "{answer:?}");
    }
    let answer = Actor::new(subject, "c").reserve("k").await;
    assert!(matches!(answer, Reserved::TakenPending { same_request: false, .. }), "{answer:?}");
    // An attempt that has given up says nothing any more.
    second.give_up("k").await;
    let late = Actor { request: second.request, ..Actor::new(subject, "b") };
    let answer = late.reserve("k").await;
    assert!(matches!(answer, Reserved::TakenPending { same_request: false, .. }), "{answer:?}");
}

/// R21, R7: the reply carries the store's own present, by which its leases end; who waits for one counts from there.
pub async fn a_reply_carries_the_stores_present(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    let reply = a.store.reserve(a.reserve_call(vec![a.key("k")])).await.expect("answered");
    let until = a.record("k").await.and_then(|record| record.expires_at()).expect("a pending record");
    assert_eq!(reply.now + Duration::from_millis(PENDING_MS), until);
    subject.advance(Duration::from_secs(10));
    let refused = b.store.reserve(b.reserve_call(vec![b.key("k")])).await.expect("answered");
    assert_eq!(pending_until(refused.answers[0]), until);
    assert!(refused.now >= reply.now + Duration::from_secs(10), "{} after {}", refused.now, reply.now);
    assert!(refused.now < until, "a lease that stands ends later than now");
}
