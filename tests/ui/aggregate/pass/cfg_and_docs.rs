//! What stands on a handler holds for what is made from it.

#![deny(warnings)]

use freehold::prelude::*;

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {}

#[derive(Serialize, Deserialize)]
struct CreateBrand {}

#[derive(Event, Serialize, Deserialize)]
struct BrandCreated {}

/// Of the brand.
#[aggregate(context = "catalog")]
impl Brand {
    const LIMIT: usize = 3;

    /// Creates it.
    #[must_use]
    #[on_command(creates)]
    #[cfg(all())]
    fn create(&self, #[allow(unused)] command: CreateBrand, #[cfg(any())] gone: &dyn Gone) -> BrandCreated {
        assert!(Self::LIMIT > 2);
        BrandCreated {}
    }

    /** Not compiled: its types do not exist. */
    #[on_command(produces = [Gone])]
    #[cfg(any())]
    fn gone(&self, _: Gone) -> Decision {
        Decision::no_op()
    }

    #[cfg(all())]
    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}

    #[cfg(any())]
    #[on_event]
    fn is_gone(&mut self, _: &Gone) {}
}

fn main() {
    use freehold::{Aggregate, EventSet};
    assert_eq!(BrandEvent::EVENTS.len(), 1);
    assert_eq!(<Brand as Aggregate>::CONTEXT, "catalog");
}
