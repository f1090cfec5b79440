#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "")]
impl Brand {
    #[on_command(creates, produce = [BrandCreated])]
    fn create(&self, command: CreateBrand) -> BrandCreated {
        BrandCreated { name: command.name }
    }

    #[on_command]
    fn rename(&mut self, command: RenameBrand) -> BrandRenamed {
        BrandRenamed { name: command.name }
    }

    #[on_event]
    fn created(&mut self, _: BrandCreated) {}

    #[on_event]
    async fn renamed(&mut self, _: &BrandRenamed) {}
}

fn main() {}
