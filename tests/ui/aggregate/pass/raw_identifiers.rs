//! M05: `r#` is how Rust spells a name and no part of it.

use freehold::prelude::*;
use freehold::{Aggregate, Decide, EventSet};

#[derive(Clone, Default, Serialize, Deserialize)]
struct r#Match {
    r#type: String,
}

mod r#async {
    use freehold::prelude::*;

    #[derive(Serialize, Deserialize)]
    #[allow(non_camel_case_types)]
    pub struct r#move {
        pub r#type: String,
    }
}

#[derive(Event, Serialize, Deserialize)]
#[allow(non_camel_case_types)]
struct r#yield {
    r#type: String,
}

#[aggregate(context = "catalog")]
impl r#Match {
    #[on_command(creates)]
    fn r#move(&self, r#in: r#async::r#move) -> r#yield {
        r#yield { r#type: r#in.r#type }
    }

    #[on_event]
    fn r#yield(&mut self, r#fn: &r#yield) {
        self.r#type.clone_from(&r#fn.r#type);
    }
}

fn main() {
    let names = [<r#Match as Aggregate>::NAME, <r#Match as Decide<r#async::r#move>>::COMMAND];
    assert_eq!(names, ["match", "move"]);
    assert_eq!(<r#yield as freehold::Event>::NAME, "yield");
    let events: MatchEvent = r#yield { r#type: "a".to_owned() }.into();
    assert!(!format!("{:?} {:?} {:?}", events.encode(), events, r#Match::DESCRIPTOR).contains("r#"));

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stored = runtime.block_on(async {
        let domain = Domain::builder().store(freehold::MemoryStore::new()).build().await.unwrap();
        let id = AggregateId::<r#Match>::new("a").unwrap();
        domain.send(&id, r#async::r#move { r#type: "kept".to_owned() }).await.unwrap();
        assert_eq!(domain.load(&id).await.unwrap().r#type, "kept");
        format!("{:?}", domain.commits(0, 10).await.unwrap())
    });
    assert!(!stored.contains("r#"), "{stored}");
    assert!(stored.contains("yield") && stored.contains("move"), "{stored}");
}
