#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

async fn call(domain: &Domain, brand: &AggregateId<Brand>) {
    let _ = domain.send(brand, CreateBrand { name: String::new() }).await;
}

fn main() {}
