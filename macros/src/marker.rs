//! `#[on_command(..)]` and `#[on_event]`: recognised inside `#[aggregate]`, an error anywhere else.
//!
//! What their options mean is in `aggregate::options`.

use crate::errors::Errors;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::parse::Parser as _;
use syn::{Attribute, Meta};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Command,
    Event,
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Command => "on_command",
            Self::Event => "on_event",
        }
    }

    fn of(name: &str) -> Option<Self> {
        [Self::Command, Self::Event].into_iter().find(|kind| kind.name() == name)
    }
}

/// The marker that `attribute` is, if it is one; by its last segment, so that `#[freehold::on_event]` is one too.
pub(crate) fn kind(attribute: &Attribute) -> Option<Kind> {
    let name = attribute.path().segments.last()?;
    Kind::of(&name.ident.to_string())
}

/// Whether `attribute` hides a marker: `#[cfg_attr(.., on_event)]` is resolved too late to be seen.
pub(crate) fn is_conditional(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    let parentheses = TokenTree::Group(Group::new(Delimiter::Parenthesis, list.tokens.clone()));
    list.path.is_ident("cfg_attr") && names_marker(&parentheses)
}

/// What a marker expands to when `#[aggregate]` did not take it away.
pub(crate) fn misplaced(name: &str, item: TokenStream) -> (TokenStream, Vec<syn::Error>) {
    let errors = Errors::new();
    let message = format!(
        "`#[{name}]` belongs on a method inside an impl block marked `#[aggregate(..)]`; \
         write `#[aggregate(context = \"..\")]` above the `impl`"
    );
    errors.push(syn::Error::new(proc_macro2::Span::call_site(), message));
    (item, errors.into_list())
}

/// `tokens` with the markers inside its braces taken away, whatever else is in it.
pub(crate) fn strip(tokens: TokenStream) -> TokenStream {
    let in_braces = |tree| match tree {
        TokenTree::Group(group) if matches!(group.delimiter(), Delimiter::Brace | Delimiter::None) => {
            let stream =
                if group.delimiter() == Delimiter::None { strip(group.stream()) } else { strip_here(group.stream()) };
            let mut stripped = Group::new(group.delimiter(), stream);
            stripped.set_span(group.span());
            TokenTree::Group(stripped)
        }
        tree => tree,
    };
    tokens.into_iter().map(in_braces).collect()
}

pub(crate) fn strip_here(tokens: TokenStream) -> TokenStream {
    let mut kept: Vec<TokenTree> = Vec::new();
    for tree in tokens {
        let last = kept.last().map(open);
        let follows_pound = matches!(last, Some(TokenTree::Punct(punct)) if punct.as_char() == '#');
        if follows_pound && is_marker(&tree) {
            kept.pop();
        } else {
            kept.push(tree);
        }
    }
    kept.into_iter().collect()
}

/// The first marker in `tokens`, with its `#`.
pub(crate) fn first(tokens: TokenStream) -> TokenStream {
    let mut previous = None;
    for tree in tokens {
        if is_marker(&tree) {
            return previous.into_iter().chain([tree]).collect();
        }
        previous = Some(tree);
    }
    TokenStream::new()
}

/// The only token inside of invisible delimiters, or else `tree`.
fn open(tree: &TokenTree) -> TokenTree {
    if let TokenTree::Group(group) = tree
        && group.delimiter() == Delimiter::None
    {
        let mut trees = group.stream().into_iter();
        if let (Some(only), None) = (trees.next(), trees.next()) {
            return open(&only);
        }
    }
    tree.clone()
}

/// Whether `tree` is the brackets of a marker, or of a `cfg_attr` that hides one.
fn is_marker(tree: &TokenTree) -> bool {
    let TokenTree::Group(group) = open(tree) else { return false };
    if group.delimiter() != Delimiter::Bracket {
        return false;
    }
    let path = |input: syn::parse::ParseStream<'_>| {
        let path = input.call(syn::Path::parse_mod_style)?;
        Ok((path, input.parse::<TokenStream>()?))
    };
    path.parse2(group.stream()).is_ok_and(|(path, rest)| {
        let is_ours = path.segments.last().is_some_and(|segment| Kind::of(&segment.ident.to_string()).is_some());
        is_ours || (path.is_ident("cfg_attr") && rest.into_iter().any(|tree| names_marker(&tree)))
    })
}

/// Whether a marker stands in the parentheses of a `cfg_attr`.
fn names_marker(parentheses: &TokenTree) -> bool {
    let TokenTree::Group(group) = parentheses else { return false };
    let mut trees = group.stream().into_iter();
    trees.any(|tree| matches!(tree, TokenTree::Ident(ident) if Kind::of(&ident.to_string()).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misplaced_marker_keeps_its_item() {
        let (output, errors) = misplaced("on_event", "fn a() {}".parse().expect("tokens"));
        assert_eq!(output.to_string(), "fn a () { }");
        assert_eq!(errors.len(), 1);
        assert!(errors[0].to_string().contains("inside an impl block marked `#[aggregate(..)]`"), "{}", errors[0]);
    }

    #[test]
    fn strip_takes_markers_and_nothing_else() {
        let tokens = "impl A { #[on_command(creates)] #[doc = \"x\"] fn a() {} \
                      # [a::on_event] fn b() { #[on_event] } #[cfg_attr(x, on_event)] fn c() {} #[cfg(x)] }";
        let tokens: TokenStream = tokens.parse().expect("tokens");
        let expected: TokenStream =
            "impl A { #[doc = \"x\"] fn a() {} fn b() { #[on_event] } fn c() {} #[cfg(x)] }".parse().expect("tokens");
        assert_eq!(strip(tokens).to_string(), expected.to_string());
    }
}
