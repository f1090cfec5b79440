use freehold::prelude::*;
use freehold_tests::catalog::BrandCreated;

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {}

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_event]
    fn created(&mut self, _: &BrandCreated) -> bool {
        true
    }}

fn main() {}
