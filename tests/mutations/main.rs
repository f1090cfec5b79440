//! The suite bites (U64): each of these stores has one mistake, and fails a named case.

mod blunt;
mod late;
mod subtle;

use freehold::{StoreError, StoreReply};
use freehold_testkit::conformance::{CASES, Case, Subject};
use std::panic::AssertUnwindSafe;
use std::task::{Context, Poll, Waker};

/// The answer of a memory store, which is there at once.
#[track_caller]
fn ready<T>(reply: StoreReply<T>) -> T {
    ready_or_error(reply).expect("an answer")
}

#[track_caller]
fn ready_or_error<T>(reply: StoreReply<T>) -> Result<T, StoreError> {
    let mut reply = std::pin::pin!(reply);
    match reply.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("a memory store answers at once"),
    }
}

/// The cases that the store fails. The races are left out: they take longest, and say little about a mistake that shows
/// without them.
fn failed(subject: impl Fn() -> Subject, and_races: bool) -> Vec<&'static str> {
    let fails = |case: &&Case| {
        std::panic::catch_unwind(AssertUnwindSafe(|| {
            freehold_testkit::conformance::run(async || subject(), case.run);
        }))
        .is_err()
    };
    let told = CASES.iter().filter(|case| and_races || !case.name.starts_with("concurrency::"));
    told.filter(fails).map(|case| case.name).collect()
}

macro_rules! bites {
    ($kind:ident: $($test:ident: $mistake:ident fails $case:literal;)*) => {
        $(
            #[test]
            fn $test() {
                let failed = failed(|| $kind::subject($kind::Mistake::$mistake), false);
                assert!(failed.contains(&$case), "{:?} fails {failed:?}", $kind::Mistake::$mistake);
            }
        )*
    };
}

bites! {
    blunt:
    claiming_over_another: EveryClaimWins fails "reserve::a_free_key_is_newly_reserved_and_a_second_claimant_told_pending";
    giving_up_by_key: GiveUpByKey fails "reserve::giving_up_is_by_token_and_holder";
    expiring_late: ExpiryIsLate fails "expiry::a_lease_has_ended_at_the_very_instant";
    confirming_without_a_fence: NoFence fails "reserve::an_append_is_fenced_by_every_key";
    cutting_keys: CutsKeys fails "keys::long_keys_are_neither_cut_nor_confused";
    folding_case: FoldsCase fails "keys::keys_are_compared_byte_for_byte";
    swallowing_conflicts: SwallowsConflicts fails "append::a_version_is_written_once";
    releasing_anyones_key: ReleasesAnyones fails "release::releasing_what_one_does_not_hold_frees_nobody";
    settling_by_looking: SettlesByLooking fails "recovery::a_late_append_is_fenced";
    keeping_leases_of_the_refused: KeepsLeasesOfTheRefused fails "append::a_refused_append_writes_nothing_and_gives_up";
    forgetting_the_tenant: ForgetsTheTenant fails "tenancy::tenants_and_contexts_are_apart";
    forgetting_requests: ForgetsRequests fails "requests::a_request_id_has_one_commit";
    ignoring_epochs: IgnoresEpochs fails "namespaces::a_stale_epoch_is_refused";
    sweeping_confirmed_keys: SweepsConfirmed fails "expiry::a_confirmed_key_never_expires";
    sharing_a_lease: OneLeaseAHolder fails "reserve::two_attempts_of_one_aggregate_have_one_key_pending";
}

bites! {
    subtle:
    forgetting_that_a_snapshot_is_of_a_deleted_one: SnapshotForgetsDeleted
        fails "append::snapshots_say_what_exists_and_what_is_deleted";
    forgetting_when_and_by_whom: LogLosesTimeRequestToken fails "append::the_log_tells_everything_of_a_commit";
    keeping_leases_when_a_key_is_lost: KeyLostKeepsLeases fails "append::a_lost_key_gives_the_others_up";
    finding_requests_of_other_types: CheckIgnoresType fails "requests::a_check_is_per_type_and_tenant";
    reserving_some_of_a_call: ReserveIsNotAtomic fails "reserve::a_reserve_is_atomic";
    knowing_the_first_request_only: SameRequestOfFirstLeaseOnly
        fails "reserve::the_same_request_is_found_among_all_leases";
    having_no_present: ReserveNowIsZero fails "reserve::a_reply_carries_the_stores_present";
    sweeping_what_another_attempt_claims: SweepTakesPartlyExpired
        fails "expiry::a_sweep_leaves_what_one_attempt_still_claims";
    holding_what_is_pending: HeldByCountsPending fails "keys::only_confirmed_keys_are_held";
    holding_in_any_order: HeldByUnordered fails "keys::held_keys_are_told_in_order";
    checking_the_first_epoch_only: EpochOfFirstKeyOnly
        fails "namespaces::every_key_of_an_append_has_its_epoch_checked";
    releasing_whatever_the_epoch: ReleaseIgnoresEpoch
        fails "namespaces::every_key_of_an_append_has_its_epoch_checked";
    keeping_leases_of_a_stale_epoch: RefusedForNamespaceKeepsLeases
        fails "namespaces::an_append_refused_for_its_namespace_gives_up";
    rekeying_twice: RekeyAgainRaises fails "namespaces::a_rekey_that_was_done_already_changes_nothing";
    rekeying_one_by_one: RekeysOneByOne fails "namespaces::several_are_rekeyed_together_or_not_at_all";
    judging_namespaces_first: NamespaceBeforeRequest
        fails "namespaces::an_append_is_told_the_first_of_its_reasons";
    forgetting_what_a_commit_freed: LoadLosesReleaseKeys fails "recovery::a_stream_tells_the_keys_of_its_commits";
}

bites! {
    late:
    leaving_no_mark: LeavesNoMark fails "requests::a_check_without_commit_keeps_late_appends_out";
    keeping_leases_of_the_fenced: FencedKeepsLeases fails "requests::a_check_without_commit_keeps_late_appends_out";
    leaving_one_mark_twice: MarkStandsStill fails "requests::each_mark_is_higher_than_those_before";
    marking_requests_of_other_types: MarksEveryType fails "requests::marks_are_per_request_type_and_tenant";
    marking_one_stream: MarksOneStream fails "requests::marks_are_per_request_type_and_tenant";
    marking_what_has_its_commit: MarksTheCommitted fails "requests::a_check_that_finds_the_commit_leaves_no_mark";
    forgetting_marks: ForgetsMarks fails "requests::a_mark_is_there_after_reopening";
    marking_where_no_request_was_asked_for: MarksWithoutRequest
        fails "requests::a_check_without_a_request_id_leaves_no_mark";
    reading_the_first_epoch: ReadingKnowsFirstEpochOnly
        fails "namespaces::a_reading_carries_epoch_and_the_stores_present";
    reading_at_no_time: ReadingNowIsZero fails "namespaces::a_reading_carries_epoch_and_the_stores_present";
}

#[test]
fn stores_without_a_mistake_fail_nothing() {
    assert!(failed(|| blunt::subject(blunt::Mistake::None), true).is_empty());
    assert!(failed(|| subtle::subject(subtle::Mistake::None), true).is_empty());
    assert!(failed(|| late::subject(late::Mistake::None), true).is_empty());
}
