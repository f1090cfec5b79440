#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_command(creates, produces = [BrandCreated])]
    async fn create(&self, command: CreateBrand, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        let name = std::rc::Rc::new(command.name);
        scope.reserve(NAMES, &name).await?.or_reject("TAKEN", "taken")?;
        Ok(Decision::event(BrandCreated { name: name.to_string() }))
    }

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

const NAMES: Namespace = Namespace::new("eshop-catalog.brand-name");

fn main() {}
