//! Paths in generated code: `::freehold`, or what the option `crate = ..` says.
//!
//! Generated code names everything through `CratePath` or `::core`, never through a `use` of the user's.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::Path;
use syn::ext::IdentExt as _;

/// The path at which generated code finds the crate `freehold`.
pub(crate) struct CratePath {
    custom: Option<Path>,
}

impl CratePath {
    pub(crate) const fn new(custom: Option<Path>) -> Self {
        Self { custom }
    }

    /// The path, where errors of the code that it stands in are about `at`.
    pub(crate) fn at(&self, at: Span) -> TokenStream {
        let custom = self.custom.as_ref().map(|path| located_at(path.to_token_stream(), at));
        custom.unwrap_or_else(|| quote_spanned!(at=> ::freehold))
    }

    /// The path of what only generated code may touch.
    pub(crate) fn private_at(&self, at: Span) -> TokenStream {
        let path = self.at(at);
        quote_spanned!(at=> #path::__private)
    }
}

/// `tokens` with the hygiene that they have, where errors about them are reported at `at`.
pub(crate) fn located_at(tokens: TokenStream, at: Span) -> TokenStream {
    let relocate = |mut tree: TokenTree| {
        let span = tree.span().located_at(at);
        if let TokenTree::Group(group) = &tree {
            tree = TokenTree::Group(Group::new(group.delimiter(), located_at(group.stream(), at)));
        }
        tree.set_span(span);
        tree
    };
    tokens.into_iter().map(relocate).collect()
}

/// The name as a person reads it: `r#move` is `move`.
pub(crate) fn unraw(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// A place in the user's code, with names that the user's code can't see and that can't see the user's locals.
pub(crate) fn hygienic(at: Span) -> Span {
    Span::mixed_site().located_at(at)
}

/// `BrandOwner` as `brand-owner`; a run of capitals is one word, `HTTPServer` is `http-server`.
pub(crate) fn kebab_case(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut kebab = String::with_capacity(name.len() + 4);
    for (index, &char) in chars.iter().enumerate() {
        let previous = index.checked_sub(1).map(|before| chars[before]);
        let starts_word = char.is_uppercase()
            && previous.is_some_and(|previous| {
                let next_is_lowercase = chars.get(index + 1).is_some_and(|next| next.is_lowercase());
                previous != '_' && (!previous.is_uppercase() || next_is_lowercase)
            });
        if starts_word && !kebab.ends_with('-') {
            kebab.push('-');
        }
        match char {
            '_' if kebab.is_empty() || kebab.ends_with('-') => {}
            '_' => kebab.push('-'),
            _ => kebab.extend(char.to_lowercase()),
        }
    }
    kebab.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kebab_case_keeps_runs_of_capitals_together() {
        for (name, kebab) in [
            ("Brand", "brand"),
            ("BrandOwner", "brand-owner"),
            ("HTTPServer", "http-server"),
            ("ServerHTTP", "server-http"),
            ("Vat2Rate", "vat2-rate"),
            ("Brand_Owner", "brand-owner"),
            ("_Brand_", "brand"),
            ("__", ""),
            ("\u{dc}bung", "\u{fc}bung"),
            ("A", "a"),
        ] {
            assert_eq!(kebab_case(name), kebab, "{name}");
        }
    }

    #[test]
    fn the_crate_path_is_absolute_unless_given() {
        assert_eq!(CratePath::new(None).private_at(Span::call_site()).to_string(), ":: freehold :: __private");
        let custom = syn::parse_str("crate::facade").expect("a path");
        assert_eq!(
            CratePath::new(Some(custom)).private_at(Span::call_site()).to_string(),
            "crate :: facade :: __private"
        );
    }
}
