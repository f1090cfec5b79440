use freehold::prelude::*;
use freehold_tests::catalog::BrandCreated;

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {}

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_event(name = "brand-created")]
    fn created(&mut self, _: &BrandCreated) {}}

fn main() {}
