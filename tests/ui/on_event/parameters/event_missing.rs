use freehold::prelude::*;

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {}

#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_event]
    fn created(&mut self) {}}

fn main() {}
