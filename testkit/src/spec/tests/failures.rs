//! How a spec fails: one golden text for each way, and the line at which it does.

use super::fixture::*;
use super::golden::{check, failure};
use crate::{At, Fault, Spec, aggregate_spec, events, then_event_matches};
use std::time::Duration;

fn create(name: &str) -> CreateBrand {
    CreateBrand { name: name.into() }
}

fn rename(name: &str) -> RenameBrand {
    RenameBrand { name: name.into() }
}

fn contoso() -> Spec<Brand> {
    aggregate_spec().given_command(create("Contoso"))
}

fn described(founded: u32, city: &str) -> BrandDescribed {
    let colours = ["blue", "green"].map(String::from).to_vec();
    BrandDescribed { motto: "Onward".into(), founded, address: address(city), colours }
}

/// One test for each, named like its golden file.
macro_rules! fails {
    ($($name:ident: $spec:expr;)*) => {
        pub(super) const NAMES: &[&str] = &[$(stringify!($name)),*];

        $(#[test]
        fn $name() {
            check(stringify!($name), || drop($spec));
        })*
    };
}

fails! {
    forgotten_release: contoso()
        .when(RenameAndKeep { name: "Fabrikam".into() })
        .then_events(events![BrandRenamed { name: "Fabrikam".into() }])
        .then_holds_exactly([(BRAND_NAMES, "fabrikam")]);

    held_keys_missing: contoso()
        .given_reservation(BRAND_NAMES, "northwind")
        .when(rename("Fabrikam"))
        .then_holds_exactly([(BRAND_NAMES, "contoso"), (BRAND_NAMES, "fabrikam"), (LOOSE_NAMES, "caf\u{e9}")]);

    forgotten_trim: aggregate_spec::<Brand>()
        .given_reservation(LOOSE_NAMES, "fabrikam")
        .when(CreateLoose { name: " Fabrikam ".into() })
        .then_rejected(NAME_TAKEN);

    not_expired_yet: aggregate_spec::<Brand>()
        .given_pending_reservation(BRAND_NAMES, "fabrikam", Duration::from_secs(30))
        .when(create("Fabrikam"))
        .then_rejected(NAME_TAKEN)
        .and_after(Duration::from_millis(29_999))
        .and_when(create("Fabrikam"))
        .then_events(events![BrandCreated { name: "Fabrikam".into() }]);

    field_differs: contoso()
        .when(DescribeBrand { motto: "Onward".into() })
        .then_events(events![described(1976, "Seattle")]);

    too_many_events: contoso()
        .when(rename("Fabrikam"))
        .then_events(events![BrandCreated { name: "Contoso".into() }, BrandRenamed { name: "Fabrikam".into() }]);

    unexpected_events: contoso().when(rename("Fabrikam")).then_no_events();

    unexpected_no_op: contoso().when(rename("Contoso")).then_rejected(NAME_TAKEN);

    wrong_rejection: contoso().when(rename("  ")).then_rejected(NAME_TAKEN);

    not_provisional: contoso()
        .given_reservation(BRAND_NAMES, "fabrikam")
        .when(rename("Fabrikam"))
        .then_rejected_provisionally(NAME_TAKEN);

    unexpected_error: aggregate_spec::<Brand>()
        .when(ImportBrand { source: "last year".into() })
        .then_events(events![BrandCreated { name: "imported".into() }]);

    wrong_error: contoso().when(create("Contoso")).then_failed("NOT_FOUND");

    handler_panicked: aggregate_spec::<Brand>().when(Explode {}).then_no_events();

    nobody_looked: contoso().when(rename("Fabrikam"));

    nobody_looked_before: contoso().when(rename("Fabrikam")).and_when(rename("Contoso")).then_version(3);

    given_command_fails: aggregate_spec::<Brand>()
        .given_reservation(BRAND_NAMES, "contoso")
        .given_command(create("Contoso"))
        .when(rename("Fabrikam"))
        .then_version(2);

    given_key_is_taken: contoso().given_reservation(BRAND_NAMES, "contoso").when(rename("Fabrikam")).then_version(2);

    key_not_held: contoso()
        .given_reservation(BRAND_NAMES, "fabrikam")
        .when(rename("Fabrikam"))
        .then_rejected(NAME_TAKEN)
        .then_holds(BRAND_NAMES, " Fabrikam");

    key_held: contoso().when(RenameAndKeep { name: "Fabrikam".into() }).then_does_not_hold(BRAND_NAMES, "contoso");

    no_key: contoso().when(rename("Fabrikam")).then_holds(BRAND_NAMES, "  ");

    attempts_differ: contoso().given_conflict(1).when(rename("Fabrikam")).then_attempts(1);

    fault_unexpected: contoso()
        .given_store_fault(At::Append, Fault::FailUnknownBefore)
        .when(rename("Fabrikam"))
        .then_events(events![BrandRenamed { name: "Fabrikam".into() }]);

    version_differs: contoso().given_held(LOOSE_NAMES, "x").when(rename("Fabrikam")).then_version(2);

    not_a_replay: aggregate_spec::<Brand>()
        .when_request("r-1", create("Contoso"))
        .then_version(1)
        .and_when_request("r-2", rename("Fabrikam"))
        .then_replayed();

    event_does_not_match: {
        let outcome = contoso().when(rename("Fabrikam"));
        then_event_matches!(outcome, 0, BrandRenamed { name } if name == "fabrikam")
    };

    not_deleted: contoso().when(rename("Fabrikam")).then_deleted();

    no_state: aggregate_spec::<Brand>()
        .given_reservation(BRAND_NAMES, "contoso")
        .when(create("Contoso"))
        .then_state(|brand| assert_eq!(brand.name, ""));

    waits_outside: aggregate_spec::<Brand>().when(WaitForever {}).then_no_events();

    service_missing: contoso().when(PriceBrand {}).then_version(1);

    domain_not_built: aggregate_spec::<Brand>()
        .given_namespace(freehold::Namespace::new(""))
        .when(create("Contoso"))
        .then_version(1);

    long_values: contoso()
        .when(DescribeBrand { motto: "On and ".repeat(40) })
        .then_events(events![BrandDescribed { motto: "On and ".repeat(40) + "on", ..described(1975, "Redmond") }]);

    given_fails_in_a_future: crate::drive(
        contoso().given_reservation(BRAND_NAMES, "contoso").when_async(rename("Fabrikam")),
    );

    no_handler_called: aggregate_spec::<Brand>().when(rename("Fabrikam")).then_no_events();
}

#[test]
fn the_panic_points_at_the_users_own_line() {
    let (_, place) = failure(|| {
        let outcome = contoso().when(rename("Fabrikam"));
        outcome.then_no_events();
    });
    assert_eq!((place.file.as_str(), place.line), (file!(), line!() - 2));
    let (_, place) = failure(|| drop(contoso().given_id("").when(rename("Fabrikam"))));
    assert_eq!((place.file.as_str(), place.line), (file!(), line!() - 1));
}

#[test]
fn a_failing_assertion_of_the_users_own_is_left_as_it_is() {
    let (text, place) =
        failure(|| drop(contoso().when(rename("Fabrikam")).then_state(|brand| assert!(brand.name.is_empty()))));
    assert_eq!((text.as_str(), place.file.as_str()), ("assertion failed: brand.name.is_empty()", file!()));
}

#[test]
fn an_outcome_that_nobody_looked_at_names_its_line() {
    let (text, _) = failure(|| drop(contoso().when(rename("Fabrikam"))));
    let place = format!("{}:{}:", file!(), line!() - 1);
    assert!(text.contains(&place), "{place} in\n{text}");
}
