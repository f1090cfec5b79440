#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_command(creates, produces = [BrandCreated, BrandCraeted])]
    fn create(&self, command: CreateBrand) -> Decision {
        Decision::event(BrandCreated { name: command.name })
    }

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

fn main() {}
