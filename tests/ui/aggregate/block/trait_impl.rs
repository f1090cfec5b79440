#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Create for Brand {
    #[on_command(creates)]
    fn create(&self, command: CreateBrand) -> BrandCreated {
        BrandCreated { name: command.name }
    }

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

trait Create {
    fn create(&self, command: CreateBrand) -> BrandCreated;
    fn created(&mut self, event: &BrandCreated);
}

fn main() {}
