#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_event]
    fn created(&mut self, event: &BrandCreated) {
        self.name = &event.name;
    }
}

fn main() {}
