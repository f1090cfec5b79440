#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_command(creates, produces = [BrandCreated])]
    fn create(&self, command: CreateBrand) -> Decision {
        Decision::event(BrandRenamed { name: command.name })
    }

    #[on_event]
    fn renamed(&mut self, _: &BrandRenamed) {}

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

fn main() {}
