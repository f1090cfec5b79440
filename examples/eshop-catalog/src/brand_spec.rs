//! The rules of a brand, one test each; read from the top, they introduce the test kit.
//!
//! A spec says what is given, decides one command by its real handler, and says what must have come of it: events or
//! a rejection, and which keys the brand holds. Every spec also checks a number of laws unasked: that events survive
//! JSON, that deciding is repeatable, that an attempt which failed leaves nothing behind.

use crate::brand::{Brand, BrandCreated, BrandRenamed, BrandRetired, CreateBrand, RenameBrand, RetireBrand};
use crate::names::{BLANK_NAME, BRAND_NAMES, NAME_TAKEN};
use freehold::{Delete, Restore};
use freehold_testkit::spec::{At, Fault};
use freehold_testkit::{Spec, aggregate_spec, events};
use std::time::Duration;

fn create(name: &str) -> CreateBrand {
    CreateBrand { name: name.to_owned() }
}

fn rename(name: &str) -> RenameBrand {
    RenameBrand { name: name.to_owned() }
}

fn created(name: &str) -> BrandCreated {
    BrandCreated { name: name.to_owned() }
}

fn renamed(name: &str) -> BrandRenamed {
    BrandRenamed { name: name.to_owned() }
}

fn retired(name: &str) -> BrandRetired {
    BrandRetired { name: name.to_owned() }
}

/// What several specs begin with is a function.
fn contoso() -> Spec<Brand> {
    aggregate_spec::<Brand>().given_command(create("Contoso"))
}

// Create: a key that is taken with the first event.

#[test]
fn a_new_brand_takes_its_name() {
    aggregate_spec::<Brand>()
        .when(create("Contoso"))
        .then_events(events![created("Contoso")])
        .then_holds_exactly([(BRAND_NAMES, "contoso")])
        .then_state(|brand| assert_eq!(brand.name(), "Contoso"));
}

#[test]
fn outer_spaces_are_no_part_of_a_name() {
    aggregate_spec::<Brand>()
        .when(create("\u{a0} Contoso\t"))
        .then_events(events![created("Contoso")])
        .then_holds_exactly([(BRAND_NAMES, "contoso")]);
}

#[test]
fn a_name_that_another_brand_holds_is_rejected() {
    aggregate_spec::<Brand>()
        .given_reservation(BRAND_NAMES, "contoso")
        .when(create(" Contoso "))
        .then_rejected(NAME_TAKEN)
        .then_holds_exactly([]);
}

#[test]
fn a_taken_name_is_rejected_whatever_its_case_and_outer_spaces() {
    for held in ["contoso", "CONTOSO", " Contoso "] {
        aggregate_spec::<Brand>()
            .given_reservation(BRAND_NAMES, held)
            .when(create(" conTOSO "))
            .then_rejected(NAME_TAKEN)
            .then_holds_exactly([]);
    }
}

#[test]
fn a_blank_name_is_rejected() {
    for blank in ["", " ", "\t\u{3000}\n"] {
        aggregate_spec::<Brand>().when(create(blank)).then_rejected(BLANK_NAME).then_holds_exactly([]);
    }
}

#[test]
fn a_name_that_can_be_no_key_fails_and_is_no_rejection() {
    for name in ["x".repeat(1_025), "a\0b".to_owned()] {
        aggregate_spec::<Brand>().when(create(&name)).then_failed("INVALID_KEY").then_holds_exactly([]);
    }
}

#[test]
fn a_brand_is_created_once() {
    contoso().when(create("Fabrikam")).then_failed("ALREADY_EXISTS").then_holds_exactly([(BRAND_NAMES, "contoso")]);
}

#[test]
fn a_request_that_is_sent_again_has_its_first_outcome_and_changes_nothing() {
    aggregate_spec::<Brand>()
        .when_request("req-1", create("Contoso"))
        .then_events(events![created("Contoso")])
        .and_when_request("req-1", create("Contoso"))
        .then_replayed()
        .then_version(1);
}

// Rename: one key is taken and another released, in one write.

