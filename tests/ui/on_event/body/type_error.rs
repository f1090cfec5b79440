use freehold::prelude::*;
use freehold_tests::catalog::BrandCreated;

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {
    name: String,
}

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_event]
    fn created(&mut self, event: &BrandCreated) {
        self.name = &event.name;
    }}

fn main() {}
