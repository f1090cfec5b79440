#![deny(unused_must_use)]

#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_command(creates, produces = [BrandCreated])]
    async fn create(&self, command: CreateBrand, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        scope.reserve(NAMES, &command.name).await?;
        Ok(Decision::event(BrandCreated { name: command.name }))
    }

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

const NAMES: Namespace = Namespace::new("eshop-catalog.brand-name");

fn main() {}
