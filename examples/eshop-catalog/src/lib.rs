//! Brands and categories of a shop, whose names stay unique: what a project on Freehold looks like.
//!
//! Read [`names`] first, then [`brand`] and the spec beside it, `brand_spec.rs`. [`category`] is the same kind of
//! aggregate with names of its own. The program in `main.rs` imports names, sends single commands, and lists what is
//! there: [`import`] and [`listing`] do the work.

pub mod brand;
pub mod category;
pub mod ids;
pub mod import;
pub mod item;
pub mod lines;
pub mod listing;
pub mod names;

#[cfg(test)]
mod brand_spec;
#[cfg(test)]
mod category_spec;
#[cfg(test)]
mod import_spec;
#[cfg(test)]
mod lines_spec;
#[cfg(test)]
mod names_spec;

pub use brand::Brand;
pub use category::Category;
pub use item::Item;
