#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

struct Create {}

async fn call(domain: &Domain, brand: &AggregateId<Brand>) {
    let _ = domain.send(brand, Create {}).await;
}

fn main() {}
