//! Which names are the same one, and between whom: what takes more than one aggregate to see.

use crate::brand::{Brand, CreateBrand, RenameBrand, RetireBrand};
use crate::category::{Category, CreateCategory};
use crate::names::{BRAND_NAMES, CATEGORY_NAMES, NAME_TAKEN};
use freehold::{AggregateId, Domain, MemoryStore, RejectionCode, StreamId};
use freehold_testkit::drive;

fn domain() -> Domain {
    drive(Domain::builder().store(MemoryStore::new()).build()).unwrap()
}

fn brand(id: &'static str, tenant: &'static str) -> AggregateId<Brand> {
    AggregateId::new(id).unwrap().tenant(tenant).unwrap()
}

/// Creates a brand, or says by which rule it was refused.
fn create(domain: &Domain, brand: &AggregateId<Brand>, name: &str) -> Option<RejectionCode> {
    let created = drive(domain.send(brand, CreateBrand { name: name.to_owned() }).into_future());
    created.err().map(|error| error.rejection().expect("a rejection").code())
}

fn holder(domain: &Domain, tenant: &str, name: &str) -> Option<StreamId> {
    let holding = drive(domain.reservations().holder("eshop-catalog", BRAND_NAMES, Some(tenant), name));
    holding.unwrap().map(|holding| holding.holder)
}

#[test]
fn case_and_outer_spaces_make_no_other_name() {
    for same in ["contoso", "CONTOSO", " Contoso", "Contoso\u{3000}"] {
        assert!(BRAND_NAMES.same_key(same, "Contoso"), "{same:?}");
    }
    for other in ["Con toso", "Contos\u{f3}", "Contoso\u{200b}", "Contoso!"] {
        assert!(!BRAND_NAMES.same_key(other, "Contoso"), "{other:?}");
    }
}

#[test]
fn each_tenant_has_names_of_its_own() {
    let domain = domain();
    assert_eq!(create(&domain, &brand("1", "acme"), "Contoso"), None);
    assert_eq!(create(&domain, &brand("1", "globex"), "Contoso"), None);
    assert_eq!(create(&domain, &brand("2", "globex"), "contoso"), Some(NAME_TAKEN));
    assert_eq!(holder(&domain, "acme", "CONTOSO").as_ref(), Some(brand("1", "acme").stream()));
    assert_eq!(holder(&domain, "default", "Contoso"), None);
}

#[test]
fn a_brand_and_a_category_may_have_one_name() {
    let domain = domain();
    assert_eq!(create(&domain, &brand("1", "acme"), "Contoso"), None);
    let category = AggregateId::<Category>::new("1").unwrap().tenant("acme").unwrap();
    drive(domain.send(&category, CreateCategory { name: "Contoso".into() }).into_future()).unwrap();
    assert_eq!(drive(domain.reservations().held_by(category.stream())).unwrap()[0].namespace, CATEGORY_NAMES.name());
}

#[test]
fn a_name_that_was_given_up_is_free_for_others() {
    let domain = domain();
    let (one, other) = (brand("1", "acme"), brand("2", "acme"));
    assert_eq!(create(&domain, &one, "Contoso"), None);
    drive(domain.send(&one, RenameBrand { name: "Fabrikam".into() }).into_future()).unwrap();
    assert_eq!(create(&domain, &other, "Contoso"), None);
    drive(domain.send(&one, RetireBrand {}).into_future()).unwrap();
    assert_eq!(holder(&domain, "acme", "Fabrikam"), None);
}
