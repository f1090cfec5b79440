//! Appends that may arrive late: what keeps them out, and when that is forgotten (R9, C4).

use super::*;
use crate::limits::LATE_APPEND_MAX;
use crate::store::{Check, Settle, Settled};

fn settle(store: &SqliteStore, number: u128) {
    let (stream, request) = (brand("a"), request(number).id);
    let settle = Settle { stream, version: 1, request, token: token(number), keys: vec![] };
    assert!(matches!(wait(store.settle(settle)).unwrap(), Settled::NotWritten));
}

fn check(store: &SqliteStore, number: u128) -> u64 {
    let checked = wait(store.check(Check { stream: brand("a"), request: Some(request(number).id) })).unwrap();
    assert!(checked.first.is_none() && checked.mark > 0, "{checked:?}");
    checked.mark
}

/// Which of these late appends are kept out.
fn fenced(store: &SqliteStore, numbers: &[u128]) -> Vec<u128> {
    let is_fenced = |number: &u128| match wait(store.append(append("a", 9, *number, &[]))).unwrap() {
        AppendReply::Refused(Refusal::Fenced { .. }) => true,
        AppendReply::Refused(Refusal::Conflict) => false,
        other => panic!("its version is not there: {other:?}"),
    };
    numbers.iter().copied().filter(is_fenced).collect()
}

/// Tombstones and marks stay for a day, and are gone at its end.
#[test]
fn what_keeps_late_appends_out_is_swept_after_a_day() {
    let day = u64::try_from(LATE_APPEND_MAX.as_millis()).unwrap();
    let (scratch, clock) = (Scratch::new(), Arc::<HandClock>::default());
    clock.forward(1_000_000);
    let store = open(&scratch.file(), &clock);
    settle(&store, 1);
    assert_eq!(check(&store, 2), 1_000_000);
    clock.forward(1);
    settle(&store, 3);
    check(&store, 4);
    clock.forward(day - 2);
    assert_eq!(wait(store.sweep()).unwrap(), 0, "only records of keys are counted");
    assert_eq!(fenced(&store, &[1, 2, 3, 4, 5]), [1, 2, 3, 4]);
    clock.forward(1);
    wait(store.sweep()).unwrap();
    assert_eq!(fenced(&store, &[1, 2, 3, 4]), [3, 4]);
    assert!(check(&store, 2) > 1_000_000, "a new mark is higher than the one that is gone");

    // The writer does it by itself when it has something to do a minute later: after the answer, before the next group.
    clock.forward(60_000);
    wait(store.give_up(give_up("nobody", 9, &[]))).unwrap();
    wait(store.give_up(give_up("nobody", 9, &[]))).unwrap();
    assert_eq!(fenced(&store, &[1, 2, 3, 4]), [2]);
}

/// C4: a clock that is set back makes no mark lower than the one before it.
#[test]
fn marks_rise_though_the_clock_is_set_back() {
    let (scratch, clock) = (Scratch::new(), Arc::<HandClock>::default());
    clock.forward(1_000_000);
    let store = open(&scratch.file(), &clock);
    assert_eq!([check(&store, 1), check(&store, 1)], [1_000_000, 1_000_001]);
    clock.back(500_000);
    wait(store.close()).unwrap();
    let store = open(&scratch.file(), &clock);
    assert_eq!(check(&store, 1), 1_000_002);
    assert_eq!(check(&store, 2), 500_000, "each request has marks of its own");
}
