use freehold::prelude::*;

#[namespace]
const _: Namespace = Namespace::new("eshop-catalog.brand-name");

fn main() {}
