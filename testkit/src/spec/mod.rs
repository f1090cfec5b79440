//! Specs: given, when, then, for one aggregate, in a world of its own.
//!
//! `given` lines say what is so, one `when` decides a command by its real handler, `then` lines say what must have come
//! of it: events, rejection, and the keys that are held. Everything is in memory; time stands still unless a line moves
//! it; nothing is random.

mod diff;
mod events;
mod given;
mod json;
mod judge;
mod keys;
mod laws;
mod play;
mod report;
mod store;
#[cfg(test)]
mod tests;
mod then;
mod transcript;
mod when;
mod world;

pub use laws::Law;
pub use store::{At, Fault};

use freehold::Aggregate;
use std::cell::Cell;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// Starts a spec of `A`: [`Spec::new`].
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/spec/guide/brand.rs"));
/// use freehold_testkit::{aggregate_spec, events};
///
/// # fn main() {
/// aggregate_spec::<Brand>()
///     .given_reservation(BRAND_NAMES, "contoso")
///     .when(CreateBrand { name: "Fabrikam".into() })
///     .then_events(events![BrandCreated { name: "Fabrikam".into() }])
///     .then_holds_exactly([(BRAND_NAMES, "fabrikam")]);
/// # }
/// ```
pub fn aggregate_spec<A: Aggregate>() -> Spec<A> {
    Spec::new()
}

/// What is given, so far. A `when` method decides a command on it.
///
/// Lines are carried out in the order in which they are written, when the command is given.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/spec/guide/brand.rs"));
/// use freehold_testkit::{Law, Spec, aggregate_spec, events};
/// use std::time::Duration;
///
/// fn contoso() -> Spec<Brand> {
///     aggregate_spec()
///         .given_time(freehold::Timestamp::from_millis(0))
///         .given_tenant("acme")
///         .given_id("brand-7")
///         .given_command(CreateBrand { name: "Contoso".into() })
///         .given_after(Duration::from_secs(60))
/// }
///
/// # fn main() {
/// contoso().given_deleted().when(CreateBrand { name: "Fabrikam".into() }).then_failed("DELETED");
/// contoso().given_conflict(2).when(freehold::Delete {}).then_attempts(3).then_deleted();
/// aggregate_spec::<Brand>()
///     .given_events(events![BrandCreated { name: "Contoso".into() }])
///     .given_held(BRAND_NAMES, "contoso")
///     .given_reservation(BRAND_NAMES, "fabrikam")
///     .without_law(Law::Purity)
///     .when_expecting(2, freehold::Delete {})
///     .then_holds_exactly([(BRAND_NAMES, "contoso")]);
/// aggregate_spec::<Brand>()
///     .given_pending_reservation(BRAND_NAMES, "contoso", Duration::from_millis(500))
///     .given_pending_wait(Duration::from_secs(1))
///     .when_with(CreateBrand { name: "Contoso".into() }, |send| send.metadata("by", "me"))
///     .then_attempts(2);
/// # }
/// ```
#[must_use = "a spec tests nothing until a command is decided: `.when(..)`"]
pub struct Spec<A: Aggregate> {
    setup: world::Setup,
    steps: Vec<Arc<play::Step<A>>>,
    laws: laws::Laws,
}

impl<A: Aggregate> Spec<A> {
    /// A spec of one aggregate, of which nothing is given yet.
    pub fn new() -> Self {
        Self { setup: world::Setup::default(), steps: Vec::new(), laws: laws::Laws::default() }
    }
}

impl<A: Aggregate> Default for Spec<A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: Aggregate> fmt::Debug for Spec<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps: Vec<_> = self.steps.iter().map(|step| (step.kind, &step.text)).collect();
        f.debug_struct("Spec").field("setup", &self.setup).field("steps", &steps).finish_non_exhaustive()
    }
}

/// What came of a command, to be looked at.
///
/// An outcome that nobody looked at fails the test when it is dropped.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/spec/guide/brand.rs"));
/// use freehold_testkit::{aggregate_spec, events};
///
/// # fn main() {
/// let outcome = aggregate_spec::<Brand>()
///     .when(CreateBrand { name: "Contoso".into() })
///     .then_events(events![BrandCreated { name: "Contoso".into() }])
///     .then_state(|brand| assert_eq!(brand.name, "Contoso"))
///     .then_holds(BRAND_NAMES, "CONTOSO")
///     .then_does_not_hold(BRAND_NAMES, "fabrikam")
///     .then_version(1)
///     .then_attempts(1)
///     .and_when(freehold::Restore {})
///     .then_no_events()
///     .and_when(CreateBrand { name: String::new() })
///     .then_failed("ALREADY_EXISTS")
///     .then_error(|error| assert!(!error.is_retryable()));
/// assert!(outcome.holds(BRAND_NAMES, "contoso"));
///
/// aggregate_spec::<Brand>()
///     .given_pending_reservation(BRAND_NAMES, "contoso", std::time::Duration::from_secs(30))
///     .when(CreateBrand { name: "Contoso".into() })
///     .then_rejected(NAME_TAKEN)
///     .then_rejected_provisionally(NAME_TAKEN);
/// # }
/// ```
pub struct Outcome<A: Aggregate> {
    play: play::Play<A>,
    laws: laws::Laws,
    looked: Cell<bool>,
    is_async: bool,
    at: &'static Location<'static>,
}

impl<A: Aggregate> fmt::Debug for Outcome<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outcome").field("play", &self.play).finish_non_exhaustive()
    }
}

/// A list of events of different types, each turned into the aggregate's own: for `given_events` and `then_events`.
///
/// ```
/// use freehold_testkit::events;
/// let events: Vec<u64> = events![1_u8, 2_u32];
/// assert_eq!(events, [1, 2]);
/// ```
#[macro_export]
macro_rules! events {
    ($($event:expr),* $(,)?) => {
        ::std::vec![$(::core::convert::Into::into($event)),*]
    };
}

/// Asserts that the event at an index, from 0, matches a pattern: weaker than `then_events`, for what can't be named.
///
/// Written with the event's own type, and a guard if need be; returns the outcome.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/spec/guide/brand.rs"));
/// use freehold_testkit::{aggregate_spec, then_event_matches};
///
/// # fn main() {
/// let outcome = aggregate_spec::<Brand>().when(CreateBrand { name: "Contoso".into() });
/// then_event_matches!(outcome, 0, BrandCreated { name } if name.len() > 2).then_version(1);
/// # }
/// ```
#[macro_export]
macro_rules! then_event_matches {
    ($outcome:expr, $index:expr, $($event:ident)::+ $(,)?) => {
        $crate::then_event_matches!($outcome, $index, $($event)::+ { .. })
    };
    ($outcome:expr, $index:expr, $($event:ident)::+ { $($fields:tt)* } $(if $guard:expr)? $(,)?) => {
        $outcome.then_event_where(
            $index,
            ::core::stringify!($($event)::+ { $($fields)* } $(if $guard)?),
            |event: &$($event)::+| ::core::matches!(event, $($event)::+ { $($fields)* } $(if $guard)?),
        )
    };
}
