//! `#[derive(Event)]`: a name, a version, and the way up from older versions.

mod check;
mod expand;
mod parse;

use crate::errors::Errors;
use proc_macro2::TokenStream;

/// The expansion, and every error found; a derive does not repeat its item.
pub(crate) fn event(item: TokenStream) -> (TokenStream, Vec<syn::Error>) {
    let errors = Errors::new();
    let output = parse::event(item, &errors).and_then(|event| {
        let about_type = errors.child();
        check::event(&event, &errors);
        check::can_be_an_event(&event, &about_type);
        about_type.unless_failed(event)
    });
    let output = output.map(|event| expand::event(&event)).unwrap_or_default();
    (output, errors.into_list())
}
