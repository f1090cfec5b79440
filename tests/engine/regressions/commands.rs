//! Which commands there are, and what is plain data (C4, C10).

use super::id;
use freehold::prelude::*;
use freehold::{Creates, Decide, Delete, EventInfo, MemoryStore, Produces};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Counter {
    digits: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Count {
    number: u128,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Counted {
    number: u128,
}

#[aggregate(context = "regressions", name = "counter")]
impl Counter {
    #[on_command(creates = "allowed")]
    fn count(&self, command: Count) -> Counted {
        Counted { number: command.number }
    }

    #[on_event]
    fn counted(&mut self, event: &Counted) {
        self.digits = event.number.to_string().len();
    }
}

/// Handlers written by hand that the aggregate's descriptor does not list, one of them under a name as built-in ones have.
macro_rules! not_listed {
    ($($command:ident: $name:literal;)*) => {
        $(
            #[derive(Debug, Serialize, Deserialize)]
            struct $command {}

            impl Produces<$command, Counted> for Counter {}

            impl Decide<$command> for Counter {
                const COMMAND: &'static str = $name;
                const CREATES: Creates = Creates::Allowed;
                const PRODUCES: &'static [EventInfo] = &[EventInfo::of::<Counted>()];

                fn decide(
                    &self,
                    _: $command,
                    _: &mut DecideScope<'_>,
                ) -> impl Future<Output = Result<freehold::Decision<Self, $command>, DecideError>> + Send {
                    std::future::ready(Ok(freehold::Decision::event(Counted { number: 0 })))
                }
            }
        )*
    };
}
not_listed! {
    Sneak: "$sneak";
    SneakAsDelete: "$delete";
    Forgotten: "Forgotten";
}

async fn counters(store: &MemoryStore) -> Domain {
    Domain::builder().without_discovery().aggregate::<Counter>().store(store.clone()).build().await.expect("built")
}

/// A command was taken for a built-in one by its name, and passed the gate of a deleted aggregate.
#[tokio::test]
async fn c10_a_command_that_is_not_registered_is_refused_whatever_its_name() {
    let store = MemoryStore::new();
    let domain = counters(&store).await;
    domain.send(&id::<Counter>("c"), Count { number: 1 }).await.expect("counted");
    for is_deleted in [false, true] {
        if is_deleted {
            domain
                .send(&id::<Counter>("c"), Delete {})
                .await
                .expect("deleted: a built-in command needs no registration");
        }
        let refused = [
            domain.send(&id::<Counter>("c"), Sneak {}).await.map(drop),
            domain.send(&id::<Counter>("c"), SneakAsDelete {}).await.map(drop),
            domain.send(&id::<Counter>("c"), Forgotten {}).await.map(drop),
        ];
        for sent in refused {
            assert!(matches!(&sent, Err(error) if error.code() == "MISCONFIGURED"), "{sent:?}");
        }
    }
    assert_eq!(domain.commits(0, 9).await.expect("the log").len(), 2);
}

/// A command with an integer of more than 64 bits, which `serde_json` writes and reads, was refused.
#[tokio::test]
async fn c4_a_command_with_a_big_integer_is_plain_data() {
    let store = MemoryStore::new();
    let domain = counters(&store).await;
    let count = |number| domain.send(&id::<Counter>("c"), Count { number }).request_id("r");
    count(u128::MAX).await.expect("counted");
    assert_eq!(counters(&store).await.load(&id::<Counter>("c")).await.expect("loaded").digits, 39);
    assert!(count(u128::MAX).await.expect("the same request").is_replay());
    let other = count(u128::MAX - 1).await;
    assert!(matches!(&other, Err(error) if error.code() == "REQUEST_ID_REUSED"), "its last digit differs: {other:?}");
}
