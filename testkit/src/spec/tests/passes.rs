//! What a spec lets pass: every given, when and then, on brands that are decided well.

use super::fixture::*;
use crate::{At, Fault, ManualClock, Outcome, Spec, aggregate_spec, events, then_event_matches};
use freehold::{Clock, Delete, Error, Restore, Timestamp};
use std::sync::Arc;
use std::time::Duration;

const HALF_A_MINUTE: Duration = Duration::from_secs(30);

fn named(name: &str) -> CreateBrand {
    CreateBrand { name: name.into() }
}

fn renamed(name: &str) -> RenameBrand {
    RenameBrand { name: name.into() }
}

fn contoso() -> Spec<Brand> {
    aggregate_spec().given_command(named("Contoso"))
}

#[test]
fn a_rename_takes_the_new_name_and_releases_the_old() {
    let outcome = contoso()
        .when(renamed(" Fabrikam "))
        .then_events(events![BrandRenamed { name: "Fabrikam".into() }])
        .then_state(|brand| assert_eq!(brand.name, "Fabrikam"))
        .then_holds_exactly([(BRAND_NAMES, "Fabrikam ")])
        .then_holds(BRAND_NAMES, "FABRIKAM")
        .then_does_not_hold(BRAND_NAMES, "contoso")
        .then_version(2)
        .then_attempts(1);
    assert!(outcome.holds(BRAND_NAMES, "fabrikam") && !outcome.holds(BRAND_NAMES, ""));
}

#[test]
fn a_name_another_brand_holds_is_rejected_whatever_its_case_and_spaces() {
    aggregate_spec::<Brand>()
        .given_reservation(BRAND_NAMES, "Fabrikam")
        .when(named(" fabrikam "))
        .then_rejected(NAME_TAKEN)
        .then_error(|error| assert!(!error.is_retryable()))
        .then_holds_exactly([]);
}

#[test]
fn a_name_left_pending_by_a_dead_process_is_free_once_it_expires() {
    aggregate_spec::<Brand>()
        .given_pending_reservation(BRAND_NAMES, "fabrikam", HALF_A_MINUTE)
        .when(named("Fabrikam"))
        .then_rejected_provisionally(NAME_TAKEN)
        .then_rejected("NAME_TAKEN")
        .and_after(HALF_A_MINUTE)
        .and_when(named("Fabrikam"))
        .then_events(events![BrandCreated { name: "Fabrikam".into() }])
        .then_holds_exactly([(BRAND_NAMES, "fabrikam")]);
}

#[test]
fn with_a_wait_the_clock_moves_by_itself_until_the_key_is_free() {
    aggregate_spec::<Brand>()
        .given_pending_reservation(BRAND_NAMES, "fabrikam", Duration::from_millis(400))
        .given_pending_wait(Duration::from_secs(1))
        .when(named("Fabrikam"))
        .then_attempts(2)
        .then_holds(BRAND_NAMES, "fabrikam");
}

#[test]
fn given_events_are_a_history_without_keys() {
    contoso_by_events()
        .given_held(BRAND_NAMES, "contoso")
        .when(renamed("Contoso"))
        .then_no_events()
        .then_events(events![])
        .then_holds_exactly([(BRAND_NAMES, "contoso")])
        .then_version(2);
}

fn contoso_by_events() -> Spec<Brand> {
    aggregate_spec().given_events(events![BrandCreated { name: "Contoso".into() }, DraftSaved {}])
}

#[test]
fn conflicts_are_decided_again_and_given_commands_meet_none() {
    contoso().given_conflict(2).when(renamed("Fabrikam")).then_attempts(3).then_version(4);
    contoso().given_conflict(99).when(renamed("Fabrikam")).then_failed("CONFLICT").then_attempts(12);
}

#[test]
fn a_fault_is_survived_or_reported() {
    let faulty = |at, fault| contoso().given_store_fault(at, fault).when(renamed("Fabrikam"));
    let renamed_all = |outcome: Outcome<Brand>| outcome.then_holds_exactly([(BRAND_NAMES, "fabrikam")]);
    let kept = |outcome: Outcome<Brand>| outcome.then_holds_exactly([(BRAND_NAMES, "contoso")]);
    kept(faulty(At::Append, Fault::FailBefore).then_failed("STORE_UNAVAILABLE"));
    kept(faulty(At::Append, Fault::FailUnknownBefore).then_failed("NOT_WRITTEN"));
    renamed_all(faulty(At::Append, Fault::AnswerLost));
    renamed_all(faulty(At::Reserve, Fault::AnswerLost));
    kept(faulty(At::Load, Fault::FailBefore).then_failed("STORE_UNAVAILABLE"));
    contoso()
        .given_reservation(BRAND_NAMES, "fabrikam")
        .given_store_fault(At::GiveUp, Fault::FailBefore)
        .when(renamed("Fabrikam"))
        .then_rejected(NAME_TAKEN);
    let mut lost = contoso();
    for _ in 0..3 {
        lost = lost.given_store_fault(At::Reserve, Fault::FailBefore);
    }
    kept(lost.when(renamed("Fabrikam")).then_failed("STORE_UNAVAILABLE"));
}

