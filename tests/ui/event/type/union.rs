use freehold::prelude::*;

#[derive(Event)]
union BrandCreated {
    name: u8,
}

fn main() {}
