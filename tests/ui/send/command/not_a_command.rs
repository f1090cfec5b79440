use freehold::prelude::*;
use freehold_tests::catalog::BrandCreated;

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {}

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

struct CreateBrand {}

async fn call(domain: &Domain, brand: &AggregateId<Brand>) {
    let _ = domain.send(brand, CreateBrand {}).await;
}

fn main() {}
