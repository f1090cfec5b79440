//! Request ids in the store: one commit each, told apart from conflicts (C4, S3).

#![expect(clippy::missing_panics_doc, reason = "a case panics when the store does not conform")]

use super::Subject;
use super::actor::{Actor, registered};
use super::append::{replayed, typed, under_request};
use freehold::reservation::Reserved;
use freehold::reservation::lifecycle::KeyUse;
use freehold::store::{Append, AppendReply, Check, Checked, KeyClaim, Refusal};
use freehold::{RequestId, Store, StreamId};

async fn check(store: &dyn Store, stream: &StreamId, request: Option<&str>) -> Checked {
    let request = request.map(|id| RequestId::new(id).expect("a request id"));
    store.check(Check { stream: stream.clone(), request }).await.expect("checked")
}

/// Looks for a request that has no commit: the mark that is left.
async fn marked(store: &dyn Store, stream: &StreamId, request: &str) -> u64 {
    let checked = check(store, stream, Some(request)).await;
    assert!(checked.first.is_none(), "{checked:?}");
    assert!(checked.mark > 0, "a check without commit leaves a mark: {checked:?}");
    checked.mark
}

/// The mark with which the append was refused as too late.
fn fence(reply: &AppendReply) -> Option<u64> {
    match reply {
        AppendReply::Refused(Refusal::Fenced { mark }) => Some(*mark),
        _ => None,
    }
}

/// An append under `request` whose sender knows of `mark`.
fn knowing(mark: u64, actor: &Actor, request: &str) -> Append {
    Append { mark, ..under_request(actor, request) }
}

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
    let found = async |stream: &StreamId, request: Option<&str>| {
        let checked = check(&**subject.store(), stream, request).await;
        (checked.version, checked.first.map(|first| (first.stream.id.to_string(), first.version)))
    };
    assert_eq!(found(&actor.stream, None).await, (0, None));
    let mark = marked(&*actor.store, &actor.stream, "r").await;
    Actor::wrote(&actor.store.append(knowing(mark, &actor, "r")).await.expect("answered"));
    Actor::wrote(&actor.again(1).append(&[]).await);
    let other = typed("b", "brand", "acme");
    assert_eq!(found(&actor.stream, None).await, (2, None));
    assert_eq!(found(&other, Some("r")).await, (0, Some(("a".into(), 1))));
    assert_eq!(found(&typed("a", "brand", "umbrella"), Some("r")).await, (0, None));
}

/// C4: a check looks under the aggregate's own type and tenant: the same id of another type is another request.
pub async fn a_check_is_per_type_and_tenant(subject: &Subject) {
    registered(&**subject.store()).await;
    let mut elsewhere = typed("a", "brand", "acme");
    elsewhere.aggregate.context = "elsewhere".into();
    let streams =
        [typed("a", "brand", "acme"), typed("a", "category", "acme"), typed("a", "brand", "umbrella"), elsewhere];
    let found = async |stream: &StreamId| {
        let checked = check(&**subject.store(), stream, Some("r")).await;
        (checked.version, checked.first.map(|first| first.stream.clone()))
    };
    for (number, stream) in streams.iter().enumerate() {
        for later in &streams[number..] {
            assert_eq!(found(later).await, (0, None), "{later:?} has no request yet");
        }
        let actor = Actor::of(subject.store(), stream.clone());
        let mark = marked(&*actor.store, stream, "r").await;
        Actor::wrote(&actor.store.append(knowing(mark, &actor, "r")).await.expect("answered"));
        assert_eq!(found(stream).await, (1, Some(stream.clone())));
    }
    for stream in &streams {
        assert_eq!(found(stream).await, (1, Some(stream.clone())), "each its own");
    }
}

/// C4, R5: whoever was told that a request has no commit is not proven wrong by an append of before: it is refused with
/// the mark, has written nothing and given up. An append that knows the mark is written.
pub async fn a_check_without_commit_keeps_late_appends_out(subject: &Subject) {
    registered(&**subject.store()).await;
    let actor = Actor::new(subject, "a");
    assert_eq!(actor.reserve("k").await, Reserved::Newly);
    let late = |mark| {
        let mut append = knowing(mark, &actor, "r");
        append.keys.push(KeyClaim { key: actor.key("k"), epoch: 1, key_use: KeyUse::Take });
        append
    };
    let mark = marked(&*actor.store, &actor.stream, "r").await;
    for known in [0, mark - 1] {
        assert_eq!(fence(&actor.store.append(late(known)).await.expect("answered")), Some(mark));
        assert!(actor.load().await.commits.is_empty());
        assert_eq!(actor.record("k").await, None, "what it had reserved is given up (R5)");
        assert_eq!(actor.reserve("k").await, Reserved::Newly);
    }
    Actor::wrote(&actor.store.append(late(mark)).await.expect("answered"));
    assert!(actor.holds("k").await);
}

