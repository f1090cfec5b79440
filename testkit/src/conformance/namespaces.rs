//! Namespaces as the store records them: definitions, epochs, rekeying (R12, R13, R20).

#![expect(clippy::missing_panics_doc, reason = "a case panics when the store does not conform")]

use super::Subject;
use super::actor::{
    Actor, CONTEXT, NAMESPACE, PENDING_MS, SYSTEM_NAMESPACE, assert_refused, fresh_token, is_conflict, namespace,
    pending_until, registered, stream,
};
use super::append::{replayed, under_request};
use freehold::reservation::lifecycle::KeyUse::{Keep, Release, Take};
use freehold::reservation::{KeyId, Record, Reserved};
use freehold::store::{
    AppendReply, CommitKind, NamespaceRecord, Refusal, Registered, Rekey, RekeyNamespace, RekeyReply, Settled,
};
use freehold::{Normalizer, StoreErrorKind, TRIM_LOWERCASE, Tenancy, Text};
use std::sync::Arc;
use std::time::Duration;

fn lowercase() -> NamespaceRecord {
    NamespaceRecord { normalizer: TRIM_LOWERCASE.to_string().into(), ..namespace(CONTEXT, NAMESPACE, Tenancy::Tenant) }
}

fn rekey(normalizer: Normalizer) -> Rekey {
    let normalizer_name = normalizer.to_string().into();
    let change = RekeyNamespace {
        namespace: NamespaceRecord { normalizer: normalizer_name, ..lowercase() },
        normalizer,
        command: Text::from_static("$rekey"),
    };
    Rekey { namespaces: vec![change], tokens: Arc::new(fresh_token) }
}

/// Rekeys the tenants' namespace, in which nothing collides.
async fn rekeyed(subject: &Subject) {
    let reply = subject.store().rekey(rekey(TRIM_LOWERCASE)).await.expect("rekeyed");
    assert!(matches!(reply, RekeyReply::Done { .. }), "{reply:?}");
}

/// A key of the namespace that is not rekeyed.
fn system_key(actor: &Actor, key: &str) -> KeyId {
    KeyId { namespace: Text::from_static(SYSTEM_NAMESPACE), scope: Text::from_static(""), ..actor.key(key) }
}

/// R13: a definition is recorded once; another one under the name is refused, with what is recorded, and records nothing.
pub async fn a_definition_is_recorded_once(subject: &Subject) {
    let store = subject.store();
    registered(&**store).await;
    registered(&**store).await;
    let fresh = namespace("third", NAMESPACE, Tenancy::Tenant);
    for differs in [lowercase(), namespace(CONTEXT, NAMESPACE, Tenancy::System)] {
        let answers = store.register(vec![fresh.clone(), differs]).await.expect("answered");
        let recorded = namespace(CONTEXT, NAMESPACE, Tenancy::Tenant);
        assert_eq!(answers[1], Registered::Differs { recorded });
    }
    let other = NamespaceRecord { tenancy: Tenancy::System, ..fresh };
    let answers = store.register(vec![other]).await.expect("answered");
    assert_eq!(answers, [Registered::AsGiven { epoch: 1 }], "the refused call had recorded nothing");
}

/// R13: a process that was built before a rekey can neither reserve nor append in the namespace.
pub async fn a_stale_epoch_is_refused(subject: &Subject) {
    registered(&**subject.store()).await;
    let (stale, before) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    assert_eq!(before.reserve("k").await, Reserved::Newly);
    let RekeyReply::Done { .. } = subject.store().rekey(rekey(TRIM_LOWERCASE)).await.expect("rekeyed") else {
        panic!("nothing collides")
    };
    let error = stale.store.reserve(stale.reserve_call(vec![stale.key("x")])).await.expect_err("a stale epoch");
    assert_eq!((error.kind(), error.surely_not_done()), (StoreErrorKind::NamespaceChanged, true));
    let append = before.append_call(vec![(before.key("k"), Take)]);
    let error = before.store.append(append).await.expect_err("a stale epoch");
    assert_eq!((error.kind(), error.surely_not_done()), (StoreErrorKind::NamespaceChanged, true));
    assert!(before.load().await.commits.is_empty());
    assert!(!error.to_string().contains("\"k\""), "no key's text (R19): {error}");
    let unknown = Actor { epoch: 2, ..Actor::new(subject, "c") };
    let mut key = unknown.key("k");
    key.namespace = "nobody.registered".into();
    let error = unknown.store.reserve(unknown.reserve_call(vec![key])).await.expect_err("not registered");
    assert_eq!(error.kind(), StoreErrorKind::NamespaceChanged);
    let current = Actor { epoch: 2, ..Actor::new(subject, "d") };
    current.take("k").await;
}

