#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_command(creates, produces = [BrandCreated])]
    async fn create(&self, command: CreateBrand) -> Result<Decision, DecideError> {
        drop(command);
    }

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

fn main() {}
