//! Within what a key is unique, and who is a holder (R12, U42, U44, U46).

#![expect(clippy::missing_panics_doc, reason = "a case panics when the store does not conform")]

use super::Subject;
use super::actor::{Actor, SYSTEM_NAMESPACE, key_of, registered};
use super::append::typed;
use freehold::reservation::lifecycle::KeyUse::{Release, Take};
use freehold::reservation::{KeyId, Reserved};
use freehold::{StreamId, Text};

fn system_key(holder: &StreamId, key: &str) -> KeyId {
    KeyId { namespace: Text::from_static(SYSTEM_NAMESPACE), scope: Text::from_static(""), ..key_of(holder, key) }
}

fn elsewhere(id: &str) -> StreamId {
    let mut stream = typed(id, "brand", "acme");
    stream.aggregate.context = "elsewhere".into();
    stream
}

/// R12, U42: each tenant and each context has its own keys; a release in one touches no other.
pub async fn tenants_and_contexts_are_apart(subject: &Subject) {
    registered(&**subject.store()).await;
    let streams = [typed("1", "brand", "acme"), typed("1", "brand", "umbrella"), elsewhere("1")];
    let [acme, umbrella, other] = streams.map(|stream| Actor::of(subject.store(), stream));
    for actor in [&acme, &umbrella, &other] {
        actor.take("contoso").await;
    }
    let second = Actor::of(subject.store(), typed("2", "brand", "acme"));
    assert_eq!(second.reserve("contoso").await, Reserved::TakenHeld);
    Actor::wrote(&acme.again(1).append(&[("contoso", Release)]).await);
    assert!(umbrella.holds("contoso").await && other.holds("contoso").await);
    second.take("contoso").await;
}

/// R12, U44: a system key is one for all tenants of its context, and never meets a tenant's.
pub async fn system_keys_are_one_per_context(subject: &Subject) {
    registered(&**subject.store()).await;
    let acme = Actor::of(subject.store(), typed("1", "brand", "acme"));
    let umbrella = Actor::of(subject.store(), typed("2", "brand", "umbrella"));
    let other = Actor::of(subject.store(), elsewhere("3"));
    let key = system_key(&acme.stream, "acme");
    assert_eq!(acme.reserve_ids(vec![key.clone()]).await, [Reserved::Newly]);
    Actor::wrote(&acme.store.append(acme.append_call(vec![(key.clone(), Take)])).await.expect("answered"));
    assert_eq!(umbrella.reserve_ids(vec![system_key(&umbrella.stream, "acme")]).await, [Reserved::TakenHeld]);
    assert_eq!(umbrella.reserve("acme").await, Reserved::Newly, "a tenant's key is another one");
    assert_eq!(other.reserve_ids(vec![system_key(&other.stream, "acme")]).await, [Reserved::Newly]);
    // Releasing the tenant's key of the same text has no effect on the system's.
    Actor::wrote(&acme.again(1).append(&[("acme", Release)]).await);
    assert_eq!(umbrella.reserve_ids(vec![key]).await, [Reserved::TakenHeld]);
}

/// U46: brand 1 is not category 1, nor brand 1 of another tenant; only the very same aggregate is its own.
pub async fn equal_ids_of_two_types_are_two_holders(subject: &Subject) {
    registered(&**subject.store()).await;
    let brand = Actor::of(subject.store(), typed("1", "brand", "acme"));
    let category = Actor::of(subject.store(), typed("1", "category", "acme"));
    brand.take("k").await;
    assert_eq!(category.reserve("k").await, Reserved::TakenHeld);
    Actor::wrote(&category.append(&[("k", Release)]).await);
    assert!(brand.holds("k").await);
    let key = system_key(&brand.stream, "k");
    let namesake = Actor::of(subject.store(), typed("1", "brand", "umbrella"));
    let brand = brand.again(1);
    assert_eq!(brand.reserve_ids(vec![key.clone()]).await, [Reserved::Newly]);
    assert!(!namesake.reserve_ids(vec![key.clone()]).await[0].is_ours());
    Actor::wrote(&brand.store.append(brand.append_call(vec![(key.clone(), Take)])).await.expect("answered"));
    assert_eq!(namesake.reserve_ids(vec![key]).await, [Reserved::TakenHeld]);
    // Parts are columns: they are never joined into one text that two could share (R14).
    let (left, right) = (typed("a", "b", "c"), typed("a b", "b", "c"));
    for stream in [left, right, typed("a", "b:c", "c"), typed("c", "b", "a")] {
        Actor::of(subject.store(), stream.clone()).take(&format!("{}-{}", stream.id, stream.aggregate.name)).await;
    }
}
