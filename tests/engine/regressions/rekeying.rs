//! Changing a normaliser beneath running processes (R13).

use super::id;
use freehold::prelude::*;
use freehold::{DomainBuilder, MemoryStore, Release};

const NAMES: Namespace = Namespace::new("regressions.name");
const CODES: Namespace = Namespace::new("regressions.code");

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct East {
    names: Vec<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct West {
    names: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Take {
    name: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct TakeCode {
    code: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Look {
    name: String,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Took {
    name: String,
}

macro_rules! takes_names {
    ($aggregate:ident in $context:literal) => {
        #[aggregate(context = $context, name = "taker")]
        impl $aggregate {
            #[on_command(creates = "allowed", produces = [Took])]
            async fn take(&self, command: Take, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
                scope.reserve(NAMES, &command.name).await?.or_reject("TAKEN", "taken")?;
                Ok(Decision::event(Took { name: command.name }))
            }

            #[on_command(creates = "allowed", produces = [Took])]
            async fn take_code(&self, command: TakeCode, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
                scope.reserve(CODES, &command.code).await?.or_reject("TAKEN", "taken")?;
                Ok(Decision::event(Took { name: command.code }))
            }

            #[on_command(produces = [Took])]
            async fn look(&self, command: Look, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
                let holds = scope.holds(NAMES, &command.name).await?;
                Ok(if holds { Decision::no_op() } else { Decision::event(Took { name: "not held".into() }) })
            }

            #[on_event]
            fn took(&mut self, event: &Took) {
                self.names.push(event.name.clone());
            }
        }
    };
}
takes_names!(East in "regressions-east");
takes_names!(West in "regressions-west");

fn both(store: &MemoryStore, names: Namespace, codes: Namespace) -> DomainBuilder {
    let builder = Domain::builder().without_discovery().aggregate::<East>().aggregate::<West>();
    builder.namespace(names).namespace(codes).store(store.clone())
}

fn take(name: &str) -> Take {
    Take { name: name.into() }
}

/// A process built before a rekey was told by `holds`, and its operator by `release`, that nobody held what was held.
#[tokio::test]
async fn r13_nothing_is_answered_by_an_old_normaliser() {
    let store = MemoryStore::new();
    let old = both(&store, NAMES, CODES).build().await.expect("built");
    let h = id::<East>("h");
    old.send(&h, take("K")).await.expect("taken");
    old.send(&h, Look { name: "K".into() }).await.expect("it is held");
    let new = NAMES.normalized(TRIM_LOWERCASE);
    let current = both(&store, new, CODES).rekey(new).build().await.expect("rekeyed");
    let sent = old.send(&h, Look { name: "K".into() }).await;
    assert!(matches!(&sent, Err(error) if error.code() == "MISCONFIGURED"), "{sent:?}");
    let by = Release { author: "ana", reason: "court order" };
    let released = old.reservations().release("regressions-east", NAMES, None, "K", by).await;
    assert!(matches!(&released, Err(error) if error.code() == "MISCONFIGURED"), "{released:?}");
    let holder = old.reservations().holder("regressions-east", NAMES, None, "K").await;
    assert!(matches!(&holder, Err(error) if error.code() == "MISCONFIGURED"), "{holder:?}");
    // Whoever knows the new one goes on; so does the old process with what was not rekeyed.
    let holding = current.reservations().holder("regressions-east", new, None, " k ").await.expect("read");
    assert_eq!(holding.map(|holding| holding.holder).as_ref(), Some(h.stream()));
    old.send(&h, TakeCode { code: "c".into() }).await.expect("taken");
    let released = current.reservations().release("regressions-east", new, None, "K", by).await.expect("released");
    assert_eq!(released.as_ref(), Some(h.stream()));
}

/// A rekey that collided in one context had locked the running release out of another.
#[tokio::test]
async fn r13_a_refused_rekey_changes_nothing_in_any_context() {
    let store = MemoryStore::new();
    let old = both(&store, NAMES, CODES).build().await.expect("built");
    old.send(&id::<East>("1"), take("E")).await.expect("taken");
    old.send(&id::<West>("1"), take("K")).await.expect("taken");
    old.send(&id::<West>("2"), take("k")).await.expect("taken");
    let new = NAMES.normalized(TRIM_LOWERCASE);
    let refused = both(&store, new, CODES).rekey(new).build().await.expect_err("two holders of one key");
    assert!(refused.to_string().contains("nothing was changed"), "{refused}");
    old.send(&id::<East>("1"), take("other")).await.expect("the running release goes on");
    old.send(&id::<West>("1"), take("other")).await.expect("the running release goes on");
    both(&store, NAMES, CODES).build().await.expect("the release before can be started again");
    assert_eq!(old.commits(0, 99).await.expect("the log").len(), 5, "no key has another form");
}

/// The same of two namespaces, whichever of them collides.
#[tokio::test]
async fn r13_a_refused_rekey_changes_nothing_in_any_namespace() {
    let (names, codes) = (NAMES.normalized(TRIM_LOWERCASE), CODES.normalized(TRIM_LOWERCASE));
    for is_code in [false, true] {
        let store = MemoryStore::new();
        let old = both(&store, NAMES, CODES).build().await.expect("built");
        old.send(&id::<East>("1"), take("N")).await.expect("taken");
        old.send(&id::<East>("1"), TakeCode { code: "C".into() }).await.expect("taken");
        match is_code {
            true => old.send(&id::<East>("2"), TakeCode { code: "c".into() }).await.expect("taken"),
            false => old.send(&id::<East>("2"), take("n")).await.expect("taken"),
        };
        let refused = both(&store, names, codes).rekey(names).rekey(codes).build().await;
        assert!(refused.is_err(), "two holders of one key");
        old.send(&id::<East>("3"), take("x")).await.expect("the running release goes on");
        old.send(&id::<East>("3"), TakeCode { code: "x".into() }).await.expect("the running release goes on");
        // One that was not asked for keeps the other from being rekeyed.
        let half = both(&store, names, codes).rekey(if is_code { names } else { codes }).build().await;
        assert!(half.is_err(), "the other differs");
        both(&store, NAMES, CODES).build().await.expect("the release before can be started again");
    }
}

/// A rekey of a namespace that a forgotten attribute had kept from being registered was silently none.
#[tokio::test]
async fn r13_a_rekey_of_an_unregistered_namespace_is_refused() {
    const NOBODYS: Namespace = Namespace::new("regressions.nobodys");
    let store = MemoryStore::new();
    let refused = both(&store, NAMES, CODES).rekey(NOBODYS).build().await.expect_err("not registered");
    assert!(refused.to_string().contains(NOBODYS.name()), "{refused}");
    let discovered = Domain::builder().allow_missing_services().namespace(NAMES).namespace(CODES).rekey(NOBODYS);
    let refused = discovered.store(store).build().await.expect_err("not registered, with discovery");
    assert!(refused.to_string().contains(NOBODYS.name()), "{refused}");
}