/// C4: one answer after the other, each mark is higher than those before it, and keeps out who knows only those.
pub async fn each_mark_is_higher_than_those_before(subject: &Subject) {
    registered(&**subject.store()).await;
    let actor = Actor::new(subject, "a");
    let mut last = 0;
    for round in 0..4 {
        // At the same moment, and later.
        subject.advance(std::time::Duration::from_millis(round % 2));
        let mark = marked(&*actor.store, &actor.stream, "r").await;
        assert!(mark > last, "{mark} after {last}");
        assert_eq!(
            fence(&actor.store.append(knowing(last, &actor.again(0), "r")).await.expect("answered")),
            Some(mark)
        );
        last = mark;
    }
    Actor::wrote(&actor.store.append(knowing(last, &actor, "r")).await.expect("answered"));
}

/// C4: a mark is of one request, of one aggregate type and tenant, and whichever stream of theirs was asked about.
pub async fn marks_are_per_request_type_and_tenant(subject: &Subject) {
    registered(&**subject.store()).await;
    let mut elsewhere = typed("a", "brand", "acme");
    elsewhere.aggregate.context = "elsewhere".into();
    let others = [typed("a", "category", "acme"), typed("a", "brand", "umbrella"), elsewhere];
    let mark = marked(&**subject.store(), &typed("a", "brand", "acme"), "r").await;
    for stream in others {
        let actor = Actor::of(subject.store(), stream);
        Actor::wrote(&actor.store.append(under_request(&actor, "r")).await.expect("answered"));
    }
    let one = Actor::of(subject.store(), typed("a", "brand", "acme"));
    Actor::wrote(&one.store.append(under_request(&one, "another")).await.expect("answered"));
    for stream in [typed("a", "brand", "acme"), typed("b", "brand", "acme")] {
        let actor = Actor::of(subject.store(), stream);
        let late = knowing(0, &actor.again(1), "r");
        assert_eq!(fence(&actor.store.append(late).await.expect("answered")), Some(mark));
    }
}

/// C4: a check that finds the commit leaves nothing: an append of before is told the commit.
pub async fn a_check_that_finds_the_commit_leaves_no_mark(subject: &Subject) {
    registered(&**subject.store()).await;
    let actor = Actor::new(subject, "a");
    let first = Actor::wrote(&actor.store.append(under_request(&actor, "r")).await.expect("answered"));
    for _ in 0..2 {
        let checked = check(&*actor.store, &actor.stream, Some("r")).await;
        assert_eq!((checked.first.map(|first| first.position), checked.mark), (Some(first.position), 0));
    }
    let late = under_request(&actor.again(1), "r");
    assert_eq!(replayed(actor.store.append(late).await.expect("answered")), Some(first.position));
}

/// C4, S4: a mark is as durable as a commit: it is there for another process, and goes on rising there.
pub async fn a_mark_is_there_after_reopening(subject: &Subject) {
    registered(&**subject.store()).await;
    let actor = Actor::new(subject, "a");
    let mark = marked(&*actor.store, &actor.stream, "r").await;
    let store = subject.reopened().await;
    let late = knowing(0, &actor, "r");
    assert_eq!(fence(&store.append(late).await.expect("answered")), Some(mark));
    let next = marked(&*store, &actor.stream, "r").await;
    assert!(next > mark, "{next} after {mark}");
    let late = knowing(mark, &actor.again(0), "r");
    assert_eq!(fence(&actor.store.append(late).await.expect("answered")), Some(next));
    Actor::wrote(&actor.store.append(knowing(next, &actor.again(0), "r")).await.expect("answered"));
}

/// C1, C4: a check that asks for the version alone leaves no mark: nobody was told anything of a request.
pub async fn a_check_without_a_request_id_leaves_no_mark(subject: &Subject) {
    registered(&**subject.store()).await;
    let actor = Actor::new(subject, "a");
    for version in 0..3 {
        let checked = check(&*actor.store, &actor.stream, None).await;
        assert_eq!((checked.version, checked.mark), (version, 0));
        let next = actor.again(version);
        Actor::wrote(&actor.store.append(under_request(&next, &format!("r-{version}"))).await.expect("answered"));
    }
}
