use freehold::prelude::*;
use freehold_tests::catalog::{BrandCreated, CreateBrand};

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {}

#[aggregate(context = "eshop-catalog")]
impl Create for Brand {
    #[on_command(creates)]
    fn create(&self, command: CreateBrand) -> BrandCreated {
        BrandCreated { name: command.name }
    }

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

trait Create {
    fn create(&self, command: CreateBrand) -> BrandCreated;
    fn created(&mut self, event: &BrandCreated);
}

fn main() {}
