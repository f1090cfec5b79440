//! The guide. Every sample in it is compiled.
//!
//! - [`own_store`]: a store of one's own, and the suite that it has to pass.

#[doc = include_str!("own_store.md")]
pub mod own_store {}
