//! M01: the user's own names, where ours would be looked up if the expansion named anything without a path.

mod core {}
mod std {}
mod freehold_is_elsewhere {
    pub type Result<T> = ::std::result::Result<T, ()>;
    pub struct Option;
    pub struct Box;
    pub struct Vec;
    pub struct String;
    pub struct Arc;
    pub struct Future;
    pub struct Decide;
    pub struct Apply;
    pub struct Event;
    pub struct Aggregate;
    pub trait Send {}
    pub trait Sync {}
    pub trait Sized {}
    pub trait Clone {
        fn clone(&self) {}
        fn into(&self) {}
        fn fmt(&self) {}
        fn encode(&self) {}
    }
    impl<T> Clone for T {}
    #[allow(non_snake_case)]
    pub fn Ok() {}
    #[allow(non_snake_case)]
    pub fn Err() {}
    #[allow(non_snake_case)]
    pub fn Some() {}
    #[allow(non_upper_case_globals)]
    pub const None: u8 = 0;
}
#[allow(unused_imports)]
use freehold_is_elsewhere::*;

#[allow(non_upper_case_globals)]
const command: u8 = 1;
#[allow(non_upper_case_globals)]
const scope: u8 = 2;
#[allow(non_upper_case_globals)]
const event: u8 = 3;

pub trait Pricing: ::std::marker::Send + ::std::marker::Sync {}

#[derive(::std::clone::Clone, Default, serde::Serialize, serde::Deserialize)]
struct Brand {}

#[derive(serde::Serialize, serde::Deserialize)]
struct CreateBrand {}

#[derive(freehold::Event, serde::Serialize, serde::Deserialize)]
struct BrandCreated {}

#[freehold::namespace]
const NAMES: freehold::Namespace = freehold::Namespace::new("eshop-catalog.brand-name");

#[freehold::aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_command(creates, produces = [BrandCreated])]
    async fn create(
        &self,
        _: CreateBrand,
        _: &mut freehold::DecideScope<'_>,
        _: &dyn Pricing,
        _: &freehold::CommandContext,
    ) -> ::std::result::Result<freehold::Decision, freehold::DecideError> {
        ::std::result::Result::Ok(freehold::Decision::event(BrandCreated {}))
    }

    #[on_event]
    fn created(&mut self, _: &BrandCreated) {}
}

fn main() {}
