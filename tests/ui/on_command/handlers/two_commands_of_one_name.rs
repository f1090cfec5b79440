#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_command(creates)]
    fn create(&self, command: CreateBrand) -> BrandCreated {
        BrandCreated { name: command.name }
    }

    #[on_command(creates)]
    fn create_again(&self, command: v2::CreateBrand) -> BrandCreated {
        BrandCreated { name: command.name }
    }

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

mod v2 {
    #[derive(serde::Serialize, serde::Deserialize)]
    pub struct CreateBrand {
        pub name: String,
    }
}

fn main() {}
