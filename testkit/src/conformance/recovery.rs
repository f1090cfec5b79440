//! After trouble: settling, late appends, reopening, and the registry that the log implies (R9, R20, S4, S5).

#![expect(clippy::missing_panics_doc, reason = "a case panics when the store does not conform")]

use super::Subject;
use super::actor::{Actor, assert_refused, pending_until, registered};
use freehold::Text;
use freehold::reservation::lifecycle::KeyUse::{Keep, Release, Take};
use freehold::reservation::{KeyId, Reserved};
use freehold::store::{KeyChange, Refusal, Settled};
use std::collections::BTreeSet;

/// R9, U19: an append that landed and whose answer was lost is found.
pub async fn a_settled_append_that_landed_is_found(subject: &Subject) {
    registered(&**subject.store()).await;
    let a = Actor::new(subject, "a");
    let written = a.take("k").await;
    for _ in 0..2 {
        let settled = a.settle(&["k"]).await;
        assert!(matches!(settled, Settled::Written(found) if found == written), "{settled:?}");
    }
    assert!(a.holds("k").await);
    // Another attempt at the same version did not land.
    let loser = a.again(0);
    assert!(matches!(loser.settle(&[]).await, Settled::NotWritten));
    assert!(a.holds("k").await);
}

/// R9: an append that was settled as not written fails when it arrives after all, and its leases are given up.
pub async fn a_late_append_is_fenced(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    assert_eq!(a.reserve("k").await, Reserved::Newly);
    let late = a.append_call(vec![(a.key("k"), Take)]);
    assert!(matches!(a.settle(&["k"]).await, Settled::NotWritten));
    assert!(matches!(a.settle(&["k"]).await, Settled::NotWritten));
    assert_eq!(b.reserve("k").await, Reserved::Newly, "settling gave it up");
    assert_refused!(a.store.append(late.clone()).await.expect("answered"), Refusal::Fenced { mark: 0 });
    assert!(a.load().await.commits.is_empty());
    pending_until(a.again(0).reserve("k").await);
    Actor::wrote(&a.again(0).append(&[]).await);
    let store = subject.reopened().await;
    assert_refused!(store.append(late).await.expect("answered"), Refusal::Fenced { mark: 0 });
}

/// S4, S5: what was answered is there for another process: commits, held keys, live leases, namespaces, positions.
pub async fn everything_is_there_after_reopening(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    let first = a.take("held").await;
    assert_eq!(b.reserve("pending").await, Reserved::Newly);
    let store = subject.reopened().await;
    registered(&*store).await;
    let there = Actor::of(&store, a.stream.clone());
    assert!(there.holds("held").await);
    assert_eq!(there.load().await.commits.len(), 1);
    let c = Actor::of(&store, super::actor::stream("c"));
    assert_eq!(c.reserve("held").await, Reserved::TakenHeld);
    pending_until(c.reserve("pending").await);
    // Both handles go on, and see each other.
    let second = Actor { expected_version: 1, ..there }.take("there").await;
    assert!(second.position > first.position);
    assert_eq!(Actor::new(subject, "d").reserve("there").await, Reserved::TakenHeld);
    Actor::wrote(&b.append(&[("pending", Take)]).await);
    assert_eq!(c.reserve("pending").await, Reserved::TakenHeld);
}

/// R20: replaying what the commits took and freed gives exactly the confirmed keys.
pub async fn held_keys_follow_from_the_log(subject: &Subject) {
    registered(&**subject.store()).await;
    let mut random = fastrand::Rng::with_seed(20);
    let mut versions = [0_u64; 4];
    for _ in 0..120 {
        let who = random.usize(..4);
        let actor = Actor::new(subject, &format!("holder-{who}")).again(versions[who]);
        let (take, release) = (format!("k-{}", random.u8(..12)), format!("k-{}", random.u8(..12)));
        let mut claims = Vec::new();
        if actor.reserve(&take).await == Reserved::Newly {
            claims.push((&*take, Take));
        }
        if take != release {
            claims.push((&*release, Release));
        }
        Actor::wrote(&actor.append(&claims).await);
        versions[who] += 1;
    }
    let mut held: BTreeSet<(Text, Text)> = BTreeSet::new();
    for commit in subject.store().commits(0, 1_000).await.expect("the log") {
        for change in &commit.keys {
            let entry = (change.key.clone(), commit.stream.id.clone());
            if change.taken {
                held.insert(entry)
            } else {
                held.remove(&entry)
            };
        }
    }
    let mut registry = BTreeSet::new();
    for who in 0..4 {
        let stream = super::actor::stream(&format!("holder-{who}"));
        for key in subject.store().held_by(stream.clone()).await.expect("read") {
            registry.insert((key.key, stream.id.clone()));
        }
    }
    assert_eq!(registry, held);
}

/// R20: a commit is read with the keys it took and those it freed, by its stream as by the log.
pub async fn a_stream_tells_the_keys_of_its_commits(subject: &Subject) {
    registered(&**subject.store()).await;
    let a = Actor::new(subject, "a");
    a.take("old").await;
    let rename = a.again(1);
    assert_eq!(rename.reserve("new").await, Reserved::Newly);
    assert_eq!(rename.reserve("dropped").await, Reserved::Newly);
    Actor::wrote(&rename.append(&[("new", Take), ("old", Release)]).await);
    rename.give_up("dropped").await;
    Actor::wrote(&a.again(2).append(&[("new", Keep)]).await);
    let change = |key: &str, taken| {
        let KeyId { key, namespace, scope, .. } = a.key(key);
        KeyChange { namespace, scope, key, taken }
    };
    let expected = [vec![change("old", true)], vec![change("new", true), change("old", false)], vec![]];
    let loaded: Vec<Vec<KeyChange>> = a.load().await.commits.iter().map(|commit| commit.keys.clone()).collect();
    assert_eq!(loaded, expected);
    let log = subject.store().commits(0, 10).await.expect("the log");
    assert_eq!(log.into_iter().map(|commit| commit.keys).collect::<Vec<_>>(), expected);
}
