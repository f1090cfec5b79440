use freehold::prelude::*;

#[derive(Event)]
struct BrandCreated {}

fn main() {}
