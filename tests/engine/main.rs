//! The engine's rules, one by one, where no particular store is needed (C1 to C10, R2, R5, R6, R9, R12 to R14, R19, R21).

#![expect(
    clippy::needless_pass_by_value,
    clippy::trivially_copy_pass_by_ref,
    clippy::unnecessary_wraps,
    clippy::unused_async,
    reason = "handlers and upcasters have the shape that the macros ask for"
)]

mod building;
mod calls;
mod decoding;
mod errors;
mod handlers;
mod late;
mod outcomes;
mod privacy;
mod queueing;
mod regressions;
mod waiting;

use freehold::{Domain, DomainBuilder, MemoryStore, Store};
use freehold_testkit::script::{DOMAINS, NAMES, Scripted};
use freehold_testkit::store::FaultyStore;

/// A builder of the scripted domain, on `store`.
fn builder(store: impl Store) -> DomainBuilder {
    Domain::builder().without_discovery().aggregate::<Scripted>().namespace(NAMES).namespace(DOMAINS).store(store)
}

async fn on(store: impl Store) -> Domain {
    builder(store).build().await.expect("the domain is built")
}

fn faulty() -> FaultyStore {
    FaultyStore::new(MemoryStore::new())
}

fn text(text: &str) -> String {
    text.to_owned()
}
