use freehold::prelude::*;
use freehold_tests::catalog::BrandCreated;

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {}

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_event]
    fn created_again(&mut self, _: &v2::BrandCreated) {}

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

mod v2 {
    #[derive(freehold::Event, serde::Serialize, serde::Deserialize)]
    pub struct BrandCreated {}
}

fn main() {}
