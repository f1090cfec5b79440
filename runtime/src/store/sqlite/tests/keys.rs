//! Keys: the fast paths against the state machine, epochs, rekeying, sweeping, and who holds what.

use super::*;
use crate::codec::canonical;
use crate::reservation::{Lease, Normalizer, Record, RecordState, Reserved, TRIM_LOWERCASE};
use crate::store::memory::MemoryStore;
use crate::store::sqlite::reservations::leases_json;
use crate::store::{Load, Rekey, RekeyNamespace, RekeyReply, SnapshotRecord, StoreErrorKind};

/// The memory store takes every verdict from `lifecycle`; the statements here must come to the same.
#[test]
fn the_fast_paths_agree_with_the_state_machine() {
    let (scratch, clock) = (Scratch::new(), Arc::<HandClock>::default());
    let (sqlite, memory) = (open(&scratch.file(), &clock), MemoryStore::with_clock(clock.clone()));
    wait(memory.register(vec![names("verbatim@1")])).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let (keys, brands) = (["x", "y", "z"], ["a", "b"]);
    let mut versions = [0_u64; 2];
    for number in 1..3_000_u128 {
        clock.forward(random.u64(0..12_000));
        let (index, attempt) = (random.usize(0..2), number - random.u128(0..number.min(4)));
        let (id, key) = (brands[index], keys[random.usize(0..3)]);
        match random.u8(0..6) {
            0..=2 => {
                let reserve = reserve(id, attempt, &keys[..random.usize(1..=3)]);
                let answers = wait(memory.reserve(reserve.clone())).unwrap().answers;
                assert_eq!(wait(sqlite.reserve(reserve)).unwrap().answers, answers);
            }
            3 => {
                wait(memory.give_up(give_up(id, attempt, &keys))).unwrap();
                wait(sqlite.give_up(give_up(id, attempt, &keys))).unwrap();
            }
            _ => {
                let key_use = [KeyUse::Take, KeyUse::Keep, KeyUse::Release][random.usize(0..3)];
                let mut append = append(id, versions[index], number, &[(key, key_use)]);
                append.token = token(attempt);
                let expected = wait(memory.append(append.clone())).unwrap();
                let reply = wait(sqlite.append(append)).unwrap();
                assert_eq!(format!("{reply:?}"), format!("{expected:?}"));
                versions[index] += u64::from(matches!(reply, AppendReply::Written(_)));
            }
        }
        for key in keys {
            // One that has expired may be swept, or not yet.
            let live = |record: Option<Record>| record.filter(|record| record.is_live(clock.now()));
            let record = live(wait(sqlite.reservation(name(key))).unwrap().record);
            assert_eq!(record, live(wait(memory.reservation(name(key))).unwrap().record), "step {number}");
        }
    }
    assert!(versions.iter().all(|version| *version > 100), "{versions:?}");
}

#[test]
fn leases_are_written_as_serde_writes_them() {
    let lease = |number, millis, request| Lease {
        token: token(number),
        expires_at: Timestamp::from_millis(millis),
        request: RequestHash(request),
    };
    let leases = [lease(1, i64::MAX, u64::MAX), lease(u128::MAX, -1, 0)];
    assert_eq!(leases_json(&leases), serde_json::to_string(&leases).unwrap());
    assert!(canonical(&leases.as_slice()).is_ok());
}

/// R13: a process that was built before the rekey is refused, and its leases are gone.
#[test]
fn another_epoch_or_an_unknown_namespace_is_refused() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    let mut old = reserve("a", 1, &["x", "y"]);
    old.keys[1].epoch = 2;
    let mut unknown = reserve("a", 1, &["x"]);
    unknown.keys[0].key.namespace = Text::from_static("unknown");
    for refused in [old, unknown] {
        let error = wait(store.reserve(refused)).unwrap_err();
        assert_eq!((error.kind(), error.surely_not_done()), (StoreErrorKind::NamespaceChanged, true));
    }
    assert_eq!(wait(store.reservation(name("x"))).unwrap().record, None, "all or none");

    wait(store.reserve(reserve("a", 2, &["x"]))).unwrap();
    let mut append = append("a", 0, 2, &[("x", KeyUse::Take)]);
    append.keys[0].epoch = 2;
    let error = wait(store.append(append)).unwrap_err();
    assert_eq!((error.kind(), error.surely_not_done()), (StoreErrorKind::NamespaceChanged, true));
    assert!(error.to_string().contains("names"), "{error}");
    assert_eq!(wait(store.reservation(name("x"))).unwrap().record, None, "its leases are given up");
    assert_eq!(wait(store.commits(0, 10)).unwrap().len(), 0);
}

