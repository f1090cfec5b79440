//! Limits, clocks, sizes and numbers at their ends.

use super::*;
use crate::limits::KEYS_PER_DECISION_MAX;
use crate::store::{Load, Settle, Settled, SnapshotRecord};

/// Limits of one: everything goes one by one, and nothing is stuck or out of order.
#[test]
fn limits_of_one_are_slow_and_nothing_else() {
    let scratch = Scratch::new();
    let options = SqliteStore::options().clock(Arc::<HandClock>::default()).readers(1).group_limit(1).queue_limit(1);
    let store = wait(options.open(scratch.file())).unwrap();
    wait(store.register(vec![names("verbatim@1")])).unwrap();
    for number in 0..20 {
        assert!(wait(store.reserve(reserve("a", number.into(), &["x", "y"]))).unwrap().answers[0].is_ours());
        drop(store.give_up(give_up("a", number.into(), &["y"])));
        wait(store.drain()).unwrap();
        written(wait(store.append(append("a", number, number.into(), &[("x", KeyUse::Take)]))).unwrap());
        assert_eq!(wait(store.reservation(name("y"))).unwrap().record, None);
    }
    wait(store.close()).unwrap();
}

/// A clock that is set back puts no sweep off until it is there again.
#[test]
fn a_clock_that_jumps_back_stops_no_sweep() {
    let (scratch, clock) = (Scratch::new(), Arc::<HandClock>::default());
    clock.forward(86_400_000);
    let store = open(&scratch.file(), &clock);
    wait(store.give_up(give_up("nobody", 9, &[]))).unwrap();
    clock.back(80_000_000);
    wait(store.reserve(reserve("a", 1, &["x"]))).unwrap();
    clock.forward(PENDING_MS + 60_000);
    wait(store.give_up(give_up("nobody", 9, &[]))).unwrap();
    // Sweeping comes after the answer, and before the next group.
    wait(store.give_up(give_up("nobody", 9, &[]))).unwrap();
    assert_eq!(wait(store.reservation(name("x"))).unwrap().record, None);
}

/// R17, R8: the largest decision there may be, lost at its last key: nothing of it stays, and no position is used up.
#[test]
fn ten_thousand_keys_are_all_taken_or_none() {
    let (scratch, clock) = (Scratch::new(), Arc::<HandClock>::default());
    let store = open(&scratch.file(), &clock);
    let texts: Vec<String> = (0..KEYS_PER_DECISION_MAX).map(|number| format!("key-{number:05}")).collect();
    let keys: Vec<&str> = texts.iter().map(String::as_str).collect();
    let take: Vec<_> = keys.iter().map(|key| (*key, KeyUse::Take)).collect();
    let answers = wait(store.reserve(reserve("a", 1, &keys))).unwrap().answers;
    assert!(answers.len() == keys.len() && answers.iter().all(|answer| answer.is_ours()));
    // It expires, and the last key is another's by the time of the append.
    clock.forward(PENDING_MS);
    let last = keys[keys.len() - 1];
    written(wait(store.append(append("b", 0, 2, &[(last, KeyUse::Take)]))).unwrap());
    assert!(matches!(refused(wait(store.append(append("a", 0, 1, &take))).unwrap()), Refusal::KeyLost));
    assert_eq!(wait(store.held_by(brand("a"))).unwrap(), []);
    assert_eq!(wait(store.reservation(name(keys[0]))).unwrap().record, None, "its leases are given up");
    written(wait(store.append(append("b", 1, 3, &[(last, KeyUse::Release)]))).unwrap());
    assert_eq!(written(wait(store.append(append("a", 0, 4, &take))).unwrap()).position, 3);
    assert_eq!(wait(store.held_by(brand("a"))).unwrap().len(), keys.len());
    assert_eq!(wait(store.commits(2, 1)).unwrap()[0].keys.len(), keys.len());
}

/// A value of 100 MB is written and read like any other, and those beside it.
#[test]
fn a_large_value_is_a_value() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    let mut large = append("b", 0, 2, &[]);
    large.events[0].data = serde_json::value::to_raw_value(&"x".repeat(100_000_000)).unwrap();
    let replies = [append("a", 0, 1, &[]), large, append("c", 0, 3, &[])].map(|append| store.append(append));
    assert_eq!(replies.map(|reply| written(wait(reply).unwrap()).position), [1, 2, 3]);
    let loaded = wait(store.load(Load { stream: brand("b"), after_version: 0, snapshot_of: None })).unwrap();
    assert_eq!(loaded.commits[0].events[0].data.get().len(), 100_000_002);
}

/// Numbers at the ends of their types are numbers like others.
#[test]
fn numbers_at_their_ends_are_no_trouble() {
    let (scratch, clock) = (Scratch::new(), Arc::<HandClock>::default());
    let store = open(&scratch.file(), &clock);
    for number in 0..3 {
        written(wait(store.append(append("a", number, number.into(), &[]))).unwrap());
    }
    for (after, limit, count) in
        [(0, 0, 0), (0, usize::MAX, 3), (2, usize::MAX, 1), (3, 1, 0), (u64::MAX, usize::MAX, 0), (1 << 63, 1, 0)]
    {
        assert_eq!(wait(store.commits(after, limit)).unwrap().len(), count, "{limit} after {after}");
    }
    for version in [4, 1 << 63, i64::MAX.cast_unsigned(), u64::MAX - 1, u64::MAX] {
        let load = Load { stream: brand("a"), after_version: version, snapshot_of: Some(u32::MAX) };
        assert!(wait(store.load(load)).unwrap().commits.is_empty());
        assert!(matches!(refused(wait(store.append(append("a", version, 9, &[]))).unwrap()), Refusal::Conflict));
        let settle =
            Settle { stream: brand("a"), version, request: request(1).id, token: token(version.into()), keys: vec![] };
        assert!(matches!(wait(store.settle(settle)).unwrap(), Settled::NotWritten));
    }
    let mut ever = reserve("a", 5, &["x"]);
    ever.keys[0].pending_ms = u64::MAX;
    assert!(wait(store.reserve(ever)).unwrap().answers[0].is_ours());
    clock.forward(i64::MAX.cast_unsigned() - 1);
    assert!(!wait(store.reserve(reserve("b", 6, &["x"]))).unwrap().answers[0].is_ours());
}

/// A snapshot without its commit would never let an append fit: its events are read instead.
#[test]
fn a_snapshot_that_is_ahead_of_its_stream_is_not_read() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    for number in 0..3 {
        written(wait(store.append(append("a", number, number.into(), &[]))).unwrap());
    }
    let state = || serde_json::value::to_raw_value("state").unwrap();
    let kept = |version, state_version| SnapshotRecord {
        stream: brand("a"),
        version,
        state_version,
        exists: true,
        deleted: false,
        state: state(),
    };
    for (version, shape) in [(4, 1), (3, 2)] {
        wait(store.save_snapshot(kept(version, shape))).unwrap();
    }
    let load = |shape| {
        let load = Load { stream: brand("a"), after_version: 0, snapshot_of: Some(shape) };
        let loaded = wait(store.load(load)).unwrap();
        (loaded.snapshot.map(|snapshot| snapshot.version), loaded.commits.len())
    };
    assert_eq!(load(1), (None, 3));
    assert_eq!(load(2), (Some(3), 0));
}
