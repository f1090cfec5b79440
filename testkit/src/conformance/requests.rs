//! Request ids in the store: one commit each, told apart from conflicts (C4, S3).

#![expect(clippy::missing_panics_doc, reason = "a case panics when the store does not conform")]

use super::Subject;
use super::actor::{Actor, registered};
use super::append::{replayed, typed, under_request};
use freehold::reservation::Reserved;
use freehold::reservation::lifecycle::KeyUse;
use freehold::store::{Check, KeyClaim};
use freehold::{RequestId, StreamId};

/// C4: a second append under a request id is not written, whatever its stream, and is told the first commit.
pub async fn a_request_id_has_one_commit(subject: &Subject) {
    registered(&**subject.store()).await;
    let (one, other) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    let first = Actor::wrote(&one.store.append(under_request(&one, "r")).await.expect("answered"));
    assert_eq!(other.reserve("k").await, Reserved::Newly);
    let mut second = under_request(&other, "r");
    second.keys.push(KeyClaim { key: other.key("k"), epoch: 1, key_use: KeyUse::Take });
    let reply = other.store.append(second).await.expect("answered");
    assert_eq!(replayed(reply), Some(first.position));
    assert!(other.load().await.commits.is_empty());
    assert_eq!(other.record("k").await, None, "what the replay had reserved is given up (R5)");
}

/// C4, S3: the same append once more both conflicts and replays; it is told the replay.
pub async fn a_replay_comes_before_a_conflict(subject: &Subject) {
    registered(&**subject.store()).await;
    let actor = Actor::new(subject, "a");
    let first = Actor::wrote(&actor.store.append(under_request(&actor, "r")).await.expect("answered"));
    for version in [0, 1, 7] {
        let again = under_request(&actor.again(version), "r");
        assert_eq!(replayed(actor.store.append(again).await.expect("answered")), Some(first.position));
    }
}

/// C4: a request id is unique per aggregate type and tenant, and means nothing beyond.
pub async fn request_ids_are_per_type_and_tenant(subject: &Subject) {
    registered(&**subject.store()).await;
    for stream in [typed("a", "brand", "acme"), typed("a", "category", "acme"), typed("a", "brand", "umbrella")] {
        let actor = Actor::of(subject.store(), stream);
        Actor::wrote(&actor.store.append(under_request(&actor, "r")).await.expect("answered"));
    }
    let mut elsewhere = typed("a", "brand", "acme");
    elsewhere.aggregate.context = "elsewhere".into();
    let actor = Actor::of(subject.store(), elsewhere);
    Actor::wrote(&actor.store.append(under_request(&actor, "r")).await.expect("answered"));
}

/// C1, C4: a check answers version and first commit, and finds nothing where nothing is.
pub async fn a_check_finds_version_and_first_commit(subject: &Subject) {
    registered(&**subject.store()).await;
    let actor = Actor::new(subject, "a");
    let check = |stream: &StreamId, request: Option<&str>| {
        let request = request.map(|id| RequestId::new(id).expect("a request id"));
        let reply = subject.store().check(Check { stream: stream.clone(), request });
        async move {
            let checked = reply.await.expect("checked");
            (checked.version, checked.first.map(|first| (first.stream.id.to_string(), first.version)))
        }
    };
    assert_eq!(check(&actor.stream, Some("r")).await, (0, None));
    Actor::wrote(&actor.store.append(under_request(&actor, "r")).await.expect("answered"));
    Actor::wrote(&actor.again(1).append(&[]).await);
    let other = typed("b", "brand", "acme");
    assert_eq!(check(&actor.stream, None).await, (2, None));
    assert_eq!(check(&other, Some("r")).await, (0, Some(("a".into(), 1))));
    assert_eq!(check(&typed("a", "brand", "umbrella"), Some("r")).await, (0, None));
}

/// C4: a check looks under the aggregate's own type and tenant: the same id of another type is another request.
pub async fn a_check_is_per_type_and_tenant(subject: &Subject) {
    registered(&**subject.store()).await;
    let mut elsewhere = typed("a", "brand", "acme");
    elsewhere.aggregate.context = "elsewhere".into();
    let streams =
        [typed("a", "brand", "acme"), typed("a", "category", "acme"), typed("a", "brand", "umbrella"), elsewhere];
    let check = async |stream: &StreamId| {
        let request = Some(RequestId::new("r").expect("a request id"));
        let checked = subject.store().check(Check { stream: stream.clone(), request }).await.expect("checked");
        (checked.version, checked.first.map(|first| first.stream.clone()))
    };
    for (number, stream) in streams.iter().enumerate() {
        for later in &streams[number..] {
            assert_eq!(check(later).await, (0, None), "{later:?} has no request yet");
        }
        let actor = Actor::of(subject.store(), stream.clone());
        Actor::wrote(&actor.store.append(under_request(&actor, "r")).await.expect("answered"));
        assert_eq!(check(stream).await, (1, Some(stream.clone())));
    }
    for stream in &streams {
        assert_eq!(check(stream).await, (1, Some(stream.clone())), "each its own");
    }
}
