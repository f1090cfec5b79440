#[path = "../../catalog.rs"]
mod catalog;
use catalog::*;
use freehold::on_event;

#[on_event]
fn created(_: &BrandCreated) {}

fn main() {}
