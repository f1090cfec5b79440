#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_event]
    fn created_again(&mut self, _: &BrandCreated) {}

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

fn main() {}
