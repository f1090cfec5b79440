//! Appends: versions, refusals, positions, snapshots (C1, S2, S3, S4).

#![expect(clippy::missing_panics_doc, reason = "a case panics when the store does not conform")]

use super::Subject;
use super::actor::{Actor, assert_refused, event, is_conflict, pending_until, registered, stream};
use freehold::reservation::Reserved;
use freehold::reservation::lifecycle::KeyUse;
use freehold::store::{Append, AppendReply, CommitKind, Load, Refusal, SnapshotRecord};
use freehold::{StreamId, Text};
use serde_json::value::RawValue;
use std::time::Duration;

/// S4, S7: what was written is read back, by stream and by position, character by character.
pub async fn a_commit_is_read_back_as_it_was_written(subject: &Subject) {
    registered(&**subject.store()).await;
    let actor = Actor::new(subject, "it's \"odd\" \u{1F980} %_");
    let metadata = RawValue::from_string(r#"{"by":"ana","note":"a\u0000b \\ '"}"#.into()).expect("JSON");
    let mut append = actor.append_call(Vec::new());
    append.metadata = Some(metadata.clone());
    append.events = vec![event("first"), event("'); drop table commits; --"), event("")];
    let written = Actor::wrote(&actor.store.append(append.clone()).await.expect("answered"));
    let loaded = actor.load().await;
    let [commit] = &*loaded.commits else { panic!("one commit, got {}", loaded.commits.len()) };
    assert_eq!((commit.version, commit.position, commit.at), (1, written.position, written.at));
    assert_eq!((&commit.stream, commit.kind, &*commit.command), (&actor.stream, CommitKind::Command, "Name"));
    assert_eq!((&commit.request, commit.token), (&append.request, append.token));
    assert_eq!(commit.events, append.events);
    assert_eq!(commit.metadata.as_deref().map(RawValue::get), Some(metadata.get()));
    let log = actor.store.commits(0, 10).await.expect("the log is read");
    assert_eq!(log.len(), 1);
    assert_eq!((log[0].position, &log[0].events), (written.position, &append.events));
}

/// S3, U03: one of two appends at one version is written, the other is told so.
pub async fn a_version_is_written_once(subject: &Subject) {
    registered(&**subject.store()).await;
    let first = Actor::new(subject, "a");
    let second = first.again(0);
    Actor::wrote(&first.append(&[]).await);
    assert_refused!(second.append(&[]).await, Refusal::Conflict);
    assert_eq!(first.load().await.commits.len(), 1);
    Actor::wrote(&first.again(1).append(&[]).await);
    assert_refused!(first.again(1).append(&[]).await, Refusal::Conflict);
    assert_eq!(first.load().await.commits.len(), 2);
}

/// C1: versions have no gaps; an append that expects more than there is conflicts too.
pub async fn an_append_ahead_of_the_stream_conflicts(subject: &Subject) {
    registered(&**subject.store()).await;
    let actor = Actor::new(subject, "a");
    for version in [1, 2, 1_000_000, u64::from(u32::MAX)] {
        assert_refused!(actor.again(version).append(&[]).await, Refusal::Conflict);
    }
    Actor::wrote(&actor.append(&[]).await);
    assert_refused!(actor.again(2).append(&[]).await, Refusal::Conflict);
    assert_eq!(actor.load().await.commits.len(), 1);
}

/// R5, S2: a refused append has written nothing, and has given up what its attempt had pending.
pub async fn a_refused_append_writes_nothing_and_gives_up(subject: &Subject) {
    registered(&**subject.store()).await;
    let first = Actor::new(subject, "a");
    Actor::wrote(&first.append(&[]).await);
    let late = first.again(0);
    assert_eq!(late.reserve("k").await, Reserved::Newly);
    assert_refused!(late.append(&[("k", KeyUse::Take)]).await, Refusal::Conflict);
    assert_eq!(late.record("k").await, None, "the lease is gone");
    assert_eq!(Actor::new(subject, "b").reserve("k").await, Reserved::Newly);
    assert_eq!(first.load().await.commits.len(), 1);
}

/// S2, S3: of many appends under way at once, those that conflict fail alone.
pub async fn one_conflict_fails_nobody_else(subject: &Subject) {
    registered(&**subject.store()).await;
    let taken = Actor::new(subject, "taken");
    Actor::wrote(&taken.append(&[]).await);
    let mut replies = Vec::new();
    for number in 0..96 {
        let actor = if number % 3 == 0 { taken.again(0) } else { Actor::new(subject, &format!("own-{number}")) };
        let key = format!("key-{number}");
        assert_eq!(actor.reserve(&key).await, Reserved::Newly);
        replies.push((actor, key, number));
    }
    // All are handed over before the first answer is awaited, so that a store may group them.
    let append = |(actor, key, number): (Actor, String, i32)| {
        let call = actor.append_call(vec![(actor.key(&key), KeyUse::Take)]);
        (actor.store.append(call), actor, key, number)
    };
    let replies: Vec<_> = replies.into_iter().map(append).collect();
    for (reply, actor, key, number) in replies {
        let reply = reply.await.expect("an append is answered");
        if number % 3 == 0 {
            assert!(is_conflict(&reply), "number {number}: {reply:?}");
            assert_eq!(actor.record(&key).await, None);
        } else {
            Actor::wrote(&reply);
            assert!(actor.holds(&key).await);
        }
    }
}

/// The global position is unique and increasing, and pages leave nothing out.
pub async fn positions_increase_and_pages_have_no_holes(subject: &Subject) {
    registered(&**subject.store()).await;
    let mut written = Vec::new();
    for number in 0..25 {
        let actor = Actor::new(subject, &format!("s-{}", number % 5)).again(number / 5);
        written.push(Actor::wrote(&actor.append(&[]).await).position);
    }
    assert!(written.is_sorted_by(|a, b| a < b), "{written:?}");
    let (mut cursor, mut read) = (0, Vec::new());
    loop {
        let page = subject.store().commits(cursor, 7).await.expect("a page");
        let Some(last) = page.last() else { break };
        cursor = last.position;
        read.extend(page.iter().map(|commit| commit.position));
    }
    assert_eq!(read, written);
}

/// A snapshot is found by the version of the state's shape; an older one never replaces a newer one.
pub async fn snapshots_are_kept_by_shape_and_version(subject: &Subject) {
    registered(&**subject.store()).await;
    let actor = Actor::new(subject, "a");
    for version in 0..4 {
        Actor::wrote(&actor.again(version).append(&[]).await);
    }
    for (version, shape) in [(3, 1), (2, 1)] {
        subject.store().save_snapshot(snapshot(&actor.stream, version, shape)).await.expect("a snapshot is kept");
    }
    let load = |after_version, shape| {
        let load = Load { stream: actor.stream.clone(), after_version, snapshot_of: shape };
        let reply = subject.store().load(load);
        async move {
            let loaded = reply.await.expect("a stream is read");
            let versions: Vec<u64> = loaded.commits.iter().map(|commit| commit.version).collect();
            (loaded.snapshot.map(|snapshot| (snapshot.version, snapshot.state.get().to_owned())), versions)
        }
    };
    assert_eq!(load(0, Some(1)).await, (Some((3, "{\"at\":3}".into())), vec![4]));
    assert_eq!(load(0, Some(2)).await, (None, vec![1, 2, 3, 4]), "a snapshot of another shape is ignored");
    assert_eq!(load(0, None).await, (None, vec![1, 2, 3, 4]));
    assert_eq!(load(3, Some(1)).await, (None, vec![4]), "a snapshot that is no newer is not read");
    assert_eq!(load(4, Some(1)).await, (None, vec![]));
}

/// C2, C10: a snapshot says whether its aggregate exists and whether it is deleted, as it was kept.
pub async fn snapshots_say_what_exists_and_what_is_deleted(subject: &Subject) {
    registered(&**subject.store()).await;
    for (number, (exists, deleted)) in [(true, false), (true, true), (false, false)].into_iter().enumerate() {
        let actor = Actor::new(subject, &format!("a-{number}"));
        Actor::wrote(&actor.append(&[]).await);
        let kept = SnapshotRecord { exists, deleted, ..snapshot(&actor.stream, 1, 1) };
        subject.store().save_snapshot(kept).await.expect("a snapshot is kept");
        let load = Load { stream: actor.stream.clone(), after_version: 0, snapshot_of: Some(1) };
        let read = subject.store().load(load).await.expect("a stream is read").snapshot.expect("a snapshot");
        assert_eq!((read.exists, read.deleted), (exists, deleted));
        assert_eq!((read.stream, read.version, read.state_version), (actor.stream, 1, 1));
    }
}

/// S7, R20: the log tells all that a commit is: when, by which request, command and attempt, on which stream, with which keys.
pub async fn the_log_tells_everything_of_a_commit(subject: &Subject) {
    registered(&**subject.store()).await;
    let actor = Actor::new(subject, "a");
    assert_eq!(actor.reserve("k").await, Reserved::Newly);
    let mut first = actor.append_call(vec![(actor.key("k"), KeyUse::Take)]);
    first.metadata = Some(RawValue::from_string(r#"{"by":"ana"}"#.into()).expect("JSON"));
    let again = actor.again(1);
    let mut second = again.append_call(vec![(actor.key("k"), KeyUse::Release)]);
    (second.kind, second.command) = (CommitKind::Release, Text::from_static("$release"));
    second.events = Vec::new();
    for append in [&first, &second] {
        subject.advance(Duration::from_secs(1));
        let written = Actor::wrote(&actor.store.append(append.clone()).await.expect("answered"));
        let log = actor.store.commits(written.position - 1, 10).await.expect("the log is read");
        let [commit] = &*log else { panic!("one commit, got {}", log.len()) };
        assert_eq!((commit.position, commit.at), (written.position, written.at));
        assert_eq!((&commit.stream, commit.version), (&append.stream, append.expected_version + 1));
        assert_eq!((commit.kind, &commit.command), (append.kind, &append.command));
        assert_eq!((&commit.request, commit.token), (&append.request, append.token));
        assert_eq!((&commit.events, &commit.keys), (&append.events, &append.key_changes()));
        assert_eq!(commit.metadata.as_deref().map(RawValue::get), append.metadata.as_deref().map(RawValue::get));
    }
    let log = actor.store.commits(0, 10).await.expect("the log is read");
    assert!(log[0].at < log[1].at, "{} before {}", log[0].at, log[1].at);
}

/// R5, R8: an append that lost one of its keys has given up the others, and those of a group that goes on are untouched.
pub async fn a_lost_key_gives_the_others_up(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, holder, c) = (Actor::new(subject, "a"), Actor::new(subject, "holder"), Actor::new(subject, "c"));
    holder.take("lost").await;
    let other_attempt = a.again(0);
    assert_eq!(other_attempt.reserve("shared").await, Reserved::Newly);
    for key in ["before", "shared", "after"] {
        assert_eq!(a.reserve(key).await, Reserved::Newly);
    }
    let uses = ["before", "lost", "shared", "after"].map(|key| (key, KeyUse::Take));
    assert_refused!(a.append(&uses).await, Refusal::KeyLost);
    assert_eq!((a.record("before").await, a.record("after").await), (None, None), "its leases are gone");
    for key in ["before", "after"] {
        assert_eq!(c.reserve(key).await, Reserved::Newly);
    }
    pending_until(c.reserve("shared").await);
    assert!(holder.holds("lost").await);
}

fn snapshot(stream: &StreamId, version: u64, state_version: u32) -> SnapshotRecord {
    let state = RawValue::from_string(format!("{{\"at\":{version}}}")).expect("JSON");
    SnapshotRecord { stream: stream.clone(), version, state_version, exists: true, deleted: false, state }
}

// What the suite's other areas need of an append with a given request.
pub(super) fn under_request(actor: &Actor, request: &str) -> Append {
    let mut append = actor.append_call(Vec::new());
    append.request.id = freehold::RequestId::new(request).expect("a request id");
    append
}

pub(super) fn typed(id: &str, name: &'static str, tenant: &'static str) -> StreamId {
    let mut stream = stream(id);
    stream.aggregate.name = Text::from_static(name);
    stream.tenant = Text::from_static(tenant);
    stream
}

pub(super) fn replayed(reply: AppendReply) -> Option<u64> {
    match reply {
        AppendReply::Refused(Refusal::Replay(first)) => Some(first.position),
        _ => None,
    }
}
