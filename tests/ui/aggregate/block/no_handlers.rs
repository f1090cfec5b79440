use freehold::prelude::*;

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {}

#[aggregate(context = "eshop-catalog")]
impl Brand {
    fn is_old(&self) -> bool {
        true
    }
}

fn main() {}
