//! `Category`: a category of the shop. The rules of a brand, for names of its own.
//!
//! Its handlers return their events as they are, which is shorter than a `Decision` and means the same.

use crate::names::{CATEGORY_NAMES, exchange, take};
use freehold::prelude::*;

/// Gives a category its first name.
#[derive(Debug, Serialize, Deserialize)]
pub struct CreateCategory {
    /// The name, in any spelling.
    pub name: String,
}

/// Gives a category another name, or another spelling of the one it has.
#[derive(Debug, Serialize, Deserialize)]
pub struct RenameCategory {
    /// The new name, in any spelling.
    pub name: String,
}

/// Gives the name up, for others to take: what to do before a delete, which keeps it.
#[derive(Debug, Serialize, Deserialize)]
pub struct RetireCategory {}

/// A category came to be.
#[derive(Debug, Event, Serialize, Deserialize)]
pub struct CategoryCreated {
    /// Its name, without outer spaces.
    pub name: String,
}

/// A category has another name, or another spelling of it.
#[derive(Debug, Event, Serialize, Deserialize)]
pub struct CategoryRenamed {
    /// Its name by now, without outer spaces.
    pub name: String,
}

/// A category has given its name up.
#[derive(Debug, Event, Serialize, Deserialize)]
pub struct CategoryRetired {
    /// The name that it had.
    pub name: String,
}

/// A category, as its events have made it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Category {
    name: String,
    retired: bool,
}

#[aggregate(context = "eshop-catalog", name = "category")]
impl Category {
    #[on_command(creates)]
    async fn create(
        &self,
        command: CreateCategory,
        scope: &mut DecideScope<'_>,
    ) -> Result<CategoryCreated, DecideError> {
        let name = take(CATEGORY_NAMES, &command.name, scope).await?;
        Ok(CategoryCreated { name })
    }

    #[on_command]
    async fn rename(
        &self,
        command: RenameCategory,
        scope: &mut DecideScope<'_>,
    ) -> Result<Option<CategoryRenamed>, DecideError> {
        if command.name.trim() == self.name && !self.retired {
            return Ok(None);
        }
        let name = exchange(CATEGORY_NAMES, &self.name, &command.name, scope).await?;
        Ok(Some(CategoryRenamed { name }))
    }

    #[on_command]
    fn retire(&self, _: RetireCategory, scope: &mut DecideScope<'_>) -> Option<CategoryRetired> {
        if self.retired {
            return None;
        }
        scope.release(CATEGORY_NAMES, &self.name);
        Some(CategoryRetired { name: self.name.clone() })
    }

    #[on_event]
    fn created(&mut self, event: &CategoryCreated) {
        self.name.clone_from(&event.name);
    }

    #[on_event]
    fn renamed(&mut self, event: &CategoryRenamed) {
        self.name.clone_from(&event.name);
        self.retired = false;
    }

    #[on_event]
    fn retired(&mut self, _: &CategoryRetired) {
        self.retired = true;
    }
}

impl Category {
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
