use freehold::prelude::*;
use freehold_tests::catalog::{BrandCreated, CreateBrand};

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {}

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

async fn call(domain: &Domain, brand: &AggregateId<Brand>) {
    let _ = domain.send(brand, CreateBrand { name: String::new() }).await;
}

fn main() {}
