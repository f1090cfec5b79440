//! An event to tokens.

use super::parse::Event;
use crate::paths::{hygienic, unraw};
use proc_macro2::{Literal, TokenStream};
use quote::quote_spanned;

pub(super) fn event(event: &Event) -> TokenStream {
    let ident = &event.input.ident;
    let at = hygienic(ident.span());
    let freehold = event.crate_path.at(at);
    let name = event.name.as_ref().map_or_else(|| unraw(ident), syn::LitStr::value);
    let version = Literal::u32_unsuffixed(event.version.map_or(1, |(version, _)| version));
    let upcasters = event.upcasters.as_ref().map(
        |(upcasters, _)| quote_spanned!(at=> const UPCASTERS: &'static [#freehold::Upcaster] = &[#(#upcasters),*];),
    );
    let attrs = &event.input.attrs;
    let allows = attrs.iter().filter(|attribute| attribute.path().is_ident("allow"));
    // To keep reading an event that nobody writes any more is no use of it.
    let is_deprecated = attrs.iter().any(|attribute| attribute.path().is_ident("deprecated"));
    let deprecated = is_deprecated.then(|| quote_spanned!(at=> #[allow(deprecated)]));
    quote_spanned! {at=>
        #(#allows)*
        #deprecated
        #[automatically_derived]
        impl #freehold::Event for #ident {
            const NAME: &'static str = #name;
            const VERSION: u32 = #version;
            #upcasters
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::event::event;
    use crate::test_util::{assert_golden, assert_survives, golden_inputs, leaves};
    use proc_macro2::TokenStream;

    /// A derive is its item's first attribute in the golden files, and has no arguments of its own.
    fn expand(_args: TokenStream, item: TokenStream) -> (TokenStream, Vec<syn::Error>) {
        event(item)
    }

    #[test]
    fn expansions_are_the_golden_ones() {
        assert_golden("event", expand);
    }

    #[test]
    fn damaged_input_does_not_panic() {
        assert_survives(&golden_inputs("event"), false, expand);
    }

    #[test]
    fn a_crate_path_leaves_no_other_path_to_the_crate() {
        let (output, errors) = event("#[event(crate = a::renamed)] struct A;".parse().expect("tokens"));
        assert!(errors.is_empty());
        assert!(!leaves(&output).iter().any(|leaf| leaf == "freehold"), "{output}");
    }
}
