//! Laws of the pure core, for every record and every operation: the life cycle of a reservation (R1 to R11), and time.

use freehold::reservation::lifecycle::{self, Change, KeyUse, Lost};
use freehold::reservation::{Lease, Record, RecordState, RequestHash, Reserved};
use freehold::{AggregateType, StreamId, Timestamp, Token};
use proptest::prelude::*;
use std::time::Duration;

fn holder(number: u8) -> StreamId {
    let aggregate = AggregateType { context: "c".into(), name: "a".into() };
    StreamId { aggregate, tenant: "t".into(), id: format!("{number}").into() }
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0_i64..8).prop_map(Timestamp::from_millis)
}

fn lease() -> impl Strategy<Value = Lease> {
    (0_u128..5, time(), 0_u64..3).prop_map(|(token, expires_at, request)| Lease {
        token: Token::from_u128(token),
        expires_at,
        request: RequestHash(request),
    })
}

fn record() -> impl Strategy<Value = Option<Record>> {
    let leases = proptest::collection::vec(lease(), 1..4).prop_map(|mut leases| {
        leases.sort_by_key(|lease| lease.token);
        leases.dedup_by_key(|lease| lease.token);
        RecordState::Pending(leases)
    });
    let state = prop_oneof![leases, (1_u64..9).prop_map(RecordState::Confirmed)];
    proptest::option::of((0_u8..3, state).prop_map(|(who, state)| Record { holder: holder(who), state }))
}

fn key_use() -> impl Strategy<Value = KeyUse> {
    prop_oneof![Just(KeyUse::Take), Just(KeyUse::Keep), Just(KeyUse::Release)]
}

fn apply(record: Option<Record>, change: Change) -> Option<Record> {
    match change {
        Change::Keep => record,
        Change::Delete => None,
        Change::Put(record) => Some(record),
    }
}

