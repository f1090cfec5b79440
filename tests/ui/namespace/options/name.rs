use freehold::prelude::*;

#[namespace(name = "brand-name")]
const BRAND_NAMES: Namespace = Namespace::new("eshop-catalog.brand-name");

fn main() {}