#[test]
fn a_rename_takes_the_new_name_and_releases_the_old() {
    contoso()
        .when(rename("Fabrikam"))
        .then_events(events![renamed("Fabrikam")])
        .then_holds_exactly([(BRAND_NAMES, "fabrikam")]);
}

#[test]
fn the_same_name_is_nothing_to_do() {
    contoso().when(rename(" Contoso ")).then_no_events().then_holds_exactly([(BRAND_NAMES, "contoso")]);
}

#[test]
fn a_new_spelling_keeps_its_key() {
    contoso()
        .when(rename("CONTOSO"))
        .then_events(events![renamed("CONTOSO")])
        .then_holds_exactly([(BRAND_NAMES, "contoso")]);
}

#[test]
fn a_rename_to_a_taken_name_is_rejected_and_the_old_name_stays() {
    contoso()
        .given_reservation(BRAND_NAMES, "fabrikam")
        .when(rename("Fabrikam"))
        .then_rejected(NAME_TAKEN)
        .then_holds_exactly([(BRAND_NAMES, "contoso")]);
}

#[test]
fn a_rename_to_a_blank_name_is_rejected() {
    contoso().when(rename("  ")).then_rejected(BLANK_NAME).then_holds_exactly([(BRAND_NAMES, "contoso")]);
}

#[test]
fn a_brand_that_is_renamed_away_and_back_holds_its_first_name() {
    contoso()
        .when(rename("Fabrikam"))
        .then_holds_exactly([(BRAND_NAMES, "fabrikam")])
        .and_when(rename("Contoso"))
        .then_events(events![renamed("Contoso")])
        .then_holds_exactly([(BRAND_NAMES, "contoso")]);
}

#[test]
fn only_what_exists_is_renamed() {
    aggregate_spec::<Brand>().when(rename("Contoso")).then_failed("NOT_FOUND").then_holds_exactly([]);
}

/// Events and keys can be given by hand, for a history that no command makes any more.
#[test]
fn a_brand_of_old_is_renamed_like_any_other() {
    aggregate_spec::<Brand>()
        .given_events(events![created("Contoso"), renamed("Contoso Ltd")])
        .given_held(BRAND_NAMES, "contoso ltd")
        .when(rename("Fabrikam"))
        .then_events(events![renamed("Fabrikam")])
        .then_holds_exactly([(BRAND_NAMES, "fabrikam")]);
}

// Retire, delete, restore.

#[test]
fn a_retired_brand_has_given_its_name_up() {
    contoso()
        .when(RetireBrand {})
        .then_events(events![retired("Contoso")])
        .then_holds_exactly([])
        .and_when(RetireBrand {})
        .then_no_events();
}

#[test]
fn a_retired_brand_takes_its_old_name_again_by_a_rename() {
    contoso()
        .given_command(RetireBrand {})
        .when(rename("Contoso"))
        .then_events(events![renamed("Contoso")])
        .then_holds_exactly([(BRAND_NAMES, "contoso")])
        .then_state(|brand| assert!(!brand.is_retired()));
}

#[test]
fn the_name_of_a_retired_brand_may_be_gone_when_it_wants_it_back() {
    contoso()
        .given_command(RetireBrand {})
        .given_reservation(BRAND_NAMES, "contoso")
        .when(rename("Contoso"))
        .then_rejected(NAME_TAKEN)
        .then_holds_exactly([]);
}

#[test]
fn a_deleted_brand_keeps_its_name_and_still_has_it_when_it_is_restored() {
    contoso()
        .when(Delete {})
        .then_deleted()
        .then_holds_exactly([(BRAND_NAMES, "contoso")])
        .and_when(Restore {})
        .then_holds_exactly([(BRAND_NAMES, "contoso")]);
}

#[test]
fn a_brand_that_was_retired_before_the_delete_holds_nothing() {
    contoso().given_command(RetireBrand {}).when(Delete {}).then_deleted().then_holds_exactly([]);
}

