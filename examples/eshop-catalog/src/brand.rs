//! `Brand`: a brand of the shop: its commands, its events, its rules.

use crate::names::{BRAND_NAMES, exchange, take};
use freehold::prelude::*;

/// Gives a brand its first name.
#[derive(Debug, Serialize, Deserialize)]
pub struct CreateBrand {
    /// The name, in any spelling.
    pub name: String,
}

/// Gives a brand another name, or another spelling of the one it has.
#[derive(Debug, Serialize, Deserialize)]
pub struct RenameBrand {
    /// The new name, in any spelling.
    pub name: String,
}

/// Gives the name up, for others to take: what to do before a delete, which keeps it.
#[derive(Debug, Serialize, Deserialize)]
pub struct RetireBrand {}

/// A brand came to be.
#[derive(Debug, Event, Serialize, Deserialize)]
pub struct BrandCreated {
    /// Its name, without outer spaces.
    pub name: String,
}

/// A brand has another name, or another spelling of it.
#[derive(Debug, Event, Serialize, Deserialize)]
pub struct BrandRenamed {
    /// Its name by now, without outer spaces.
    pub name: String,
}

/// A brand has given its name up.
#[derive(Debug, Event, Serialize, Deserialize)]
pub struct BrandRetired {
    /// The name that it had.
    pub name: String,
}

/// A brand, as its events have made it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Brand {
    name: String,
    retired: bool,
}

#[aggregate(context = "eshop-catalog", name = "brand")]
impl Brand {
    #[on_command(creates, produces = [BrandCreated])]
    async fn create(&self, command: CreateBrand, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        let name = take(BRAND_NAMES, &command.name, scope).await?;
        Ok(Decision::event(BrandCreated { name }))
    }

    #[on_command(produces = [BrandRenamed])]
    async fn rename(&self, command: RenameBrand, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        if command.name.trim() == self.name && !self.retired {
            return Ok(Decision::no_op());
        }
        let name = exchange(BRAND_NAMES, &self.name, &command.name, scope).await?;
        Ok(Decision::event(BrandRenamed { name }))
    }

    #[on_command(produces = [BrandRetired])]
    fn retire(&self, _: RetireBrand, scope: &mut DecideScope<'_>) -> Decision {
        if self.retired {
            return Decision::no_op();
        }
        scope.release(BRAND_NAMES, &self.name);
        Decision::event(BrandRetired { name: self.name.clone() })
    }

    #[on_event]
    fn created(&mut self, event: &BrandCreated) {
        self.name.clone_from(&event.name);
    }

    #[on_event]
    fn renamed(&mut self, event: &BrandRenamed) {
        self.name.clone_from(&event.name);
        self.retired = false;
    }

    #[on_event]
    fn retired(&mut self, _: &BrandRetired) {
        self.retired = true;
    }
}

impl Brand {
    /// The name it has, or had before it was retired.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has given its name up. A rename gives it one again.
    #[must_use]
    pub const fn is_retired(&self) -> bool {
        self.retired
    }
}
