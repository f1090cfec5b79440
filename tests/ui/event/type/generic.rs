use freehold::prelude::*;

#[derive(Event, Serialize, Deserialize)]
struct BrandCreated<T> {
    owner: T,
}

fn main() {}
