//! What handlers may ask for and return: services, context, scope; events in every wrapping (design, section 1).

use freehold::prelude::*;
use freehold::{CommandContext, Error, MemoryStore, Outcome};
use std::sync::Arc;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Order {
    lines: Vec<String>,
}

trait Pricing: Send + Sync {
    fn price(&self, sku: &str) -> u64;
}

struct Fixed(u64);

impl Pricing for Fixed {
    fn price(&self, _: &str) -> u64 {
        self.0
    }
}

macro_rules! commands {
    ($($name:ident),*) => { $(#[derive(Debug, Serialize, Deserialize)] struct $name { sku: String })* };
}
commands!(One, Two, Maybe, Many, Fallible, Priced, Context);

#[derive(Debug, Event, Serialize, Deserialize)]
struct Added {
    what: String,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Noted {
    what: String,
}

fn added(what: impl Into<String>) -> Added {
    Added { what: what.into() }
}

#[aggregate(context = "handlers", name = "order")]
impl Order {
    #[on_command(creates = "allowed")]
    fn one(&self, command: One) -> Added {
        added(command.sku)
    }

    #[on_command(creates = "allowed")]
    fn two(&self, command: &Two) -> (Added, Noted) {
        (added(&*command.sku), Noted { what: "noted".into() })
    }

    #[on_command(creates = "allowed")]
    fn maybe(&self, command: Maybe) -> Option<Added> {
        (!command.sku.is_empty()).then(|| added(command.sku))
    }

    #[on_command(creates = "allowed")]
    async fn many(&self, command: Many) -> Vec<Added> {
        command.sku.split(',').map(added).collect()
    }

    #[on_command(creates = "allowed")]
    async fn fallible(&self, command: Fallible) -> Result<Added, Rejection> {
        if command.sku.is_empty() {
            return Err(Rejection::new("EMPTY", "a line needs a sku"));
        }
        Ok(added(command.sku))
    }

    #[on_command(creates = "allowed", produces = [Added])]
    async fn priced(
        &self,
        command: Priced,
        pricing: &dyn Pricing,
        scope: &mut DecideScope<'_>,
        context: &CommandContext,
    ) -> Result<Decision, DecideError> {
        assert_eq!((scope.tenant(), scope.aggregate_id()), (&*context.stream.tenant, &*context.stream.id));
        assert_eq!(scope.request_id(), &context.request_id);
        Ok(Decision::event(added(format!("{} at {}", command.sku, pricing.price(&command.sku)))))
    }

    #[on_command(creates = "allowed", produces = [Added])]
    fn context(&self, context: Context, scope: &mut DecideScope<'_>) -> Decision {
        let (version, attempt, exists) = (scope.version(), scope.attempt(), scope.exists());
        let by = scope.context().metadata.get("by").cloned().unwrap_or_default();
        Decision::event(added(format!("{} {version} {attempt} {exists} {by} {}", context.sku, scope.request_id())))
    }

    #[on_event]
    fn added(&mut self, event: &Added) {
        self.lines.push(event.what.clone());
    }

    #[on_event]
    fn noted(&mut self, event: &Noted) {
        self.lines.push(event.what.clone());
    }
}

async fn domain() -> Domain {
    let pricing: Arc<dyn Pricing> = Arc::new(Fixed(7));
    let builder = Domain::builder().without_discovery().aggregate::<Order>().provide(pricing);
    builder.store(MemoryStore::new()).build().await.expect("built")
}

fn sku(sku: &str) -> String {
    sku.to_owned()
}

#[tokio::test]
async fn a_handler_may_return_events_in_every_wrapping() {
    let domain = domain().await;
    let id = AggregateId::<Order>::new("o").expect("an id");
    domain.send(&id, One { sku: sku("a") }).await.expect("one");
    domain.send(&id, Two { sku: sku("b") }).await.expect("two");
    domain.send(&id, Many { sku: sku("c,d") }).await.expect("many");
    assert!(matches!(domain.send(&id, Maybe { sku: sku("") }).await, Ok(Outcome::NoOp { version: 3, .. })));
    domain.send(&id, Maybe { sku: sku("e") }).await.expect("one");
    domain.send(&id, Fallible { sku: sku("f") }).await.expect("one");
    let refused = domain.send(&id, Fallible { sku: sku("") }).await;
    assert!(matches!(&refused, Err(Error::Rejected(no)) if no.code().as_str() == "EMPTY"), "{refused:?}");
    let order = domain.load(&id).await.expect("loaded");
    assert_eq!(order.lines, ["a", "b", "noted", "c", "d", "e", "f"]);
    assert_eq!(order.version(), 5, "a commit is one version, however many events it has");
}

#[tokio::test]
async fn a_handler_is_given_services_scope_and_context_in_any_order() {
    let domain = domain().await;
    let id = AggregateId::<Order>::new("o").and_then(|id| id.tenant("acme")).expect("an id");
    domain.send(&id, Priced { sku: sku("p") }).await.expect("priced");
    let send = domain.send(&id, Context { sku: sku("x") }).request_id("r-1").metadata("by", "ana");
    send.await.expect("decided");
    assert_eq!(domain.load(&id).await.expect("loaded").lines, ["p at 7", "x 1 1 true \"ana\" r-1"]);
}

#[tokio::test]
async fn a_missing_service_is_an_error_of_build_and_not_of_the_first_command() {
    let builder = Domain::builder().without_discovery().aggregate::<Order>().store(MemoryStore::new());
    let error = builder.build().await.expect_err("nobody provides pricing").to_string();
    assert!(error.contains("handler of Priced needs `&dyn") && error.contains(".provide::<dyn"), "{error}");
}
