//! Building a domain: discovery, registration by hand, every problem at once, namespaces that changed (R12, R13).

use super::on;
use freehold::prelude::*;
use freehold::{Error, MemoryStore, NFKC_CASEFOLD, Normalizer, Store};
use freehold_testkit::conformance::commands::{holds, scripted};
use freehold_testkit::script::{Change, Create, DOMAINS, Ending, NAMES, Script, Scripted, Step};
use std::sync::Arc;

/// Found at link time, by the attributes alone.
#[namespace]
const LINKED: Namespace = Namespace::new("building.linked").system();

mod one {
    use freehold::prelude::*;

    #[derive(Debug, Clone, Default, Serialize, Deserialize)]
    pub(super) struct Thing {}

    #[derive(Debug, Serialize, Deserialize)]
    pub(super) struct Make {}

    #[derive(Debug, Event, Serialize, Deserialize)]
    pub(super) struct Made {}

    #[aggregate(context = "building", name = "thing")]
    impl Thing {
        #[on_command(creates, produces = [Made])]
        async fn make(&self, _: Make, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
            scope.reserve(super::LINKED, "the one").await?.or_reject("TAKEN", "there is one already")?;
            Ok(Decision::event(Made {}))
        }

        #[on_event]
        fn made(&mut self, _: &Made) {}
    }
}

/// Another type under the same name, by hand, so that nobody discovers it.
mod two {
    #![expect(unreachable_pub, reason = "the example is written for a crate of its own")]
    include!("../../runtime/src/guide/by_hand.rs");
}

#[tokio::test]
async fn what_is_linked_is_discovered_and_reported_with_its_place() {
    let domain = Domain::builder().store(MemoryStore::new());
    // The other tests of this binary have aggregates with services; they are discovered as well.
    let error = domain.build().await.expect_err("their services are missing").to_string();
    assert!(error.contains("needs `&dyn") && !error.contains("building.thing"), "{error}");
    let domain = Domain::builder().without_discovery().aggregate::<one::Thing>().namespace(LINKED);
    let domain = domain.store(MemoryStore::new()).build().await.expect("built");
    let report = domain.report().to_string();
    assert!(report.contains("building.thing") && report.contains("tests/engine/building.rs"), "{report}");
    assert!(report.contains("building.linked  per system  verbatim@1  by hand"), "{report}");
    let discovered = freehold::registry::discovered_namespaces();
    assert!(discovered.contains(&LINKED));
}

#[tokio::test]
async fn two_tenants_meet_in_a_system_namespace_and_the_default_tenant_is_one_like_any_other() {
    let domain = Domain::builder().without_discovery().aggregate::<one::Thing>().namespace(LINKED);
    let domain = domain.store(MemoryStore::new()).build().await.expect("built");
    let id = |tenant| AggregateId::<one::Thing>::new("a").and_then(|id| id.tenant(tenant)).expect("an id");
    domain.send(&AggregateId::<one::Thing>::new("a").expect("an id"), one::Make {}).await.expect("made");
    assert!(domain.send(&id("other"), one::Make {}).await.is_err());
    let same = domain.send(&id(freehold::DEFAULT_TENANT), one::Make {}).await;
    assert!(matches!(same, Err(Error::AlreadyExists { .. })), "R12: {same:?}");
}

#[tokio::test]
async fn every_problem_is_told_at_once_with_both_places() {
    const OTHER: Namespace = Namespace::new("scripted.name").system();
    const BLANK: Namespace = Namespace::new("");
    let builder = Domain::builder().without_discovery().aggregate::<Scripted>();
    let error = builder.namespace(NAMES).namespace(OTHER).namespace(BLANK).build().await.expect_err("four problems");
    assert_eq!(error.problems().len(), 3, "{error}");
    assert_eq!(error.code(), "MISCONFIGURED");
    let text = error.to_string();
    assert!(text.contains("\"scripted.name\" has two definitions") && text.contains("no store"), "{text}");
}

#[tokio::test]
async fn one_thing_registered_twice_is_fine() {
    let builder = Domain::builder().without_discovery().aggregate::<Scripted>().aggregate::<Scripted>();
    let builder = builder.namespace(NAMES).namespace(NAMES).namespace(DOMAINS).store(MemoryStore::new());
    assert_eq!(builder.build().await.expect("built").report().aggregates.len(), 1);
}

