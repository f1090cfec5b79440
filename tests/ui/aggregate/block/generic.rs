#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand<T> {
    owner: T,
}

#[aggregate(context = "eshop-catalog")]
impl<T> Brand<T> {
    #[on_command(creates)]
    fn create(&self, command: CreateBrand) -> BrandCreated {
        BrandCreated { name: command.name }
    }

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

fn main() {}
