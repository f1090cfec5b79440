//! What the cases are about, so that each shows its mistake and little else.

#![allow(dead_code, unused_imports)]

pub use freehold::prelude::*;

#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Brand {
    pub name: String,
}

#[derive(Serialize, Deserialize)]
pub struct CreateBrand {
    pub name: String,
}

#[derive(Serialize, Deserialize)]
pub struct RenameBrand {
    pub name: String,
}

#[derive(Event, Serialize, Deserialize)]
pub struct BrandCreated {
    pub name: String,
}

#[derive(Event, Serialize, Deserialize)]
pub struct BrandRenamed {
    pub name: String,
}
