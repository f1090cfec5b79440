use freehold::on_command;
use freehold_tests::catalog::{BrandCreated, CreateBrand};

struct Brand {}

impl Brand {
    #[on_command(creates)]
    fn create(&self, command: CreateBrand) -> BrandCreated {
        BrandCreated { name: command.name }
    }
}

fn main() {}
