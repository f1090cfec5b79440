//! Tests for Freehold: specs of aggregates, and what a store has to pass.
//!
//! A spec says what is given, decides a command by its real handler, and says what must have come of it: events,
//! rejection, and the keys that are held. No runtime, no mocks; time stands still unless a line moves it.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/spec/guide/brand.rs"));
//! use freehold_testkit::{aggregate_spec, events};
//! use std::time::Duration;
//!
//! # fn main() {
//! aggregate_spec::<Brand>()
//!     .given_pending_reservation(BRAND_NAMES, "fabrikam", Duration::from_secs(30))
//!     .when(CreateBrand { name: "Fabrikam".into() })
//!     .then_rejected(NAME_TAKEN)
//!     .and_after(Duration::from_secs(30))
//!     .and_when(CreateBrand { name: "Fabrikam".into() })
//!     .then_events(events![BrandCreated { name: "Fabrikam".into() }])
//!     .then_holds_exactly([(BRAND_NAMES, "fabrikam")]);
//! # }
//! ```
//!
//! A spec that fails tells the whole story, at the line that failed. Here a rename forgot to release the old name:
//!
//! ```text
//! thread 'a_rename_releases_the_old_name' panicked at src/brand.rs:17:10:
//! Brand: held keys differ
//!
//!   given    command  CreateBrand { name: "Contoso" }
//!   when     command  RenameBrand { name: "Fabrikam" }
//!   outcome  events   1  BrandRenamed { name: "Fabrikam" }
//!
//!   scope calls while deciding
//!       1  reserve  eshop-catalog.brand-name "fabrikam"  -> newly reserved
//!       no release
//!
//!   keys of this Brand        - expected, not held    + held, not expected
//!       eshop-catalog.brand-name
//!     +     "contoso"     confirmed
//!           "fabrikam"    confirmed
//! ```
//!
//! After each command every spec also checks, unasked, the laws in [`Law`].

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
pub use driver::{Stuck, drive, try_drive};
pub use ids::SequentialIds;
pub use spec::{At, Fault, Law, Outcome, Spec, aggregate_spec};