/// Whether `record` keeps others than `me` away at `now`.
fn is_anothers(record: Option<&Record>, me: &StreamId, now: Timestamp) -> bool {
    record.is_some_and(|record| record.holder != *me && record.is_live(now))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// R1, R2, U01: ours exactly when it is not another's; another's live record is never changed.
    #[test]
    fn r1_reserve_never_changes_anothers_live_record(before in record(), me in 0_u8..3, lease in lease(), now in time()) {
        let me = holder(me);
        let (change, answer) = lifecycle::reserve(before.as_ref(), &me, lease, now);
        prop_assert_eq!(answer.is_ours(), !is_anothers(before.as_ref(), &me, now));
        if !answer.is_ours() {
            prop_assert_eq!(&change, &Change::Keep);
        }
        let after = apply(before.clone(), change);
        if answer == Reserved::Newly {
            let record = after.clone().expect("a pending record");
            prop_assert_eq!(&record.holder, &me);
            let RecordState::Pending(leases) = record.state else { panic!("pending") };
            prop_assert_eq!(leases.iter().filter(|kept| kept.token == lease.token).count(), 1, "one lease a token (R3)");
        }
        // Asking again gives the same answer (U19).
        let (_, again) = lifecycle::reserve(after.as_ref(), &me, lease, now);
        prop_assert_eq!(again, answer);
    }

    /// R5, U08, U23: giving up removes the own lease and nothing else.
    #[test]
    fn r5_giving_up_touches_nothing_but_the_own_lease(before in record(), me in 0_u8..3, token in 0_u128..5, now in time()) {
        let (me, token) = (holder(me), Token::from_u128(token));
        let after = apply(before.clone(), lifecycle::give_up(before.as_ref(), &me, token));
        match (&before, &after) {
            (Some(before), None) => {
                prop_assert_eq!(&before.holder, &me);
                prop_assert!(matches!(&before.state, RecordState::Pending(leases) if leases.iter().all(|l| l.token == token)));
            }
            (Some(before), Some(after)) if before != after => {
                let (RecordState::Pending(before), RecordState::Pending(after)) = (&before.state, &after.state) else { panic!("pending") };
                let kept: Vec<&Lease> = before.iter().filter(|lease| lease.token != token).collect();
                prop_assert_eq!(after.iter().collect::<Vec<_>>(), kept);
            }
            (before, after) => prop_assert_eq!(before, after),
        }
        // Giving up twice is giving up once.
        prop_assert_eq!(lifecycle::give_up(after.as_ref(), &me, token), Change::Keep);
        if before.as_ref().is_some_and(Record::is_confirmed) {
            prop_assert_eq!(&before, &after);
        }
        prop_assert!(!is_anothers(after.as_ref(), &me, now) || is_anothers(before.as_ref(), &me, now));
    }

    /// R4, R8: an append confirms what is not another's, or writes nothing; confirming ends the expiry (U18).
    #[test]
    fn r8_an_append_is_fenced_by_whoever_has_the_key(
        before in record(), key_use in key_use(), me in 0_u8..3, token in 0_u128..5, now in time(),
    ) {
        let (me, token) = (holder(me), Token::from_u128(token));
        let held = before.as_ref().is_some_and(|record| record.holder == me && record.is_confirmed());
        let verdict = lifecycle::append(before.as_ref(), key_use, &me, token, 99, now);
        match (key_use, verdict) {
            (KeyUse::Take, Err(Lost)) => prop_assert!(is_anothers(before.as_ref(), &me, now)),
            (KeyUse::Keep, Err(Lost)) => prop_assert!(!held),
            (KeyUse::Take | KeyUse::Keep, Ok(change)) => {
                prop_assert!(!is_anothers(before.as_ref(), &me, now));
                let after = apply(before, change).expect("a confirmed record");
                prop_assert!(after.is_confirmed() && after.holder == me);
                prop_assert_eq!(after.expires_at(), None);
            }
            (KeyUse::Release, Ok(change)) => {
                let after = apply(before.clone(), change);
                prop_assert!(!after.as_ref().is_some_and(|record| record.is_confirmed() && record.holder == me));
                if before.as_ref().is_some_and(|record| record.holder != me) {
                    prop_assert_eq!(before, after, "R10, U29");
                }
            }
            (KeyUse::Release, Err(Lost)) => prop_assert!(false, "a release loses nothing"),
        }
    }

    /// R7, U13: a sweep removes what nobody claims at that moment, and the answers are the same before and after.
    #[test]
    fn r7_a_sweep_changes_no_answer(before in record(), me in 0_u8..3, lease in lease(), now in time(), later in 0_u64..4) {
        let swept = apply(before.clone(), lifecycle::sweep(before.as_ref(), now));
        let (me, now) = (holder(me), now + Duration::from_millis(later));
        let (_, without) = lifecycle::reserve(before.as_ref(), &me, lease, now);
        let (_, with) = lifecycle::reserve(swept.as_ref(), &me, lease, now);
        prop_assert_eq!(without, with);
        prop_assert!(before.is_none_or(|record| record.is_live(now) == swept.is_some_and(|swept| swept.is_live(now))));
    }

    /// U15: time never overflows, and a longer time is never an earlier one.
    #[test]
    fn adding_time_saturates(at in any::<i64>(), one in any::<u64>(), other in any::<u64>()) {
        let at = Timestamp::from_millis(at);
        let (shorter, longer) = (Duration::from_millis(one.min(other)), Duration::from_millis(one.max(other)));
        prop_assert!(at + shorter >= at && at + longer >= at + shorter);
        prop_assert_eq!(at + Duration::MAX, Timestamp::MAX);
        prop_assert!(!at.to_string().is_empty());
    }
}

/// R7: `now == expires_at` is expired.
#[test]
fn r7_a_lease_has_ended_at_its_end() {
    let lease =
        |at| Lease { token: Token::from_u128(1), expires_at: Timestamp::from_millis(at), request: RequestHash(0) };
    let now = Timestamp::from_millis(5);
    assert_eq!([4, 5, 6].map(|at| lease(at).is_live(now)), [false, false, true]);
}
