//! Sync and async, the command by value or by reference, and the rest in any order.

use freehold::CommandContext;
use freehold::prelude::*;
use std::sync::Arc;

trait Pricing: Send + Sync {
    fn price(&self) -> u64;
}

trait Labels<T>: Send + Sync {
    fn label(&self) -> T;
}

struct Shop;

impl Pricing for Shop {
    fn price(&self) -> u64 {
        7
    }
}

impl Labels<String> for Shop {
    fn label(&self) -> String {
        "label".to_owned()
    }
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {
    notes: Vec<String>,
}

macro_rules! commands {
    ($($name:ident)*) => { $(#[derive(Serialize, Deserialize)] struct $name {})* };
}
commands!(One Two Three Four Five);

#[derive(Event, Serialize, Deserialize)]
struct Noted(String);

#[aggregate(context = "catalog")]
impl Brand {
    #[on_command(creates = "allowed")]
    fn one(&self, _: One) -> Noted {
        Noted("one".to_owned())
    }

    #[on_command(creates = "allowed")]
    async fn two(&self, _: &Two, context: &CommandContext, pricing: &dyn Pricing, scope: &mut DecideScope<'_>) -> Noted {
        Noted(format!("{} {} {}", context.attempt, pricing.price(), scope.attempt()))
    }

    #[on_command(creates = "allowed")]
    fn three(&self, _: Three, scope: &mut DecideScope, labels: &(dyn Labels<String> + 'static), pricing: &dyn Pricing) -> Noted {
        Noted(format!("{} {} {}", scope.attempt(), labels.label(), pricing.price()))
    }

    #[on_command(creates = "allowed")]
    async fn four<'a>(&'a self, _: Four, labels: &'a dyn Labels<String>, context: &CommandContext) -> Noted {
        Noted(format!("{} {}", labels.label(), context.attempt))
    }

    #[on_command(creates = "allowed")]
    fn five(self: &Self, Five {}: Five, context: &freehold::CommandContext) -> Noted {
        Noted(context.attempt.to_string())
    }

    #[on_event]
    fn noted(&mut self, Noted(note): &Noted) {
        self.notes.push(note.clone());
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let brand = runtime.block_on(async {
        let domain = Domain::builder()
            .store(freehold::MemoryStore::new())
            .provide::<dyn Pricing>(Arc::new(Shop))
            .provide::<dyn Labels<String>>(Arc::new(Shop))
            .build()
            .await
            .unwrap();
        let id = AggregateId::<Brand>::new("contoso").unwrap();
        domain.send(&id, One {}).await.unwrap();
        domain.send(&id, Two {}).await.unwrap();
        domain.send(&id, Three {}).await.unwrap();
        domain.send(&id, Four {}).await.unwrap();
        domain.send(&id, Five {}).await.unwrap();
        domain.load(&id).await.unwrap()
    });
    assert_eq!(brand.notes, ["one", "1 7 1", "1 label 7", "label 1", "1"]);
}
