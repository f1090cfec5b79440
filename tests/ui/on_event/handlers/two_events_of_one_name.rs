#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_event]
    fn created_again(&mut self, _: &v2::BrandCreated) {}

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

mod v2 {
    #[derive(freehold::Event, serde::Serialize, serde::Deserialize)]
    pub struct BrandCreated {}
}

fn main() {}
