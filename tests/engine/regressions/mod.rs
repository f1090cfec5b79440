//! What once went wrong, or nearly did: one test each, named after the rule that it broke.

mod commands;
mod dropping;
mod keys;
mod panics;
mod reading_back;
mod rekeying;
mod requests;
mod stores;
mod waiting;

use freehold::prelude::*;
use freehold::reservation::Record;
use freehold::{MemoryStore, Store};

/// An id of an aggregate.
fn id<A: freehold::Aggregate>(id: &str) -> AggregateId<A> {
    AggregateId::new(id).expect("an id")
}

/// What the store has of a key, as the aggregate sees it.
async fn record<A: freehold::Aggregate>(
    store: &MemoryStore,
    namespace: Namespace,
    key: &str,
    of: &AggregateId<A>,
) -> Option<Record> {
    let key = namespace.key_id(key, of.stream()).expect("a key");
    store.reservation(key).await.expect("read").record
}
