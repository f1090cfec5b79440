use freehold::prelude::*;

#[namespace]
const BRAND_NAMES: Namespace = Namespace::new("");

fn main() {}
