use freehold::prelude::*;

#[derive(Event, Serialize, Deserialize)]
#[event(version = 3, upcasters = [from_v1])]
struct BrandCreated {}

fn from_v1(event: freehold::json::Value) -> Result<freehold::json::Value, freehold::UpcastError> {
    Ok(event)
}

fn main() {}
