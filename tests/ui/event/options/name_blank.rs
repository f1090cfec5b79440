use freehold::prelude::*;

#[derive(Event, Serialize, Deserialize)]
#[event(name = "")]
struct BrandCreated {}

fn main() {}