#[test]
fn a_deleted_brand_takes_no_command_but_restore() {
    contoso().given_deleted().when(rename("Fabrikam")).then_failed("DELETED").then_holds(BRAND_NAMES, "contoso");
    contoso().given_deleted().when(RetireBrand {}).then_failed("DELETED").then_holds(BRAND_NAMES, "contoso");
    contoso().given_deleted().when(create("Fabrikam")).then_failed("DELETED").then_holds(BRAND_NAMES, "contoso");
}

// Time: what a process that died has left pending.

#[test]
fn a_name_left_pending_by_a_dead_process_is_free_once_it_expires() {
    aggregate_spec::<Brand>()
        .given_pending_reservation(BRAND_NAMES, "contoso", Duration::from_secs(30))
        .when(create("Contoso"))
        .then_rejected_provisionally(NAME_TAKEN)
        .and_after(Duration::from_secs(30))
        .and_when(create("Contoso"))
        .then_events(events![created("Contoso")])
        .then_holds_exactly([(BRAND_NAMES, "contoso")]);
}

/// A domain waits a second by default; a spec, in no time at all, when it is told to.
#[test]
fn a_command_waits_for_a_name_that_is_only_pending() {
    aggregate_spec::<Brand>()
        .given_pending_reservation(BRAND_NAMES, "contoso", Duration::from_millis(200))
        .given_pending_wait(Duration::from_secs(1))
        .when(create("Contoso"))
        .then_events(events![created("Contoso")])
        .then_holds_exactly([(BRAND_NAMES, "contoso")]);
}

// Conflicts: others write to the brand between its decision and its append.

#[test]
fn a_command_is_decided_again_when_others_wrote_first() {
    contoso()
        .given_conflict(2)
        .when(rename("Fabrikam"))
        .then_events(events![renamed("Fabrikam")])
        .then_attempts(3)
        .then_holds_exactly([(BRAND_NAMES, "fabrikam")]);
}

#[test]
fn a_command_that_always_comes_too_late_leaves_the_names_as_they_were() {
    contoso()
        .given_conflict(100)
        .when(rename("Fabrikam"))
        .then_failed("CONFLICT")
        .then_holds_exactly([(BRAND_NAMES, "contoso")]);
}

#[test]
fn a_command_that_expects_another_version_is_not_tried_again() {
    contoso()
        .when_expecting(7, rename("Fabrikam"))
        .then_error(|error| assert!(!error.is_retryable(), "{error}"))
        .then_holds_exactly([(BRAND_NAMES, "contoso")]);
}

// Faults: the store fails, before or after it did what it was asked to.

#[test]
fn a_store_that_stumbles_once_is_asked_again() {
    aggregate_spec::<Brand>()
        .given_store_fault(At::Reserve, Fault::AnswerLost)
        .when(create("Contoso"))
        .then_events(events![created("Contoso")])
        .then_attempts(1);
}

#[test]
fn a_name_that_could_not_be_reserved_is_not_taken() {
    let failing = |spec: Spec<Brand>, _| spec.given_store_fault(At::Reserve, Fault::FailBefore);
    (0..10)
        .fold(aggregate_spec(), failing)
        .when(create("Contoso"))
        .then_failed("STORE_UNAVAILABLE")
        .then_holds_exactly([]);
}

#[test]
fn a_brand_that_was_surely_not_written_leaves_its_name_to_others_and_can_be_sent_again() {
    aggregate_spec::<Brand>()
        .given_store_fault(At::Append, Fault::FailBefore)
        .when(create("Contoso"))
        .then_error(|error| assert!(error.is_retryable() && error.surely_not_written(), "{error}"))
        .then_holds_exactly([])
        .and_when(create("Contoso"))
        .then_events(events![created("Contoso")]);
}

#[test]
fn a_brand_whose_answer_was_lost_is_there_all_the_same() {
    aggregate_spec::<Brand>()
        .given_store_fault(At::Append, Fault::AnswerLost)
        .when(create("Contoso"))
        .then_events(events![created("Contoso")])
        .then_holds_exactly([(BRAND_NAMES, "contoso")]);
}
