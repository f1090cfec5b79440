//! Tokens to raw parts: the options, the header of the impl block, its members and their markers.
//!
//! Nothing is judged here but what can't be read at all.

use super::options::AggregateOptions;
use crate::errors::Errors;
use crate::marker::{self, Kind};
use crate::signature::{self, Member};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Generics, Path, Token, Type};

pub(super) struct Parsed {
    pub(super) options: AggregateOptions,
    pub(super) block: Block,
    pub(super) members: Vec<Marked>,
}

/// The impl block but for its members.
pub(super) struct Block {
    /// Everything before the braces, as it was written.
    pub(super) before: TokenStream,
    pub(super) braces: Group,
    pub(super) attrs: Vec<Attribute>,
    pub(super) generics: Generics,
    pub(super) trait_: Option<Path>,
    pub(super) self_ty: Type,
}

/// A member, and the markers that were taken off it.
pub(super) struct Marked {
    pub(super) member: Member,
    pub(super) markers: Vec<(Kind, Attribute)>,
}

const EXPECTED_IMPL: &str = "`#[aggregate(..)]` belongs on an impl block of the aggregate's type; \
                             write it above `impl Brand { .. }`, and the methods inside";

/// Nothing when `item` is no impl block; its options are read nevertheless.
pub(super) fn aggregate(args: TokenStream, item: TokenStream, errors: &Errors) -> Option<Parsed> {
    let options = AggregateOptions::new(args, errors);
    let mut trees: Vec<TokenTree> = open(item.clone()).into_iter().collect();
    let Some(TokenTree::Group(braces)) = trees.pop_if(|last| is_braces(last)) else {
        errors.push(not_an_impl(item));
        return None;
    };
    let before: TokenStream = trees.into_iter().collect();
    match header.parse2(before.clone()) {
        Ok(Header { attrs, generics, trait_, self_ty }) => {
            let block = Block { before, braces, attrs, generics, trait_, self_ty };
            let members = signature::members(block.braces.stream());
            let members = members.into_iter().map(|member| take_markers(member, errors)).collect();
            Some(Parsed { options, block, members })
        }
        Err(error) => {
            let is_impl = before.into_iter().any(|tree| matches!(tree, TokenTree::Ident(ident) if ident == "impl"));
            errors.push(if is_impl { error } else { not_an_impl(item) });
            None
        }
    }
}

/// What is inside the invisible delimiters of a user's `macro_rules`, if they are around the whole.
fn open(item: TokenStream) -> TokenStream {
    let mut trees = item.clone().into_iter();
    match (trees.next(), trees.next()) {
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::None => open(group.stream()),
        _ => item,
    }
}

fn is_braces(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

/// On the item's first word after its attributes, which is the one that should be `impl`.
fn not_an_impl(item: TokenStream) -> syn::Error {
    let word = item.into_iter().find(|tree| matches!(tree, TokenTree::Ident(_)));
    word.map_or_else(
        || syn::Error::new(proc_macro2::Span::call_site(), EXPECTED_IMPL),
        |word| syn::Error::new_spanned(word, EXPECTED_IMPL),
    )
}

struct Header {
    attrs: Vec<Attribute>,
    generics: Generics,
    trait_: Option<Path>,
    self_ty: Type,
}

fn header(input: ParseStream<'_>) -> syn::Result<Header> {
    let attrs = input.call(Attribute::parse_outer)?;
    input.parse::<Option<Token![default]>>()?;
    input.parse::<Option<Token![unsafe]>>()?;
    input.parse::<Token![impl]>()?;
    let has_generics = input.peek(Token![<]) && !input.peek2(Token![<]);
    let mut generics = if has_generics { input.parse()? } else { Generics::default() };
    input.parse::<Option<Token![!]>>()?;
    let first: Type = input.parse()?;
    let (trait_, self_ty) = if input.parse::<Option<Token![for]>>()?.is_some() {
        let path = super::types::path(&first).cloned();
        let path = path.ok_or_else(|| syn::Error::new_spanned(&first, "expected the path of a trait"))?;
        (Some(path), input.parse()?)
    } else {
        (None, first)
    };
    generics.where_clause = input.parse()?;
    if !input.is_empty() {
        return Err(input.error("expected the braces of the impl block"));
    }
    Ok(Header { attrs, generics, trait_, self_ty })
}

fn take_markers(member: Member, errors: &Errors) -> Marked {
    match member {
        Member::Method(mut method) => {
            for attribute in method.attrs.iter().filter(|attribute| marker::is_conditional(attribute)) {
                errors.at(
                    attribute,
                    "`#[aggregate]` reads markers before `cfg_attr` is resolved; \
                     write `#[cfg(..)]` and the marker as two attributes",
                );
            }
            let mut markers = Vec::new();
            method.attrs.retain(|attribute| {
                let kind = marker::kind(attribute);
                markers.extend(kind.map(|kind| (kind, attribute.clone())));
                kind.is_none() && !marker::is_conditional(attribute)
            });
            Marked { member: Member::Method(method), markers }
        }
        // Without a marker it is none of our business, and rustc reports it better.
        Member::Broken(tokens, error) => {
            let kept = marker::strip_here(tokens.clone());
            if count(&kept) < count(&tokens) {
                errors.push(error);
            }
            Marked { member: Member::Other(kept), markers: Vec::new() }
        }
        Member::Other(tokens) => {
            let kept = marker::strip_here(tokens.clone());
            if count(&kept) < count(&tokens) {
                let message = "`#[on_command]` and `#[on_event]` belong on methods; write the marker above a `fn`";
                errors.at(marker::first(tokens), message);
            }
            Marked { member: Member::Other(kept), markers: Vec::new() }
        }
    }
}

fn count(tokens: &TokenStream) -> usize {
    tokens.clone().into_iter().count()
}

#[cfg(test)]
mod tests {
    use crate::aggregate::aggregate;
    use crate::test_util::errors_of;

    fn errors(members: &str) -> Vec<String> {
        let input =
            format!("#[aggregate(context = \"c\")] impl Brand {{ #[on_event] fn a(&mut self, e: &E) {{}} {members} }}");
        errors_of(&input, aggregate).into_iter().map(|(_, message)| message).collect()
    }

    #[test]
    fn bodies_are_for_rustc_to_judge() {
        for body in ["command.", "if x", "let a =", "match x { A => }", "Decision::event(,)", "=> , ; |", "async move"]
        {
            let members =
                format!("#[on_command] fn b(&self, command: C) -> E {{ {body} }} const A: u8 = {{ {body} }};");
            assert_eq!(errors(&members), [""; 0], "{body}");
        }
    }

    #[test]
    fn a_half_written_method_has_one_error_if_it_is_ours() {
        for method in
            ["fn", "fn b", "fn b(&)", "fn b(&self)", "fn b(&self, c: ) -> E {}", "fn b(&self, c: C) ->", "async"]
        {
            assert_eq!(errors(&format!("#[on_command] {method}")).len(), 1, "{method}");
            assert_eq!(errors(method), [""; 0], "{method}");
        }
    }
}
