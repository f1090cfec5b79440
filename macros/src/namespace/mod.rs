//! `#[namespace]`: registers a constant of type `Namespace`.
//!
//! One file is enough: the constant is read up to its name, and a registration is added.

use crate::attrs::{CRATE_FORM, Form, Options};
use crate::errors::Errors;
use crate::paths::{CratePath, hygienic};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Token, Visibility};

const FORMS: &[Form] = &[CRATE_FORM];
const EXAMPLE: &str = "pub const BRAND_NAMES: Namespace = Namespace::new(\"..\");";

/// A constant: its attributes and its name. What follows is the compiler's business.
struct Constant {
    attrs: Vec<Attribute>,
    ident: Ident,
}

/// The expansion, and every error found.
pub(crate) fn namespace(args: TokenStream, item: &TokenStream) -> (TokenStream, Vec<syn::Error>) {
    let errors = Errors::new();
    let options = Options::parse(args, "#[namespace]", FORMS, &errors);
    let crate_path = options.crate_path(&errors);
    let constant = constant.parse2(item.clone()).map_err(|error| errors.push(error));
    let registration = constant.ok().map(|constant| registration(&constant, &crate_path));
    let output = quote_spanned!(Span::mixed_site()=> #item #registration);
    (output, errors.into_list())
}

fn constant(input: ParseStream<'_>) -> syn::Result<Constant> {
    let attrs = input.call(Attribute::parse_outer)?;
    input.parse::<Visibility>()?;
    let is_constant = input.peek(Token![const]) && input.peek2(Ident::peek_any) && !input.peek2(Token![fn]);
    if !is_constant && !input.peek2(Token![_]) {
        return Err(input.error(format_args!("`#[namespace]` belongs on a constant; write `{EXAMPLE}`")));
    }
    input.parse::<Token![const]>()?;
    if input.peek(Token![_]) {
        return Err(input.error(format_args!("a namespace needs a name that code can use; write `{EXAMPLE}`")));
    }
    let ident = input.parse::<Ident>()?;
    if !input.peek(Token![:]) {
        return Err(input.error(format_args!("a namespace has no parameters; write `{EXAMPLE}`")));
    }
    // The rest has to be taken from the stream, or it counts as an error.
    input.parse::<TokenStream>()?;
    Ok(Constant { attrs, ident })
}

fn registration(Constant { attrs, ident }: &Constant, crate_path: &CratePath) -> TokenStream {
    let at = hygienic(ident.span());
    let (freehold, private) = (crate_path.at(at), crate_path.private_at(at));
    let shared =
        attrs.iter().filter(|attribute| attribute.path().is_ident("cfg") || attribute.path().is_ident("allow"));
    // Without hygiene, so that `line!()` is the constant's and not the attribute's.
    let source = crate_path.private_at(ident.span());
    let source = quote_spanned!(ident.span()=> #source::source!());
    quote_spanned! {at=>
        #(#shared)*
        const _: () = {
            #private::inventory::submit! { #freehold::NamespaceDescriptor::new(#ident, #source) }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_util::{assert_error, assert_golden, assert_survives, golden_inputs, leaves};

    #[allow(clippy::needless_pass_by_value, reason = "the shape that the test tools take")]
    fn expand(args: TokenStream, item: TokenStream) -> (TokenStream, Vec<syn::Error>) {
        namespace(args, &item)
    }

    #[test]
    fn expansions_are_the_golden_ones() {
        assert_golden("namespace", expand);
    }

    #[test]
    fn damaged_input_neither_panics_nor_vanishes() {
        assert_survives(&golden_inputs("namespace"), true, expand);
    }

    #[test]
    fn what_is_no_constant_is_told_what_to_write() {
        let example = |message: &str| format!("{message}; write `{EXAMPLE}`");
        for (input, words, message) in [
            ("#[n] static A: Namespace = a();", "static", example("`#[namespace]` belongs on a constant")),
            ("#[n] pub const fn a() {}", "const", example("`#[namespace]` belongs on a constant")),
            ("#[n] struct A;", "struct", example("`#[namespace]` belongs on a constant")),
            ("#[n] const _: Namespace = a();", "_", example("a namespace needs a name that code can use")),
            ("#[n] const A<T>: Namespace = a();", "<", example("a namespace has no parameters")),
            (
                "#[n(name = \"a\")] const A: Namespace = a();",
                "name",
                "`#[namespace]` has no option `name`; it has `crate = my_facade::freehold`".to_owned(),
            ),
        ] {
            assert_error(input, words, &message, expand);
        }
    }

    #[test]
    fn a_crate_path_leaves_no_other_path_to_the_crate() {
        let args = "crate = renamed".parse().expect("tokens");
        let (output, errors) = namespace(args, &"const A: Namespace = a();".parse().expect("tokens"));
        assert!(errors.is_empty());
        assert!(!leaves(&output).iter().any(|leaf| leaf == "freehold"), "{output}");
    }
}
