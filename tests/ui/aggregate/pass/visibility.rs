//! M11: generated items are no more visible than the user's, and no lint says otherwise.

#![deny(private_interfaces, private_bounds, unreachable_pub, dead_code)]

mod catalog {
    mod brands {
        use freehold::prelude::*;

        #[derive(Clone, Default, Serialize, Deserialize)]
        struct Brand {}

        #[derive(Serialize, Deserialize)]
        pub(super) struct CreateBrand {}

        #[derive(Event, Serialize, Deserialize)]
        pub(crate) struct BrandCreated {}

        #[aggregate(context = "private")]
        impl Brand {
            #[on_command(creates)]
            fn create(&self, _: CreateBrand) -> BrandCreated {
                BrandCreated {}
            }

            #[on_event]
            fn created(&mut self, _: &BrandCreated) {}
        }

        #[derive(Clone, Default, Serialize, Deserialize)]
        pub(crate) struct Category {}

        #[aggregate(context = "crate", event = pub(crate) Happened)]
        impl Category {
            #[on_command(creates)]
            fn create(&self, _: CreateBrand) -> BrandCreated {
                BrandCreated {}
            }

            #[on_event]
            fn created(&mut self, _: &BrandCreated) {}
        }
    }

    pub(crate) fn event() -> brands::Happened {
        let _ = brands::CreateBrand {};
        brands::BrandCreated {}.into()
    }

    pub(crate) use brands::Category;
}

fn main() {
    assert_eq!(format!("{:?}", catalog::event()), "Happened::BrandCreated(..)");
    let _ = catalog::Category::default();
}
