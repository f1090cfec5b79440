#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_command(creates)]
    fn create(&self, command: CreateBrand) -> BrandCreated {
        BrandCreated { name: command.name }
    }

    fn helper(&self, ) -> {}

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

fn main() {}
