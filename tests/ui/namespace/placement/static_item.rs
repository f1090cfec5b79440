use freehold::prelude::*;

#[namespace]
static BRAND_NAMES: Namespace = Namespace::new("eshop-catalog.brand-name");

fn main() {}