#[tokio::test]
async fn asking_for_what_is_not_registered_lists_what_is() {
    let domain = on(MemoryStore::new()).await;
    let error = domain.load(&AggregateId::<two::Counter>::new("a").expect("an id")).await.expect_err("not registered");
    let text = error.to_string();
    assert!(
        text.contains("example.counter is not registered") && text.contains("Registered are: scripted.scripted"),
        "{text}"
    );
    assert!(text.contains("use that_crate as _;"), "{text}");
    let builder = Domain::builder().without_discovery().aggregate::<Scripted>().namespace(DOMAINS);
    let domain = builder.store(MemoryStore::new()).build().await.expect("built");
    let error = domain.send(&scripted("a"), Create(Script::take("k"))).await.expect_err("R12");
    assert!(
        matches!(&error, Error::Misconfigured(text) if text.contains("Registered are: scripted.domain")),
        "{error}"
    );
    // A handler that goes on regardless can't commit (R2).
    let regardless = Script::new([Step::Release("k".into())], Ending::Happen("regardless".into()));
    assert!(matches!(domain.send(&scripted("a"), Create(regardless)).await, Err(Error::Misconfigured(_))));
    assert!(domain.commits(0, 1).await.expect("the log").is_empty());
}

async fn with_names(store: &Arc<dyn Store>, names: Namespace, rekey: bool) -> Result<Domain, freehold::BuildError> {
    let builder = Domain::builder().without_discovery().aggregate::<Scripted>().namespace(names).namespace(DOMAINS);
    let builder = if rekey { builder.rekey(names) } else { builder };
    builder.shared_store(Arc::clone(store)).build().await
}

/// R13: what a deploy that changes a normaliser goes through, on a store with a running process.
async fn a_changed_normaliser(store: Arc<dyn Store>) {
    const FOLDED: Namespace = Namespace::new("scripted.name").normalized(NFKC_CASEFOLD);
    const NEXT: Namespace = Namespace::new("scripted.name").normalized(Normalizer::named("own", 1, str::to_lowercase));
    let old = with_names(&store, NAMES, false).await.expect("built");
    old.send(&scripted("a"), Create(Script::take("Contoso"))).await.expect("created");
    old.send(&scripted("b"), Create(Script::take("fabrikam"))).await.expect("created");
    let refused = with_names(&store, FOLDED, false).await.expect_err("R13").to_string();
    assert!(refused.contains("verbatim@1 in the store") && refused.contains(".rekey(..)"), "{refused}");
    old.send(&scripted("c"), Create(Script::take("CONTOSO"))).await.expect("nothing was changed by that");
    let collides = with_names(&store, FOLDED, true).await.expect_err("two holders").to_string();
    assert!(
        collides.contains("would share a key of namespace") && !collides.to_lowercase().contains("contoso"),
        "{collides}"
    );
    let released = Script::new([Step::Release("CONTOSO".into())], Ending::Happen("gave way".into()));
    old.send(&scripted("c"), Change(released)).await.expect("released");
    let new = with_names(&store, FOLDED, true).await.expect("rekeyed");
    let holder = new.reservations().holder("scripted", FOLDED, Some("acme"), "CONTOSO").await.expect("read");
    assert_eq!(holder.map(|holding| holding.holder).as_ref(), Some(scripted("a").stream()));
    let held = new.reservations().held_by(scripted("a").stream()).await.expect("read");
    assert_eq!(held.iter().map(|key| key.key.as_str()).collect::<Vec<_>>(), ["contoso"]);
    // The process of the previous release is refused from now on, and says why.
    let refused = old.send(&scripted("e"), Create(Script::take("x"))).await.expect_err("R13");
    assert!(matches!(&refused, Error::Misconfigured(text) if text.contains("rekeyed")), "{refused}");
    // Twice is once, also for a second process that starts with the same consent.
    let twice = with_names(&store, FOLDED, true).await.expect("as it is");
    let by = freehold::Release { author: "ana", reason: "both processes may still write" };
    for (domain, key) in [(&new, "contoso"), (&twice, "FABRIKAM")] {
        let freed = domain.reservations().release("scripted", FOLDED, Some("acme"), key, by).await;
        assert!(freed.expect("the epoch is the same for both").is_some());
    }
    with_names(&store, NEXT, true).await.expect("a normaliser of one's own is rekeyed too");
    let tenancy = with_names(&store, FOLDED.system(), true).await.expect_err("a tenancy is not rekeyed").to_string();
    assert!(tenancy.contains("a tenancy can't be changed"), "{tenancy}");
}

#[tokio::test]
async fn r13_a_changed_normaliser_is_refused_until_it_is_rekeyed_in_memory() {
    a_changed_normaliser(Arc::clone(freehold_tests::memory().store())).await;
}

#[tokio::test]
async fn r13_a_changed_normaliser_is_refused_until_it_is_rekeyed_on_sqlite() {
    a_changed_normaliser(Arc::clone(freehold_tests::sqlite().await.store())).await;
}

#[tokio::test]
async fn r20_an_operators_release_is_told_apart_and_the_key_is_free() {
    let domain = on(MemoryStore::new()).await;
    domain.send(&scripted("a"), Create(Script::take("k"))).await.expect("created");
    let by = freehold::Release { author: "ana", reason: "unused" };
    domain.reservations().release("scripted", NAMES, Some("acme"), "k", by).await.expect("released");
    assert!(!holds(&domain, "a", NAMES, "k").await);
    domain.send(&scripted("b"), Create(Script::take("k"))).await.expect("free");
}
