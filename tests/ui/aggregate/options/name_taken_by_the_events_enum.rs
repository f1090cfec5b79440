#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_command(creates)]
    fn create(&self, command: CreateBrand) -> BrandEvent {
        BrandEvent { name: command.name }
    }

    #[on_event]
    fn created(&mut self, _: &BrandEvent) {}
}

#[derive(Event, Serialize, Deserialize)]
struct BrandEvent {
    name: String,
}

fn main() {}
