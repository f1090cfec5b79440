#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_event]
    async fn created(&mut self, _: &BrandCreated) {}
}

fn main() {}
