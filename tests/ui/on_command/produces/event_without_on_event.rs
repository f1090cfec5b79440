#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_command(creates, produces = [BrandCreated])]
    fn create(&self, command: CreateBrand) -> Decision {
        Decision::event(BrandCreated { name: command.name })
    }
}

fn main() {}
