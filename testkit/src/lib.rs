//! Tests for Freehold: specs of aggregates, and what a store has to pass.

mod clock;
pub mod conformance;
mod driver;
mod ids;
pub mod model;
pub mod script;
pub mod sim;
pub mod spec;
pub mod store;

pub use clock::ManualClock;
pub use driver::drive;
pub use ids::SequentialIds;
pub use spec::{Outcome, Spec, aggregate_spec};
