#[allow(unused_imports)]
use freehold::prelude::*;

#[namespace]
pub const BRAND_NAMES: Namespace = Namespace::new("eshop-catalog.brand-name").normalized(TRIM_LOWERCASE);
#[allow(dead_code)]
pub const NAME_TAKEN: RejectionCode = RejectionCode::new("NAME_TAKEN");

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Brand {
    pub name: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct CreateBrand {
    pub name: String,
}

#[derive(Debug, Event, Serialize, Deserialize)]
pub struct BrandCreated {
    pub name: String,
}

#[aggregate(context = "eshop-catalog", name = "brand")]
impl Brand {
    #[on_command(creates, produces = [BrandCreated])]
    async fn create(&self, command: CreateBrand, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        scope.reserve(BRAND_NAMES, &command.name).await?.or_reject(NAME_TAKEN, "another brand has this name")?;
        Ok(Decision::event(BrandCreated { name: command.name }))
    }

    #[on_event]
    fn created(&mut self, event: &BrandCreated) {
        self.name.clone_from(&event.name);
    }
}
