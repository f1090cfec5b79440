//! A category has the rules of a brand; here are those that could differ.

use crate::category::{
    Category, CategoryCreated, CategoryRenamed, CategoryRetired, CreateCategory, RenameCategory, RetireCategory,
};
use crate::names::{BLANK_NAME, BRAND_NAMES, CATEGORY_NAMES, NAME_TAKEN};
use freehold::{Delete, Restore};
use freehold_testkit::{Spec, aggregate_spec, events};

fn create(name: &str) -> CreateCategory {
    CreateCategory { name: name.to_owned() }
}

fn rename(name: &str) -> RenameCategory {
    RenameCategory { name: name.to_owned() }
}

fn shoes() -> Spec<Category> {
    aggregate_spec::<Category>().given_command(create("Shoes"))
}

#[test]
fn a_new_category_takes_its_name() {
    aggregate_spec::<Category>()
        .when(create(" Shoes "))
        .then_events(events![CategoryCreated { name: "Shoes".into() }])
        .then_holds_exactly([(CATEGORY_NAMES, "shoes")]);
}

#[test]
fn a_category_may_have_the_name_of_a_brand() {
    aggregate_spec::<Category>()
        .given_reservation(BRAND_NAMES, "shoes")
        .when(create("Shoes"))
        .then_events(events![CategoryCreated { name: "Shoes".into() }]);
}

#[test]
fn a_taken_name_and_a_blank_one_are_rejected() {
    aggregate_spec::<Category>()
        .given_reservation(CATEGORY_NAMES, " SHOES ")
        .when(create("Shoes"))
        .then_rejected(NAME_TAKEN)
        .and_when(create(" "))
        .then_rejected(BLANK_NAME)
        .then_holds_exactly([]);
}

#[test]
fn a_rename_takes_the_new_name_and_releases_the_old() {
    shoes()
        .when(rename("Boots"))
        .then_events(events![CategoryRenamed { name: "Boots".into() }])
        .then_holds_exactly([(CATEGORY_NAMES, "boots")]);
}

#[test]
fn the_same_name_is_nothing_to_do_and_a_new_spelling_keeps_its_key() {
    shoes()
        .when(rename("Shoes"))
        .then_no_events()
        .and_when(rename("SHOES"))
        .then_events(events![CategoryRenamed { name: "SHOES".into() }])
        .then_holds_exactly([(CATEGORY_NAMES, "shoes")]);
}

#[test]
fn a_category_that_is_retired_before_its_delete_holds_nothing() {
    shoes()
        .when(RetireCategory {})
        .then_events(events![CategoryRetired { name: "Shoes".into() }])
        .and_when(Delete {})
        .then_deleted()
        .then_holds_exactly([])
        .and_when(Restore {})
        .then_holds_exactly([])
        .then_state(|category| assert!(category.is_retired()));
}
