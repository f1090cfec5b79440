#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[cfg_attr(all(), on_command)]
    fn create(&self, command: CreateBrand) -> BrandCreated {
        BrandCreated { name: command.name }
    }

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

fn main() {}
