//! Releasing (R10, R11, R4).

#![expect(clippy::missing_panics_doc, reason = "a case panics when the store does not conform")]

use super::Subject;
use super::actor::{Actor, assert_refused, pending_until, registered};
use freehold::reservation::Reserved;
use freehold::reservation::lifecycle::KeyUse::{Keep, Release, Take};
use freehold::store::Refusal;

/// R10, U33: a key is freed in the write of the events, for anyone.
pub async fn a_release_commits_with_the_events(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    a.take("old").await;
    let rename = a.again(1);
    assert_eq!(rename.reserve("new").await, Reserved::Newly);
    assert_eq!(b.reserve("old").await, Reserved::TakenHeld, "nothing is released before the append");
    Actor::wrote(&rename.append(&[("new", Take), ("old", Release)]).await);
    assert_eq!(rename.record("old").await, None);
    b.take("old").await;
    assert_eq!(b.again(1).reserve("new").await, Reserved::TakenHeld);
}

/// R10, R20, U29: releasing another's key, or none, does nothing, fails nothing, and the log does not say that it did.
pub async fn releasing_what_one_does_not_hold_frees_nobody(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    b.take("held").await;
    let pending = b.again(1);
    assert_eq!(pending.reserve("pending").await, Reserved::Newly);
    Actor::wrote(&a.append(&[("held", Release), ("pending", Release), ("never-seen", Release)]).await);
    assert!(a.load().await.commits[0].keys.is_empty(), "the commit records what it freed: nothing");
    assert!(b.holds("held").await);
    pending_until(Actor::new(subject, "c").reserve("pending").await);
    Actor::wrote(&pending.append(&[("pending", Take)]).await);
    // Another attempt's lease of the same aggregate is not this one's to drop (R3).
    let (one, other) = (Actor::new(subject, "d"), Actor::new(subject, "d"));
    assert_eq!(one.reserve("shared").await, Reserved::Newly);
    assert_eq!(other.reserve("shared").await, Reserved::Newly);
    Actor::wrote(&one.append(&[("shared", Release)]).await);
    pending_until(a.again(1).reserve("shared").await);
}

/// R10: with no events written nothing is released.
pub async fn a_refused_append_releases_nothing(subject: &Subject) {
    registered(&**subject.store()).await;
    let a = Actor::new(subject, "a");
    a.take("k").await;
    assert_refused!(a.again(0).append(&[("k", Release)]).await, Refusal::Conflict);
    assert!(a.holds("k").await);
    assert_refused!(a.again(1).append(&[("k", Release), ("other", Keep)]).await, Refusal::KeyLost);
    assert!(a.holds("k").await);
}

/// R4, R11: what a decision reserved and then released is not held afterwards, and not pending either.
pub async fn reserved_and_released_in_one_decision_is_free(subject: &Subject) {
    registered(&**subject.store()).await;
    let a = Actor::new(subject, "a");
    assert_eq!(a.reserve("k").await, Reserved::Newly);
    Actor::wrote(&a.append(&[("k", Release)]).await);
    assert_eq!(a.record("k").await, None);
}

/// U33, U34: renaming to and fro leaves exactly one record, and frees each name for anyone.
pub async fn renaming_away_and_back_leaves_one_record(subject: &Subject) {
    registered(&**subject.store()).await;
    let a = Actor::new(subject, "a");
    a.take("name-0").await;
    for version in 1..=100 {
        let (old, new) = if version % 2 == 1 { ("name-0", "name-1") } else { ("name-1", "name-0") };
        let rename = a.again(version);
        assert_eq!(rename.reserve(new).await, Reserved::Newly, "at version {version}");
        Actor::wrote(&rename.append(&[(new, Take), (old, Release)]).await);
    }
    assert_eq!(subject.store().held_by(a.stream.clone()).await.expect("read"), [a.key("name-0")]);
    Actor::new(subject, "b").take("name-1").await;
}
