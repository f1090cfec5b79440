use freehold::prelude::*;
use freehold_tests::catalog::{BrandCreated, CreateBrand};

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {}

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_command(creates = "yes")]
    fn create(&self, command: CreateBrand) -> BrandCreated {
        BrandCreated { name: command.name }
    }

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

fn main() {}
