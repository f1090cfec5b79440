use freehold::prelude::*;

#[derive(Event, Serialize, Deserialize)]
#[event(name = "$created")]
struct BrandCreated {}

fn main() {}
