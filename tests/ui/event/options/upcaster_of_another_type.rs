use freehold::prelude::*;

#[derive(Event, Serialize, Deserialize)]
#[event(version = 2, upcasters = [from_v1])]
struct BrandCreated {}

fn from_v1(event: freehold::json::Value) -> freehold::json::Value {
    event
}

fn main() {}