fn rekeying(normalizer: Normalizer, first_token: u128) -> Rekey {
    let next = std::sync::Mutex::new(first_token);
    let tokens = move || {
        let mut next = next.lock().unwrap();
        *next += 1;
        token(*next)
    };
    let change = RekeyNamespace {
        namespace: names(&normalizer.to_string()),
        normalizer,
        command: Text::from_static("operator: case no longer matters"),
    };
    Rekey { namespaces: vec![change], tokens: Arc::new(tokens) }
}

fn take(store: &SqliteStore, id: &str, number: u128, keys: &[&str]) {
    let claims: Vec<_> = keys.iter().map(|key| (*key, KeyUse::Take)).collect();
    written(wait(store.append(append(id, 0, number, &claims))).unwrap());
}

/// R13, R20: keys move, each holder's in one commit; two of one holder become one; pending ones go.
#[test]
fn a_rekey_moves_keys_by_commits() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    take(&store, "a", 1, &["Ana", "ANA", "Bo", "c"]);
    take(&store, "b", 2, &["d"]);
    wait(store.reserve(reserve("c", 3, &["Pending"]))).unwrap();
    let state = serde_json::value::to_raw_value("state").unwrap();
    let (stream, exists, deleted) = (brand("a"), true, false);
    wait(store.save_snapshot(SnapshotRecord { stream, version: 1, state_version: 1, exists, deleted, state })).unwrap();

    let RekeyReply::Done { moved } = wait(store.rekey(rekeying(TRIM_LOWERCASE, 100))).unwrap() else {
        panic!("nothing collides");
    };
    assert_eq!(moved, 3);
    assert_eq!(wait(store.held_by(brand("a"))).unwrap(), [name("ana"), name("bo"), name("c")]);
    assert_eq!(wait(store.held_by(brand("b"))).unwrap(), [name("d")]);
    assert_eq!(wait(store.reservation(name("Pending"))).unwrap().record, None);

    let load = Load { stream: brand("a"), after_version: 0, snapshot_of: Some(1) };
    let loaded = wait(store.load(load)).unwrap();
    assert_eq!(loaded.snapshot.unwrap().version, 1, "a snapshot stays valid");
    let [commit] = loaded.commits.as_slice() else { panic!("one commit after it") };
    assert_eq!((commit.kind, commit.version, commit.events.len()), (CommitKind::Rekey, 2, 0));
    assert_eq!(commit.request.id.as_str(), commit.token.to_string());
    let record = wait(store.reservation(name("ana"))).unwrap().record.unwrap();
    assert_eq!(record.state, RecordState::Confirmed(commit.position));
    assert_eq!(wait(store.commits(0, 10)).unwrap().len(), 3, "no commit for a holder whose keys stay");

    let error = wait(store.reserve(reserve("d", 4, &["new"]))).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NamespaceChanged, "this process was built with the old epoch");
    let again = wait(store.rekey(rekeying(TRIM_LOWERCASE, 200))).unwrap();
    assert!(matches!(again, RekeyReply::Done { moved: 0 }), "another process has done it");
}

/// U60: nothing is changed, and both holders are named.
#[test]
fn a_rekey_that_collides_changes_nothing() {
    fn emptying(_: &str) -> String {
        String::new()
    }
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    take(&store, "a", 1, &["Ana"]);
    take(&store, "b", 2, &["ana", "Bo"]);
    wait(store.reserve(reserve("c", 3, &["pending"]))).unwrap();
    for normalizer in [TRIM_LOWERCASE, Normalizer::named("emptying", 1, emptying)] {
        let RekeyReply::Collides(collisions) = wait(store.rekey(rekeying(normalizer, 100))).unwrap() else {
            panic!("two holders' keys would be one, or none");
        };
        assert!(!collisions.is_empty());
        if normalizer == TRIM_LOWERCASE {
            let [collision] = collisions.as_slice() else { panic!("{collisions:?}") };
            let mut both = [Some(collision.holder.clone()), collision.other.clone()];
            both.sort();
            assert_eq!(both, [Some(brand("a")), Some(brand("b"))]);
        }
        assert_eq!(wait(store.held_by(brand("b"))).unwrap(), [name("Bo"), name("ana")]);
        assert_eq!(wait(store.commits(0, 10)).unwrap().len(), 2);
        let answers = wait(store.reserve(reserve("c", 3, &["pending"]))).unwrap().answers;
        assert_eq!(answers, [Reserved::Newly], "the epoch is the old one");
    }
}

