use freehold::on_command;
use freehold_tests::catalog::{BrandCreated, CreateBrand};

#[on_command(creates)]
fn create(command: CreateBrand) -> BrandCreated {
    BrandCreated { name: command.name }
}

fn main() {}
