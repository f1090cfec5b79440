//! `Item`: what brands and categories have in common, so that the program is written once for both.

use crate::brand::{Brand, CreateBrand, RenameBrand, RetireBrand};
use crate::category::{Category, CreateCategory, RenameCategory, RetireCategory};
use crate::names::{BRAND_NAMES, CATEGORY_NAMES};
use freehold::{Aggregate, Command, Decide, Namespace};

/// A thing of the catalog that has a unique name.
pub trait Item: Aggregate + Decide<Self::Create> + Decide<Self::Rename> + Decide<Self::Retire> {
    /// The command that creates one.
    type Create: Command;
    /// The command that gives it another name.
    type Rename: Command;
    /// The command that gives its name up.
    type Retire: Command;
    /// Where its names are unique.
    const NAMES: Namespace;
    /// More than one of them, for people.
    const PLURAL: &'static str;

    /// The command that creates one called `name`.
    fn create(name: String) -> Self::Create;
    /// The command that calls it `name` from now on.
    fn rename(name: String) -> Self::Rename;
    /// The command that gives its name up.
    fn retire() -> Self::Retire;
    /// The name it has, or had before it was retired.
    fn name(&self) -> &str;
    /// Whether it has given its name up.
    fn is_retired(&self) -> bool;
}

macro_rules! item {
    ($item:ident, $names:ident, $plural:literal, $create:ident, $rename:ident, $retire:ident) => {
        impl Item for $item {
            type Create = $create;
            type Rename = $rename;
            type Retire = $retire;
            const NAMES: Namespace = $names;
            const PLURAL: &'static str = $plural;

            fn create(name: String) -> $create {
                $create { name }
            }
            fn rename(name: String) -> $rename {
                $rename { name }
            }
            fn retire() -> $retire {
                $retire {}
            }
            fn name(&self) -> &str {
                Self::name(self)
            }
            fn is_retired(&self) -> bool {
                Self::is_retired(self)
            }
        }
    };
}

item!(Brand, BRAND_NAMES, "brands", CreateBrand, RenameBrand, RetireBrand);
item!(Category, CATEGORY_NAMES, "categories", CreateCategory, RenameCategory, RetireCategory);
