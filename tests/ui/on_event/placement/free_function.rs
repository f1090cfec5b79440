use freehold::on_event;
use freehold_tests::catalog::BrandCreated;

#[on_event]
fn created(_: &BrandCreated) {}

fn main() {}
