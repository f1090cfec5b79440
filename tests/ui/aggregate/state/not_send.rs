#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {
    #[serde(skip)]
    owner: std::rc::Rc<String>,
}

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_command(creates)]
    fn create(&self, command: CreateBrand) -> BrandCreated {
        BrandCreated { name: command.name }
    }

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

fn main() {}
