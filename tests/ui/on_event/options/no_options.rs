#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_event(name = "brand-created")]
    fn created(&mut self, _: &BrandCreated) {}
}

fn main() {}
