use freehold::prelude::*;

#[derive(Event, Serialize, Deserialize)]
#[event(version = 2)]
struct BrandCreated {}

fn main() {}
