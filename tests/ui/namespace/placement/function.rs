use freehold::prelude::*;

#[namespace]
const fn brand_names() -> Namespace {
    Namespace::new("eshop-catalog.brand-name")
}

fn main() {}
