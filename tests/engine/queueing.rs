//! One lane an aggregate, and sends from inside a handler (C7, C8).

use super::{on, text};
use freehold::prelude::*;
use freehold::{Error, MemoryStore, Outcome};
use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::{Change, Create, Ending, Ensure, Script, Step};
use std::sync::{Arc, OnceLock};
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn c7_commands_on_one_aggregate_queue_up_and_never_conflict_in_one_process() {
    let domain = on(MemoryStore::new()).await;
    let mut senders = JoinSet::new();
    for number in 0..200 {
        let domain = domain.clone();
        let script = Script::new([Step::Yield, Step::Reserve(format!("k-{number}"))], Ending::Happen("one".into()));
        senders.spawn(async move { domain.send(&scripted("a"), Ensure(script)).await.expect("written").attempts() });
    }
    assert!(senders.join_all().await.into_iter().all(|attempts| attempts == 1));
}

#[tokio::test]
async fn c7_another_aggregate_never_waits() {
    let domain = on(MemoryStore::new()).await;
    let stuck = domain.send(&scripted("a"), Create(Script::new([Step::Hang], Ending::NoOp)));
    let stuck = tokio::spawn(async move { stuck.await });
    tokio::task::yield_now().await;
    domain.send(&scripted("b"), Create(Script::take("k"))).await.expect("written");
    stuck.abort();
}

/// An aggregate whose handler sends commands to the scripted one, and to itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Sender {}

#[derive(Debug, Serialize, Deserialize)]
struct SendOn {
    to: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct SendToSelf {}

#[derive(Debug, Event, Serialize, Deserialize)]
struct SentOn {}

/// The domain, once it is built: a handler gets it as a service.
trait Outbox: Send + Sync {
    fn domain(&self) -> &Domain;
}

struct Late(OnceLock<Domain>);

impl Outbox for Late {
    fn domain(&self) -> &Domain {
        self.0.get().expect("the domain is built before a command is sent")
    }
}

#[aggregate(context = "queueing", name = "sender")]
impl Sender {
    #[on_command(creates = "allowed", produces = [SentOn])]
    async fn send_on(&self, command: SendOn, outbox: &dyn Outbox) -> Result<Decision, DecideError> {
        let script = Script::new([], Ending::Happen(text("from inside")));
        outbox.domain().send(&scripted(&command.to), Ensure(script)).await.map_err(DecideError::failed)?;
        Ok(Decision::event(SentOn {}))
    }

    #[on_command(creates = "allowed", produces = [SentOn])]
    async fn send_to_self(
        &self,
        _: SendToSelf,
        outbox: &dyn Outbox,
        scope: &mut DecideScope<'_>,
    ) -> Result<Decision, DecideError> {
        let own = AggregateId::<Self>::new(scope.aggregate_id())?;
        outbox.domain().send(&own, SendOn { to: text("b") }).await.map_err(DecideError::failed)?;
        Ok(Decision::event(SentOn {}))
    }

    #[on_event]
    fn sent(&mut self, _: &SentOn) {}
}

async fn with_outbox() -> Domain {
    let late = Arc::new(Late(OnceLock::new()));
    let outbox: Arc<dyn Outbox> = late.clone();
    let builder = super::builder(MemoryStore::new()).aggregate::<Sender>().provide::<dyn Outbox>(outbox);
    let domain = builder.build().await.expect("built");
    assert!(late.0.set(domain.clone()).is_ok());
    domain
}

#[tokio::test]
async fn c7_a_send_from_inside_a_handler_does_not_queue() {
    let domain = with_outbox().await;
    let sender = AggregateId::<Sender>::new("s").expect("an id");
    // The target's lane is occupied by a command that never ends: a nested send would hang in the queue.
    domain.send(&scripted("b"), Create(Script::new([], Ending::Happen(text("first"))))).await.expect("created");
    let stuck = domain.send(&scripted("b"), Change(Script::new([Step::Hang], Ending::NoOp)));
    let stuck = tokio::spawn(async move { stuck.await });
    tokio::task::yield_now().await;
    let sent = domain.send(&sender, SendOn { to: text("b") }).await.expect("written");
    assert!(matches!(sent, Outcome::Committed(_)));
    assert_eq!(domain.load(&scripted("b")).await.expect("loaded").happened.len(), 2);
    stuck.abort();
}

#[tokio::test]
async fn c7_a_send_to_an_aggregate_in_its_own_chain_is_an_error_and_not_a_hang() {
    let domain = with_outbox().await;
    let sent = domain.send(&AggregateId::<Sender>::new("s").expect("an id"), SendToSelf {}).await;
    let Err(Error::Failed { source, .. }) = sent else { panic!("{sent:?}") };
    assert!(source.to_string().contains("waiting for it"), "{source}");
}
