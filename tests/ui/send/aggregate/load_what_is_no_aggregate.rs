#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

async fn call(domain: &Domain, brand: &AggregateId<Brand>) {
    let _ = domain.load(brand).await;
}

fn main() {}
