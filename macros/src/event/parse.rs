//! Tokens to an event: its type, and what `#[event(..)]` says.

use crate::attrs::{CRATE_FORM, Form, Options};
use crate::errors::Errors;
use crate::paths::CratePath;
use proc_macro2::{Span, TokenStream};
use syn::{Attribute, Data, DeriveInput, Fields, LitStr, Meta, Path};

pub(super) const UPCASTERS_EXAMPLE: &str = "upcasters = [from_v1]";
pub(super) const NAME_EXAMPLE: &str = "name = \"brand-created\"";

const FORMS: &[Form] = &[
    Form { key: "name", example: NAME_EXAMPLE },
    Form { key: "version", example: "version = 2" },
    Form { key: "upcasters", example: UPCASTERS_EXAMPLE },
    CRATE_FORM,
];

pub(super) struct Event {
    pub(super) input: DeriveInput,
    pub(super) crate_path: CratePath,
    pub(super) name: Option<LitStr>,
    /// The number, and where it stands.
    pub(super) version: Option<(u32, Span)>,
    /// From version 1 to 2, from 2 to 3, and so on; with the place of the list.
    pub(super) upcasters: Option<(Vec<Path>, Span)>,
    /// Whether the version and the upcasters, if any, could be read.
    pub(super) is_readable: bool,
}

pub(super) fn event(item: TokenStream, errors: &Errors) -> Option<Event> {
    let input: DeriveInput = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => {
            errors.push(error);
            return None;
        }
    };
    let mut options = Options::parse(TokenStream::new(), "#[event(..)]", FORMS, errors);
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("event")) {
        match &attribute.meta {
            Meta::List(list) => options.extend(list.tokens.clone(), "#[event(..)]", errors),
            other => errors.at(other, format_args!("`#[event]` takes options; write `#[event({NAME_EXAMPLE})]`")),
        }
    }
    for attribute in inner_attributes(&input.data) {
        errors.at(attribute, "`#[event(..)]` belongs on the type; write it above the `struct` or `enum`");
    }
    let crate_path = options.crate_path(errors);
    let name = options.name("name", errors);
    let numbers = errors.child();
    let version = options.number("version", 1, &numbers);
    let upcasters = options.list("upcasters", &numbers);
    Some(Event { input, crate_path, name, version, upcasters, is_readable: !numbers.failed() })
}

/// The `#[event]`s on fields and variants.
fn inner_attributes(data: &Data) -> Vec<&Attribute> {
    fn of_fields(fields: &Fields) -> impl Iterator<Item = &Attribute> {
        fields.iter().flat_map(|field| &field.attrs)
    }
    let attributes: Vec<&Attribute> = match data {
        Data::Struct(data) => of_fields(&data.fields).collect(),
        Data::Enum(data) => {
            data.variants.iter().flat_map(|variant| variant.attrs.iter().chain(of_fields(&variant.fields))).collect()
        }
        Data::Union(_) => Vec::new(),
    };
    attributes.into_iter().filter(|attribute| attribute.path().is_ident("event")).collect()
}
