//! The commands and events that the UI cases are about, so that a case shows its mistake and little else.

use freehold::prelude::*;

/// Gives a brand its first name.
#[derive(Debug, Serialize, Deserialize)]
pub struct CreateBrand {
    /// The name.
    pub name: String,
}

/// Gives a brand another name.
#[derive(Debug, Serialize, Deserialize)]
pub struct RenameBrand {
    /// The new name.
    pub name: String,
}

/// A brand came to be.
#[derive(Debug, Event, Serialize, Deserialize)]
pub struct BrandCreated {
    /// Its name.
    pub name: String,
}

/// A brand has another name.
#[derive(Debug, Event, Serialize, Deserialize)]
pub struct BrandRenamed {
    /// Its name by now.
    pub name: String,
}