#[test]
fn a_request_sent_again_is_a_replay() {
    aggregate_spec::<Brand>()
        .when_request("r-1", named("Contoso"))
        .then_events(events![BrandCreated { name: "Contoso".into() }])
        .and_when_request("r-1", named("Contoso"))
        .then_replayed()
        .then_version(1)
        .and_when_request("r-1", named("Fabrikam"))
        .then_failed("REQUEST_ID_REUSED")
        .and_when_expecting(7, renamed("Fabrikam"))
        .then_failed("CONFLICT")
        .and_when_with(renamed("Fabrikam"), |send| send.expect_version(1).metadata("by", "me"))
        .then_version(2);
}

#[test]
fn deleted_is_a_state_of_its_own() {
    contoso().when(Delete {}).then_deleted().then_holds(BRAND_NAMES, "contoso");
    contoso()
        .given_deleted()
        .when(renamed("Fabrikam"))
        .then_failed("DELETED")
        .then_attempts(0)
        .and_when(Restore {})
        .then_version(3)
        .and_when(renamed("Fabrikam"))
        .then_holds(BRAND_NAMES, "fabrikam");
}

#[test]
fn services_tenants_ids_and_time_are_given() {
    struct Cheap;
    impl Pricing for Cheap {
        fn price(&self, name: &str) -> String {
            format!("{name:?} for 1")
        }
    }
    contoso()
        .given_service::<dyn Pricing>(Arc::new(Cheap))
        .given_tenant("acme")
        .given_id("brand-2")
        .given_time(Timestamp::from_millis(0))
        .given_after(HALF_A_MINUTE)
        .when(PriceBrand {})
        .then_events(events![BrandCreated { name: "\"Contoso\" for 1".into() }]);
}

#[test]
fn a_pattern_matches_one_event() {
    let outcome = contoso().when(renamed("Fabrikam"));
    let outcome = then_event_matches!(outcome, 0, BrandRenamed { .. });
    let outcome = then_event_matches!(outcome, 0, BrandRenamed);
    then_event_matches!(outcome, 0, super::fixture::BrandRenamed { name } if name.starts_with('F')).then_version(2);
}

#[test]
fn sets_without_an_order_break_no_law() {
    let tags = || ["a", "b", "c", "d", "e", "f"].map(String::from).into_iter().collect();
    let tagged = contoso().when(TagBrand { tags: tags() });
    tagged.then_state(|brand| assert_eq!(brand.tags.len(), 6)).and_when(renamed("Fabrikam")).then_version(3);
}

#[test]
fn a_panic_and_an_error_leave_nothing_behind() {
    let (outcome, _) = super::golden::failure(|| drop(aggregate_spec::<Brand>().when(Explode {})));
    assert!(outcome.contains("PANICKED"), "{outcome}");
    aggregate_spec::<Brand>()
        .when(ImportBrand { source: "x".into() })
        .then_error(|error| assert!(matches!(error, Error::Failed { .. })))
        .then_holds_exactly([]);
}

#[test]
fn a_namespace_is_known_by_hand() {
    aggregate_spec::<Brand>().when(CreateHidden { name: "x".into() }).then_failed("MISCONFIGURED");
    let spec = aggregate_spec::<Brand>().given_namespace(HIDDEN_NAMES);
    spec.when(CreateHidden { name: "x".into() }).then_holds(HIDDEN_NAMES, "x");
}

#[tokio::test]
async fn a_handler_that_needs_a_runtime_has_one() {
    aggregate_spec::<Brand>()
        .when_async(AskRuntime {})
        .await
        .then_events(events![BrandCreated { name: "from a task".into() }])
        .and_when(renamed("Fabrikam"))
        .then_version(2);
}

#[test]
fn the_story_is_the_same_each_time() {
    let story = || contoso().given_conflict(1).when(renamed("Fabrikam")).transcript();
    assert_eq!(story(), story());
    assert_eq!(ManualClock::new().now(), ManualClock::default().now());
}
