use freehold::prelude::*;

#[derive(Event, Serialize, Deserialize)]
struct BrandCreated {
    #[event(name = "name")]
    name: String,
}

fn main() {}
