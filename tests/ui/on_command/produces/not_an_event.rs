use freehold::prelude::*;
use freehold_tests::catalog::CreateBrand;

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {}

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_command(creates, produces = [Created])]
    fn create(&self, command: CreateBrand) -> Decision {
        Decision::event(Created { name: command.name })
    }

    #[on_event]
    fn created(&mut self, _: &Created) {}}

#[derive(Serialize, Deserialize)]
struct Created {
    name: String,
}

fn main() {}
