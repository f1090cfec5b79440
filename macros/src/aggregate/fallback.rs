//! What is emitted in place of what can't be generated, so that one mistake is one error and not forty.
//!
//! The user's item always comes out; a handler with a mistake in it keeps its impls, with a body that never runs.

use crate::marker;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::{Attribute, Type, parse_quote_spanned};

/// The context of an aggregate that has none: never seen, since the same expansion has an error.
pub(super) const CONTEXT: &str = "missing";

/// The item without its markers, which would each report that they are not inside an aggregate.
pub(super) fn aggregate(item: TokenStream) -> TokenStream {
    marker::strip(item)
}

/// The command of a handler that names none, so that its `Decision` is complete and its events are produced.
pub(super) fn command(at: Span) -> Type {
    parse_quote_spanned!(at=> ())
}

/// For a handler that does not say what it produces, so that its body has no errors about that.
pub(super) fn produces_anything(
    freehold: &TokenStream,
    ty: &Type,
    command: &Type,
    cfgs: &[Attribute],
    at: Span,
) -> TokenStream {
    quote_spanned! {at=>
        #(#cfgs)*
        impl<E> #freehold::Produces<#command, E> for #ty where #ty: #freehold::Apply<E> {}
    }
}

/// The enum of events when one of them has its name.
pub(super) fn events_enum(taken: &Ident) -> Ident {
    format_ident!("{taken}s")
}

/// The body of a generated method whose handler can't be called.
pub(super) fn body(at: Span) -> TokenStream {
    quote_spanned!(at=> ::core::unreachable!())
}
