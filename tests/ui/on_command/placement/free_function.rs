#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;
use freehold::on_command;

#[on_command(creates)]
fn create(command: CreateBrand) -> BrandCreated {
    BrandCreated { name: command.name }
}

fn main() {}
