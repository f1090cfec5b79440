#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

struct Brand {}

impl Brand {
    #[on_command(creates)]
    fn create(&self, command: CreateBrand) -> BrandCreated {
        BrandCreated { name: command.name }
    }
}

fn main() {}
