use freehold::prelude::*;

#[derive(Event, Serialize, Deserialize)]
#[event(nmae = "brand-created")]
struct BrandCreated {}

fn main() {}
