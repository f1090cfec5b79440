#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_command(creates)]
    fn create(&self, _: &mut DecideScope<'_>, _: CreateBrand) -> BrandCreated {
        BrandCreated { name: String::new() }
    }

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

fn main() {}