/// R13, R20: each key gets its new form by a commit on its holder's stream, which a later command builds on.
pub async fn a_rekey_moves_keys_by_commits(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    a.take("Contoso ").await;
    let second = a.again(1);
    second.take("CONTOSO").await;
    b.take("fabrikam").await;
    let reply = subject.store().rekey(rekey(TRIM_LOWERCASE)).await.expect("rekeyed");
    assert!(matches!(reply, RekeyReply::Done { moved: 2 }), "{reply:?}");
    let answers = subject.store().register(vec![lowercase()]).await.expect("answered");
    assert_eq!(answers, [Registered::AsGiven { epoch: 2 }]);
    assert_eq!(subject.store().held_by(a.stream.clone()).await.expect("read"), [a.key("contoso")]);
    assert_eq!(a.record("Contoso ").await, None);
    let commits = a.load().await.commits;
    let last = commits.last().expect("a commit");
    assert_eq!((last.kind, last.version, last.events.len()), (CommitKind::Rekey, 3, 0));
    assert_eq!(last.keys.iter().filter(|change| change.taken).count(), 1, "two forms became one");
    assert_eq!(b.load().await.commits.len(), 1, "a key that keeps its form needs no commit");
    let other = Actor { epoch: 2, ..Actor::new(subject, "c") };
    assert_eq!(other.reserve("contoso").await, Reserved::TakenHeld);
    let next = Actor { epoch: 2, ..a.again(3) };
    assert_eq!(next.reserve("contoso").await, Reserved::AlreadyHeld);
    assert_refused!(Actor { epoch: 2, ..a.again(2) }.append(&[]).await, Refusal::Conflict);
    let reply = next.append(&[]).await;
    assert!(matches!(reply, AppendReply::Written(_)), "{reply:?}");
}

/// R13: where two holders' keys would be one, or a key none, nothing changes, and both holders are named.
pub async fn a_rekey_that_collides_changes_nothing(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    a.take("Contoso").await;
    b.take("contoso").await;
    b.again(1).take(" ").await;
    let before: Vec<Option<Record>> = vec![a.record("Contoso").await, b.record("contoso").await, b.record(" ").await];
    let reply = subject.store().rekey(rekey(TRIM_LOWERCASE)).await.expect("answered");
    let RekeyReply::Collides(collisions) = reply else { panic!("expected a collision, got {reply:?}") };
    assert_eq!(collisions.len(), 2);
    let pair = collisions.iter().find(|collision| collision.other.is_some()).expect("the pair");
    let mut holders = vec![pair.holder.clone(), pair.other.clone().expect("the other")];
    holders.sort();
    assert_eq!(holders, [a.stream.clone(), b.stream.clone()]);
    assert_eq!([a.record("Contoso").await, b.record("contoso").await, b.record(" ").await], *before);
    registered(&**subject.store()).await;
    a.again(1).take("still-epoch-1").await;
}

/// R13: an append is refused for the epoch of any of its keys, whichever comes first and whatever becomes of it.
pub async fn every_key_of_an_append_has_its_epoch_checked(subject: &Subject) {
    registered(&**subject.store()).await;
    let a = Actor::new(subject, "a");
    a.take("held").await;
    rekeyed(subject).await;
    let system = system_key(&a, "s");
    for key_use in [Take, Keep, Release] {
        let stale = (a.key("held"), key_use);
        for claims in
            [vec![stale.clone()], vec![(system.clone(), Take), stale.clone()], vec![stale, (system.clone(), Take)]]
        {
            let attempt = a.again(1);
            let error = attempt.store.append(attempt.append_call(claims)).await.expect_err("a stale epoch");
            assert_eq!((error.kind(), error.surely_not_done()), (StoreErrorKind::NamespaceChanged, true));
        }
    }
    assert!(a.holds("held").await, "nothing was released");
    assert_eq!(a.load().await.commits.len(), 1);
    // In a namespace that was not rekeyed the old epoch is the current one.
    let attempt = a.again(1);
    Actor::wrote(&attempt.store.append(attempt.append_call(vec![(system, Take)])).await.expect("answered"));
}

