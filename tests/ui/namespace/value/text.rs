use freehold::prelude::*;

#[namespace]
const BRAND_NAMES: &str = "eshop-catalog.brand-name";

fn main() {}
