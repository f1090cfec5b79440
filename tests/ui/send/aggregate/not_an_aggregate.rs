use freehold::prelude::*;

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {}

async fn call(domain: &Domain, brand: &AggregateId<Brand>) {
    let _ = domain.load(brand).await;
}

fn main() {}