/// R7, R13: who reads a key learns by which epoch and at which moment of the store's, of one that nobody has as well.
pub async fn a_reading_carries_epoch_and_the_stores_present(subject: &Subject) {
    registered(&**subject.store()).await;
    let a = Actor::new(subject, "a");
    let reserved = a.store.reserve(a.reserve_call(vec![a.key("k")])).await.expect("answered");
    let reading = a.reading("k").await;
    assert!(reading.record.is_some() && reading.epoch == Some(1), "{reading:?}");
    assert!(reading.now >= reserved.now, "{} after {}", reading.now, reserved.now);
    subject.advance(Duration::from_millis(PENDING_MS));
    let later = a.reading("k").await;
    assert!(later.now >= reading.now + Duration::from_millis(PENDING_MS), "{} after {}", later.now, reading.now);
    assert!(later.record.is_none_or(|record| !record.is_live(later.now)), "its lease has ended by then");
    let nobodys = a.reading("nobodys").await;
    assert!(nobodys.record.is_none() && nobodys.epoch == Some(1) && nobodys.now >= later.now, "{nobodys:?}");
    rekeyed(subject).await;
    assert_eq!(a.reading("k").await.epoch, Some(2));
    let read = async |key: KeyId| subject.store().reservation(key).await.expect("read").epoch;
    assert_eq!(read(system_key(&a, "k")).await, Some(1), "that namespace was not rekeyed");
    assert_eq!(read(KeyId { namespace: "nobody.registered".into(), ..a.key("k") }).await, None);
}

/// R5, R13: an append that is refused for its namespace has given its leases up, in the other namespaces too.
pub async fn an_append_refused_for_its_namespace_gives_up(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    let system = system_key(&a, "s");
    assert_eq!(a.reserve_ids(vec![system.clone(), a.key("k")]).await, [Reserved::Newly, Reserved::Newly]);
    rekeyed(subject).await;
    let append = a.append_call(vec![(system.clone(), Take), (a.key("k"), Take)]);
    let error = a.store.append(append).await.expect_err("a stale epoch");
    assert_eq!(error.kind(), StoreErrorKind::NamespaceChanged);
    assert_eq!(subject.store().reservation(system.clone()).await.expect("read").record, None, "the lease is gone");
    assert_eq!(a.record("k").await, None);
    assert_eq!(b.reserve_ids(vec![system]).await, [Reserved::Newly]);
}

/// R13: two processes that rekey alike do it once: the second finds it done, and locks nobody out.
pub async fn a_rekey_that_was_done_already_changes_nothing(subject: &Subject) {
    registered(&**subject.store()).await;
    let a = Actor::new(subject, "a");
    a.take("Contoso").await;
    rekeyed(subject).await;
    let current = Actor { epoch: 2, ..a.again(2) };
    let other = Actor { epoch: 2, ..Actor::new(subject, "b") };
    assert_eq!(other.reserve("pending").await, Reserved::Newly);
    for _ in 0..2 {
        let reply = subject.store().rekey(rekey(TRIM_LOWERCASE)).await.expect("answered");
        assert!(matches!(reply, RekeyReply::Done { moved: 0 }), "{reply:?}");
    }
    let answers = subject.store().register(vec![lowercase()]).await.expect("answered");
    assert_eq!(answers, [Registered::AsGiven { epoch: 2 }], "the epoch is the first rekey's");
    assert_eq!(a.load().await.commits.len(), 2, "one commit for the one key that moved");
    pending_until(Actor { epoch: 2, ..Actor::new(subject, "c") }.reserve("pending").await);
    assert_eq!(current.reserve("contoso").await, Reserved::AlreadyHeld);
    Actor::wrote(&other.append(&[("pending", Take)]).await);
}

