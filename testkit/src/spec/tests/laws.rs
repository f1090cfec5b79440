//! Every law can be broken, and says so; by a fault of the aggregate's, or by a bug put into the store.

use super::fixture::*;
use super::golden::check;
use crate::spec::store::Sabotage;
use crate::{Law, Spec, aggregate_spec, events};

fn rename(name: &str) -> RenameBrand {
    RenameBrand { name: name.into() }
}

fn contoso() -> Spec<Brand> {
    aggregate_spec().given_command(CreateBrand { name: "Contoso".into() })
}

impl Spec<Brand> {
    fn on_a_store_that(self, sabotage: Sabotage) -> Self {
        self.prepare("bug", vec![format!("{sabotage:?}")], move |world| {
            world.store.sabotage(sabotage);
            Ok(())
        })
    }
}

/// The law is broken with its golden text, and unnoticed without the law.
macro_rules! breaks {
    ($($name:ident: $law:ident, $spec:expr, $command:expr;)*) => {
        pub(super) const NAMES: &[&str] = &[$(stringify!($name)),*];

        $(#[test]
        fn $name() {
            check(stringify!($name), || drop($spec.when($command)));
            let _ = $spec.without_law(Law::$law).when($command).transcript();
        })*
    };
}

breaks! {
    law_event_round_trip: EventRoundTrip, contoso(), StampBrand { by: "Ada".into() };
    law_purity: Purity, contoso(), NumberBrand {};
    law_purity_of_a_list: Purity, contoso(), ShuffleBrand {};
    law_command_round_trip: CommandRoundTrip, aggregate_spec::<Brand>(), NoteBrand { note: "urgent".into() };
    law_replay_of_state: Replay, aggregate_spec::<Brand>().given_events(events![DraftSaved {}]), PublishDraft {};
    law_replay_in_decision: Replay, aggregate_spec::<Brand>().given_events(events![DraftSaved {}]), PrintDraft {};
    law_nothing_left: NothingLeft, aggregate_spec::<Brand>().on_a_store_that(Sabotage::KeepsLeases),
        ImportBrand { source: "x".into() };
    law_settled: Settled, contoso().on_a_store_that(Sabotage::KeepsReleased), rename("Fabrikam");
    law_declared: Declared, contoso(), Restyle { name: "Fabrikam".into() };
    law_held_stays_held: HeldStaysHeld, contoso().on_a_store_that(Sabotage::TakesHeldAnew),
        RenameAgain { name: "Fabrikam".into() };
}

/// Read, copied or replayed, a set comes in any order: neither event, nor state, nor decision is another one for that.
#[test]
fn a_set_breaks_no_law() {
    for count in [2, 2, 2, 2, 2, 2, 2, 2, 3, 4, 8, 30] {
        let tags = (0..count).map(|number| format!("tag {number}")).collect();
        contoso().when(TagBrand { tags }).then_version(2);
    }
}