/// A function of the user's own may panic; the store goes on.
#[test]
fn a_normalizer_that_panics_costs_its_rekey_only() {
    fn panicking(_: &str) -> String {
        panic!("a normaliser that does not know what to do")
    }
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    take(&store, "a", 1, &["Ana"]);
    let error = wait(store.rekey(rekeying(Normalizer::named("panicking", 1, panicking), 100))).unwrap_err();
    assert!(error.to_string().contains("panicked"), "{error}");
    take(&store, "b", 2, &["bo"]);
    assert_eq!(wait(store.held_by(brand("a"))).unwrap(), [name("Ana")]);
}

/// R13: one that differs, and nothing is recorded.
#[test]
fn registering_is_all_or_nothing() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    let other = NamespaceRecord { name: Text::from_static("other"), ..names("verbatim@1") };
    let answers = wait(store.register(vec![other.clone(), names("trim-lowercase@1")])).unwrap();
    let expected = crate::store::Registered::Differs { recorded: names("verbatim@1") };
    assert_eq!(answers[1], expected);
    let mut asked = reserve("a", 1, &["x"]);
    asked.keys[0].key.namespace = Text::from_static("other");
    assert!(wait(store.reserve(asked.clone())).is_err(), "not recorded");
    wait(store.register(vec![other, names("verbatim@1")])).unwrap();
    assert!(wait(store.reserve(asked)).is_ok());
}

/// Every key that the holder has, and none that it had or that another has now.
#[test]
fn held_by_lists_what_is_held_in_order() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    take(&store, "a", 1, &["b", "a", "\u{e4}", "\u{1}\u{1f}\u{ffff}", "quote\"back\\slash", "'; --", "gone", "moved"]);
    let release = [("gone", KeyUse::Release), ("moved", KeyUse::Release)];
    written(wait(store.append(append("a", 1, 2, &release))).unwrap());
    take(&store, "b", 3, &["moved"]);
    wait(store.reserve(reserve("a", 4, &["pending"]))).unwrap();
    let expected = ["\u{1}\u{1f}\u{ffff}", "'; --", "a", "b", "quote\"back\\slash", "\u{e4}"].map(name);
    assert_eq!(wait(store.held_by(brand("a"))).unwrap(), expected);
    assert_eq!(wait(store.held_by(brand("b"))).unwrap(), [name("moved")]);
    assert_eq!(wait(store.held_by(brand("nobody"))).unwrap(), []);
}

/// U51, U52: text is compared byte for byte, and never cut.
#[test]
fn keys_are_compared_byte_for_byte() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    let keys = ["a", "A", "bar", "bar ", "\u{e9}", "e\u{301}", "\u{430}", "ab", "a\0b", "a\0", "1", "1.0", "01"];
    for (number, key) in (1..).zip(keys) {
        let reserve = reserve(&format!("brand-{number}"), number, &[key]);
        assert_eq!(wait(store.reserve(reserve)).unwrap().answers, [Reserved::Newly], "{key:?}");
    }
}

/// R7, U13, U18: the sweep takes expired pending records only, in an instant that `now == expires_at` belongs to.
#[test]
fn the_sweep_takes_what_has_expired_and_nothing_else() {
    let (scratch, clock) = (Scratch::new(), Arc::<HandClock>::default());
    let store = open(&scratch.file(), &clock);
    take(&store, "held", 1, &["held"]);
    wait(store.reserve(reserve("a", 2, &["x"]))).unwrap();
    clock.forward(1);
    wait(store.reserve(reserve("a", 3, &["y"]))).unwrap();
    clock.forward(PENDING_MS - 2);
    assert_eq!(wait(store.sweep()).unwrap(), 0);
    clock.forward(1);
    assert_eq!(wait(store.sweep()).unwrap(), 1);
    assert_eq!(wait(store.reservation(name("x"))).unwrap().record, None);
    assert!(matches!(
        wait(store.reservation(name("y"))).unwrap().record,
        Some(Record { state: RecordState::Pending(_), .. })
    ));

    // The writer does it by itself when it has something to do a minute later.
    clock.forward(PENDING_MS + 60_000);
    wait(store.give_up(give_up("nobody", 9, &[]))).unwrap();
    wait(store.drain()).unwrap();
    assert_eq!(wait(store.reservation(name("y"))).unwrap().record, None);
    assert!(wait(store.reservation(name("held"))).unwrap().record.is_some());
}
