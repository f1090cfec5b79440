#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_command(creates)]
    fn create(&self, _: Create<'_>) -> BrandCreated {
        BrandCreated { name: String::new() }
    }

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

#[derive(Serialize, Deserialize)]
struct Create<'a> {
    name: &'a str,
}

fn main() {}
