#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_command(creates, produces = [Created])]
    fn create(&self, command: CreateBrand) -> Decision {
        Decision::event(Created { name: command.name })
    }

    #[on_event]
    fn created(&mut self, _: &Created) {}
}

#[derive(Serialize, Deserialize)]
struct Created {
    name: String,
}

fn main() {}
