use freehold::prelude::*;
use freehold_tests::catalog::CreateBrand;

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {}

async fn call(domain: &Domain, brand: &AggregateId<Brand>) {
    let _ = domain.send(brand, CreateBrand { name: String::new() }).await;
}

fn main() {}
