//! Namespaces as the store records them: definitions, epochs, rekeying (R12, R13, R20).

#![expect(clippy::missing_panics_doc, reason = "a case panics when the store does not conform")]

use super::Subject;
use super::actor::{Actor, CONTEXT, NAMESPACE, assert_refused, fresh_token, namespace, registered};
use freehold::reservation::lifecycle::KeyUse::Take;
use freehold::reservation::{Record, Reserved};
use freehold::store::{AppendReply, CommitKind, NamespaceRecord, Refusal, Registered, Rekey, RekeyReply};
use freehold::{Normalizer, StoreErrorKind, TRIM_LOWERCASE, Tenancy, Text};
use std::sync::Arc;

fn lowercase() -> NamespaceRecord {
    NamespaceRecord { normalizer: TRIM_LOWERCASE.to_string().into(), ..namespace(CONTEXT, NAMESPACE, Tenancy::Tenant) }
}

fn rekey(normalizer: Normalizer) -> Rekey {
    let normalizer_name = normalizer.to_string().into();
    Rekey {
        namespace: NamespaceRecord { normalizer: normalizer_name, ..lowercase() },
        normalizer,
        command: Text::from_static("$rekey"),
        tokens: Arc::new(fresh_token),
    }
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
