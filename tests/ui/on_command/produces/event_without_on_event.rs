use freehold::prelude::*;
use freehold_tests::catalog::{BrandCreated, CreateBrand};

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {}

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_command(creates, produces = [BrandCreated])]
    fn create(&self, command: CreateBrand) -> Decision {
        Decision::event(BrandCreated { name: command.name })
    }}

fn main() {}
