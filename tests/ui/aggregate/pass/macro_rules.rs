//! M16: written by a `macro_rules` of the user's, twice in one module, beside items with the names that helpers have.

use freehold::prelude::*;

#[allow(non_camel_case_types, dead_code)]
mod helpers {
    pub struct __Brand;
    pub struct Scope;
    pub struct decide;
    pub struct handler;
    pub struct _self;
}
#[allow(unused_imports)]
use helpers::*;

macro_rules! catalog_entry {
    ($name:ident, $create:ident, $event:ty, $created:ident, $context:literal, $body:block) => {
        #[derive(Clone, Default, Serialize, Deserialize)]
        struct $name {}

        #[derive(Serialize, Deserialize)]
        struct $create {
            name: String,
        }

        #[derive(Event, Serialize, Deserialize)]
        struct $created {
            name: String,
        }

        #[aggregate(context = $context)]
        impl $name {
            #[on_command(creates, produces = [$event])]
            async fn create(&self, command: $create, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
                let _ = scope.attempt();
                Ok(Decision::event($created { name: command.name }))
            }

            #[on_event]
            fn created(&mut self, _: &$event) $body
        }
    };
}

catalog_entry!(Brand, CreateBrand, BrandCreated, BrandCreated, "catalog", {});
catalog_entry!(Category, CreateCategory, CategoryCreated, CategoryCreated, "catalog", {});

fn main() {}
