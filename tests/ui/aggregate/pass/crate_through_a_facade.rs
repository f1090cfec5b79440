//! M02: the crate is known by another path only.

mod company {
    pub mod framework {
        pub use freehold as events;
    }
}

use company::framework::events::{Decision, Event, aggregate, namespace};
use serde::{Deserialize, Serialize};

/// What `::freehold` would find, if anything still looked there.
#[allow(dead_code)]
mod freehold {}

#[namespace(crate = crate::company::framework::events)]
const NAMES: company::framework::events::Namespace = company::framework::events::Namespace::new("catalog.name");

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {}

#[derive(Serialize, Deserialize)]
struct CreateBrand {}

#[derive(Event, Serialize, Deserialize)]
#[event(crate = company::framework::events)]
struct BrandCreated {}

#[aggregate(context = "eshop-catalog", crate = company::framework::events)]
impl Brand {
    #[on_command(creates, produces = [BrandCreated])]
    fn create(&self, _: CreateBrand) -> Decision {
        Decision::event(BrandCreated {})
    }

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

fn main() {}
