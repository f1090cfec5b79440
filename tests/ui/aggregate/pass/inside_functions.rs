//! M10: declared in `main`, in a nested block, and found at link time all the same.

use freehold::prelude::*;

fn main() {
    #[derive(Clone, Default, Serialize, Deserialize)]
    struct Brand {}
    #[derive(Serialize, Deserialize)]
    struct CreateBrand {}
    #[derive(Event, Serialize, Deserialize)]
    struct BrandCreated {}
    #[namespace]
    const NAMES: Namespace = Namespace::new("first.names");
    #[aggregate(context = "first")]
    impl Brand {
        #[on_command(creates, produces = [BrandCreated])]
        fn create(&self, _: CreateBrand) -> Decision {
            Decision::event(BrandCreated {})
        }
        #[on_event]
        fn created(&mut self, _: &BrandCreated) {}
    }

    let nested = {
        #[derive(Clone, Default, Serialize, Deserialize)]
        struct Brand {}
        #[derive(Serialize, Deserialize)]
        struct CreateBrand {}
        #[derive(Event, Serialize, Deserialize)]
        struct BrandCreated {}
        #[namespace]
        const NAMES: Namespace = Namespace::new("second.names");
        #[aggregate(context = "second")]
        impl Brand {
            #[on_command(creates, produces = [BrandCreated])]
            fn create(&self, _: CreateBrand) -> Decision {
                Decision::event(BrandCreated {})
            }
            #[on_event]
            fn created(&mut self, _: &BrandCreated) {}
        }
        AggregateId::<Brand>::new("contoso").is_ok()
    };
    assert!(nested && AggregateId::<Brand>::new("contoso").is_ok());

    let found = contexts();
    assert_eq!(found, ["first", "second"]);
}

fn contexts() -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let domain = Domain::builder().store(freehold::MemoryStore::new()).build().await.unwrap();
        domain.report().aggregates.iter().map(|(aggregate, _)| aggregate.context.to_owned()).collect()
    })
}
