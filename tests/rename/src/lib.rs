//! Everything the macros emit finds its crate under the name that `crate = ..` gives (M02), in edition 2021.

#![forbid(unsafe_code)]
#![deny(warnings, missing_docs)]

use renamed::prelude::*;

/// Brand names.
#[namespace(crate = renamed)]
pub const BRAND_NAMES: Namespace = Namespace::new("eshop-catalog.brand-name").normalized(TRIM_LOWERCASE);

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
#[event(crate = renamed)]
pub struct BrandCreated {
    /// Its name.
    pub name: String,
}

/// What a brand may be called.
pub trait Censor: Send + Sync {
    /// Whether the name will do.
    fn allows(&self, name: &str) -> bool;
}

#[aggregate(context = "eshop-catalog", crate = renamed)]
impl Brand {
    #[on_command(creates, produces = [BrandCreated])]
    async fn create(
        &self,
        command: CreateBrand,
        censor: &dyn Censor,
        scope: &mut DecideScope<'_>,
    ) -> Result<Decision, DecideError> {
        if !censor.allows(&command.name) {
            return Err(Rejection::new("RUDE", "not in this shop").into());
        }
        scope.reserve(BRAND_NAMES, &command.name).await?.or_reject("NAME_TAKEN", "another brand has this name")?;
        Ok(Decision::event(BrandCreated { name: command.name }))
    }

    #[on_event]
    fn created(&mut self, event: &BrandCreated) {
        self.name.clone_from(&event.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use renamed::MemoryStore;
    use std::sync::Arc;

    struct Mild;

    impl Censor for Mild {
        fn allows(&self, name: &str) -> bool {
            name != "rude"
        }
    }

    #[tokio::test]
    async fn a_renamed_crate_is_discovered_and_decides() {
        let domain = Domain::builder().store(MemoryStore::new()).provide::<dyn Censor>(Arc::new(Mild));
        let domain = domain.build().await.expect("everything is registered");
        let create = |id: &str, name: &str| {
            let brand = AggregateId::<Brand>::new(id).expect("an id");
            domain.send(&brand, CreateBrand { name: name.to_owned() })
        };
        assert_eq!(create("contoso", "Contoso").await.expect("a free name").version(), 1);
        let codes = [create("fabrikam", " CONTOSO ").await, create("fabrikam", "rude").await]
            .map(|outcome| outcome.expect_err("a rejection").rejection().map(|rejection| rejection.code().as_str()));
        assert_eq!(codes, [Some("NAME_TAKEN"), Some("RUDE")]);
        let brand = AggregateId::<Brand>::new("contoso").expect("an id");
        assert_eq!(domain.load(&brand).await.expect("it exists").name, "Contoso");
    }
}
