#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

async fn call(domain: &Domain, brand: &AggregateId<Brand>) {
    let _ = domain.send(brand, CreateBrand { name: String::new() }).await;
}

fn main() {}
