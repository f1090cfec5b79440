//! M03: a library with every lint that users turn on.

#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, missing_debug_implementations, unreachable_pub, unused_qualifications)]
#![deny(clippy::all, clippy::pedantic)]

pub mod catalog {
    //! The catalog.

    use freehold::prelude::*;

    /// Brand names.
    #[namespace]
    pub const NAMES: Namespace = Namespace::new("eshop-catalog.brand-name");

    /// A brand.
    #[derive(Debug, Clone, Default, Serialize, Deserialize)]
    pub struct Brand {
        /// Its name.
        pub name: String,
    }

    /// Gives a brand its name.
    #[derive(Debug, Serialize, Deserialize)]
    pub struct CreateBrand {
        /// The name.
        pub name: String,
    }

    /// A brand came to be.
    #[derive(Debug, Event, Serialize, Deserialize)]
    #[event(name = "brand-created", version = 2, upcasters = [from_v1])]
    pub struct BrandCreated {
        /// Its name.
        pub name: String,
    }

    fn from_v1(event: freehold::json::Value) -> Result<freehold::json::Value, freehold::UpcastError> {
        Ok(event)
    }

    #[aggregate(context = "eshop-catalog", state_version = 2, snapshot_every = 10)]
    impl Brand {
        /// Decides whether the brand gets its name.
        #[on_command(creates, produces = [BrandCreated])]
        pub async fn create(&self, command: CreateBrand, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
            scope.reserve(NAMES, &command.name).await?.or_reject("NAME_TAKEN", "another brand has this name")?;
            Ok(Decision::event(BrandCreated { name: command.name }))
        }

        #[on_event]
        fn created(&mut self, event: &BrandCreated) {
            self.name.clone_from(&event.name);
        }
    }
}

fn main() {}
