//! What an import does with names that are there already, taken, or pending for a process that died.

use crate::brand::Brand;
use crate::ids::imported_id;
use crate::import::{Report, import};
use crate::lines::read;
use crate::listing::Listing;
use crate::names::{BRAND_NAMES, NAME_TAKEN};
use freehold::reservation::RequestHash;
use freehold::store::{Reserve, ReserveKey, Store};
use freehold::{AggregateId, Domain, MemoryStore, Token};
use std::sync::Arc;
use std::time::Duration;

async fn domain() -> Domain {
    Domain::builder().store(MemoryStore::new()).build().await.unwrap()
}

async fn imported(domain: &Domain, file: &str) -> Report {
    let (lines, bad) = read(file.as_bytes(), BRAND_NAMES);
    assert_eq!(bad, []);
    let (mut report, mut settled) = (Report::default(), 0);
    import::<Brand>(domain, "acme", lines, &mut report, |report| settled = report.settled()).await.unwrap();
    assert_eq!((report.settled(), settled), (report.names, report.names), "{report:?}");
    report
}

fn numbers(report: &Report) -> (usize, usize, usize) {
    (report.created, report.already_there, report.rejected.len())
}

#[tokio::test]
async fn of_lines_with_one_name_the_first_gets_it_and_the_others_are_rejected() {
    let domain = domain().await;
    let report = imported(&domain, "title\tContoso\naka\tCONTOSO\ntitle\tFabrikam\ntitle\tContoso\n").await;
    assert_eq!(numbers(&report), (2, 0, 2));
    let rejected = report.rejected.iter().map(|refused| (refused.line.number, refused.error.rejection()));
    let codes: Vec<_> = rejected.map(|(number, rejection)| (number, rejection.unwrap().code())).collect();
    assert_eq!(codes, [(2, NAME_TAKEN), (4, NAME_TAKEN)]);
    let mut listing = Listing::<Brand>::new("acme");
    listing.catch_up(&domain).await.unwrap();
    let names: Vec<_> = listing.items.values().map(|item| item.state.name()).collect();
    assert_eq!(names, ["Contoso", "Fabrikam"]);
}

#[tokio::test]
async fn an_import_that_is_repeated_changes_nothing_even_where_names_have_changed() {
    let domain = domain().await;
    let file = "title\tContoso\naka\tContoso\ntitle\tFabrikam\n";
    assert_eq!(numbers(&imported(&domain, file).await), (2, 0, 1));
    let (lines, _) = read(file.as_bytes(), BRAND_NAMES);
    let contoso = AggregateId::<Brand>::new(imported_id(&lines[0])).unwrap().tenant("acme").unwrap();
    domain.send(&contoso, crate::brand::RenameBrand { name: "Northwind".into() }).await.unwrap();
    domain.send(&contoso, freehold::Delete {}).await.unwrap();
    // The alias finds the name free now; the title is done and stays so.
    assert_eq!(numbers(&imported(&domain, file).await), (1, 2, 0));
    assert_eq!(numbers(&imported(&domain, file).await), (0, 3, 0));
}

#[tokio::test]
async fn a_file_that_has_grown_is_imported_where_it_grew() {
    let domain = domain().await;
    assert_eq!(numbers(&imported(&domain, "title\tContoso\n").await), (1, 0, 0));
    assert_eq!(numbers(&imported(&domain, "kind\tname\naka\tFabrikam\ntitle\tContoso\n").await), (1, 1, 0));
}

/// R21: a provisional rejection is sent again until the lease has run out; it is never counted.
#[tokio::test]
async fn a_name_that_a_dead_process_left_pending_is_waited_for() {
    let store = Arc::new(MemoryStore::new());
    let domain = Domain::builder().shared_store(store.clone()).pending_wait(Duration::ZERO).build().await.unwrap();
    let dead = AggregateId::<Brand>::new("dead").unwrap().tenant("acme").unwrap();
    let (token, request) = (Token::from_u128(1), RequestHash(1));
    let key = BRAND_NAMES.key_id("contoso", dead.stream()).unwrap();
    let keys = vec![ReserveKey { key, epoch: 1, token, request, pending_ms: 200 }];
    let reply = store.reserve(Reserve { holder: dead.stream().clone(), keys }).await.unwrap();
    assert!(reply.answers[0].is_ours());
    assert_eq!(numbers(&imported(&domain, "title\tContoso\ntitle\tFabrikam\n").await), (2, 0, 0));
}