/// R9, C4, C1, R13, R8: of several reasons an append is told the first: fence, request, version, namespaces, keys.
pub async fn an_append_is_told_the_first_of_its_reasons(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, holder) = (Actor::new(subject, "a"), Actor::new(subject, "holder"));
    let first = Actor::wrote(&a.store.append(under_request(&a, "r")).await.expect("answered"));
    let lost = system_key(&holder, "lost");
    assert_eq!(holder.reserve_ids(vec![lost.clone()]).await, [Reserved::Newly]);
    Actor::wrote(&holder.store.append(holder.append_call(vec![(lost.clone(), Take)])).await.expect("answered"));
    rekeyed(subject).await;
    let stale = a.key("stale");
    let reasons = |actor: &Actor, keys: &[&KeyId]| {
        let mut append = actor.append_call(keys.iter().map(|key| (KeyId::clone(key), Take)).collect());
        append.request = under_request(actor, "r").request;
        append
    };
    let fenced = a.again(5);
    assert!(matches!(fenced.settle(&[]).await, Settled::NotWritten));
    assert_refused!(
        fenced.store.append(reasons(&fenced, &[&lost, &stale])).await.expect("answered"),
        Refusal::Fenced { mark: 0 }
    );
    let replay = a.again(5);
    let reply = replay.store.append(reasons(&replay, &[&lost, &stale])).await.expect("answered");
    assert_eq!(replayed(reply), Some(first.position));
    let keys = |keys: &[&KeyId]| keys.iter().map(|key| (KeyId::clone(key), Take)).collect::<Vec<_>>();
    let conflict = a.again(5);
    let reply = conflict.store.append(conflict.append_call(keys(&[&lost, &stale]))).await.expect("answered");
    assert!(is_conflict(&reply), "{reply:?}");
    for order in [[&lost, &stale], [&stale, &lost]] {
        let attempt = a.again(1);
        let error = attempt.store.append(attempt.append_call(keys(&order))).await.expect_err("a stale epoch");
        assert_eq!(error.kind(), StoreErrorKind::NamespaceChanged);
    }
    let attempt = a.again(1);
    assert_refused!(
        attempt.store.append(attempt.append_call(keys(&[&lost]))).await.expect("answered"),
        Refusal::KeyLost
    );
}

/// R13: namespaces that are rekeyed together are so in one write: where one collides, none is changed.
pub async fn several_are_rekeyed_together_or_not_at_all(subject: &Subject) {
    registered(&**subject.store()).await;
    let mut elsewhere = stream("e");
    elsewhere.aggregate.context = "elsewhere".into();
    let elsewhere = Actor::of(subject.store(), elsewhere);
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    elsewhere.take("E").await;
    a.take("K").await;
    b.take("k").await;
    let both = || {
        let mut both = rekey(TRIM_LOWERCASE);
        let mut other = both.namespaces[0].clone();
        other.namespace.context = "elsewhere".into();
        both.namespaces.insert(0, other);
        both
    };
    let reply = subject.store().rekey(both()).await.expect("answered");
    let RekeyReply::Collides(collisions) = reply else { panic!("expected a collision, got {reply:?}") };
    assert_eq!(collisions.len(), 1);
    registered(&**subject.store()).await;
    assert!(elsewhere.holds("E").await, "the other context's key has its old form");
    assert_eq!(subject.store().commits(0, 10).await.expect("the log").len(), 3);
    elsewhere.again(1).take("still-epoch-1").await;
    // Without what stood in the way, both go.
    Actor::wrote(&b.again(1).append(&[("k", Release)]).await);
    let reply = subject.store().rekey(both()).await.expect("answered");
    assert!(matches!(reply, RekeyReply::Done { moved: 2 }), "{reply:?}");
    assert!(elsewhere.holds("e").await && a.holds("k").await);
    for actor in [elsewhere.again(3), a.again(2)] {
        let current = Actor { epoch: 2, ..actor };
        assert_eq!(current.reserve("next").await, Reserved::Newly);
    }
}
