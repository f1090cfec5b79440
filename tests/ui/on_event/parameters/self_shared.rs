#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_event]
    fn created(&self, _: &BrandCreated) {}
}

fn main() {}
