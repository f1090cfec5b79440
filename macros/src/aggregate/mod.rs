//! `#[aggregate(..)]`: turns an `impl` block into handlers, metadata and a registration.
//!
//! Every handler is checked on its own, so that one bad handler neither hides another's errors nor removes another's
//! code. Bodies are never parsed: their errors belong to rustc.

mod check;
mod expand;
mod fallback;
mod model;
mod options;
mod parse;
mod types;

use crate::errors::Errors;
use proc_macro2::TokenStream;

/// The expansion, and every error found.
pub(crate) fn aggregate(args: TokenStream, item: TokenStream) -> (TokenStream, Vec<syn::Error>) {
    let errors = Errors::new();
    let output = match parse::aggregate(args, item.clone(), &errors) {
        Some(parsed) => {
            let mut aggregate = model::Aggregate::new(parsed, &errors);
            check::aggregate(&mut aggregate, &errors);
            expand::aggregate(&aggregate)
        }
        None => fallback::aggregate(item),
    };
    (output, errors.into_list())
}
