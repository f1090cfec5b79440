use freehold::prelude::*;

#[aggregate(context = "eshop-catalog")]
#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {}

fn main() {}
