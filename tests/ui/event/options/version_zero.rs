use freehold::prelude::*;

#[derive(Event, Serialize, Deserialize)]
#[event(version = 0)]
struct BrandCreated {}

fn main() {}
