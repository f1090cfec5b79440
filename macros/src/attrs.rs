//! Options of attributes: `key`, `key = value`, separated by commas.
//!
//! Splits at commas first, so that one bad option hides no other. Knows the kinds of value that options take, and
//! not which options there are: each attribute brings its table of forms.

use crate::errors::Errors;
use crate::paths::{CratePath, unraw};
use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{LitInt, LitStr, Path, Token, bracketed};

/// Names are stored in columns of this many bytes at most.
const NAME_BYTES_MAX: usize = 255;

pub(crate) const CRATE_FORM: Form = Form { key: "crate", example: "crate = my_facade::freehold" };

/// An option as its attribute knows it; `example` is what a message tells people to write.
pub(crate) struct Form {
    pub(crate) key: &'static str,
    pub(crate) example: &'static str,
}

pub(crate) struct Options {
    forms: &'static [Form],
    entries: Vec<Entry>,
    has_unknown: bool,
}

pub(crate) struct Entry {
    key: Ident,
    value: Option<TokenStream>,
}

impl ToTokens for Entry {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.key.to_tokens(tokens);
        self.value.to_tokens(tokens);
    }
}

impl Options {
    /// The options in `tokens`, which stand in `attribute`, such as `#[aggregate(..)]`.
    pub(crate) fn parse(tokens: TokenStream, attribute: &str, forms: &'static [Form], errors: &Errors) -> Self {
        let mut options = Self { forms, entries: Vec::new(), has_unknown: false };
        options.extend(tokens, attribute, errors);
        options
    }

    /// Adds the options of a further attribute of the same name.
    pub(crate) fn extend(&mut self, tokens: TokenStream, attribute: &str, errors: &Errors) {
        for part in split_at_commas(tokens) {
            match parse_entry.parse2(part) {
                Ok(entry) => self.add(entry, attribute, errors),
                Err(error) => errors.push(error),
            }
        }
    }

    fn add(&mut self, entry: Entry, attribute: &str, errors: &Errors) {
        let key = unraw(&entry.key);
        if !self.forms.iter().any(|form| form.key == key) {
            let known: Vec<String> = self.forms.iter().map(|form| format!("`{}`", form.example)).collect();
            let known =
                if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
            errors.at(&entry.key, format_args!("`{attribute}` has no option `{key}`; {known}"));
            self.has_unknown = true;
        } else if let Some(first) = self.get(&key) {
            errors.duplicate(&first.key, &entry.key, format_args!("`{key}` is given twice; keep one of the two"));
        } else {
            self.entries.push(entry);
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key || entry.key.unraw() == key)
    }

    /// Whether there is an option that the attribute does not have, which may be a misspelt one.
    pub(crate) const fn has_unknown(&self) -> bool {
        self.has_unknown
    }

    fn example(&self, key: &str) -> &'static str {
        self.forms.iter().find(|form| form.key == key).map_or("", |form| form.example)
    }

    /// The value of `key` as a `T`; when it is no `T`, the error says that `key` takes `what`.
    fn value<T: Parse>(&self, key: &str, what: &str, errors: &Errors) -> Option<T> {
        let entry = self.get(key)?;
        let example = self.example(key);
        let Some(value) = entry.value.clone() else {
            errors.at(&entry.key, format_args!("`{key}` needs a value: write `{example}`"));
            return None;
        };
        let parse = |input: ParseStream<'_>| {
            let value = input.parse::<T>().ok();
            Ok((value, input.parse::<TokenStream>()?))
        };
        match parse.parse2(value.clone()) {
            Ok((Some(parsed), rest)) if rest.is_empty() => return Some(parsed),
            Ok((Some(_), rest)) => errors.at(first_token(rest), "expected a comma between this and the option before"),
            _ => errors.at(value, format_args!("`{key}` takes {what}: write `{example}`")),
        }
        None
    }

    pub(crate) fn text(&self, key: &str, errors: &Errors) -> Option<LitStr> {
        self.value(key, "a string", errors)
    }

    /// A text that is stored as a name: neither blank nor too long, and without NUL.
    pub(crate) fn name(&self, key: &str, errors: &Errors) -> Option<LitStr> {
        let name = self.text(key, errors)?;
        let value = name.value();
        let problem = if value.trim().is_empty() {
            "is blank".to_owned()
        } else if value.len() > NAME_BYTES_MAX {
            format!("has {} bytes, and at most {NAME_BYTES_MAX} are stored", value.len())
        } else if value.contains('\0') {
            "contains NUL, which not every store accepts".to_owned()
        } else {
            return Some(name);
        };
        errors.at(&name, format_args!("`{key}` {problem}: write `{}`", self.example(key)));
        None
    }

    /// A number from `min`, with its place.
    pub(crate) fn number(&self, key: &str, min: u32, errors: &Errors) -> Option<(u32, Span)> {
        let literal: LitInt = self.value(key, "a number", errors)?;
        let number = literal.base10_parse::<u32>().ok().filter(|&number| number >= min && literal.suffix().is_empty());
        if number.is_none() {
            let (max, example) = (u32::MAX, self.example(key));
            errors.at(&literal, format_args!("`{key}` takes a number from {min} to {max}: write `{example}`"));
        }
        Some((number?, literal.span()))
    }

    /// A list in square brackets, with its place.
    pub(crate) fn list<T: Parse>(&self, key: &str, errors: &Errors) -> Option<(Vec<T>, Span)> {
        let list: List<T> = self.value(key, "a list in square brackets", errors)?;
        Some((list.elements, list.span))
    }

    /// Whatever `T` parses; `what` names it.
    pub(crate) fn other<T: Parse>(&self, key: &str, what: &str, errors: &Errors) -> Option<T> {
        self.value(key, what, errors)
    }

    /// The value of `key` if it is a `T`, and no error otherwise.
    pub(crate) fn guess<T: Parse>(&self, key: &str) -> Option<T> {
        syn::parse2(self.get(key)?.value.clone()?).ok()
    }

    /// Whether `key` stands alone, without a value.
    pub(crate) fn is_bare(&self, key: &str) -> bool {
        self.get(key).is_some_and(|entry| entry.value.is_none())
    }

    pub(crate) fn crate_path(&self, errors: &Errors) -> CratePath {
        let path = self.value::<ModPath>(CRATE_FORM.key, "a path without quotes", errors);
        CratePath::new(path.map(|path| path.0))
    }
}

struct List<T> {
    elements: Vec<T>,
    span: Span,
}

impl<T: Parse> Parse for List<T> {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let content;
        let bracket = bracketed!(content in input);
        let elements = Punctuated::<T, Token![,]>::parse_terminated(&content)?;
        Ok(Self { elements: elements.into_iter().collect(), span: bracket.span.join() })
    }
}

struct ModPath(Path);

impl Parse for ModPath {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.call(Path::parse_mod_style).map(Self)
    }
}

fn parse_entry(input: ParseStream<'_>) -> syn::Result<Entry> {
    if !input.peek(Ident::peek_any) {
        return Err(input.error("expected an option, such as `key = value`"));
    }
    let key = input.call(Ident::parse_any)?;
    if input.is_empty() {
        return Ok(Entry { key, value: None });
    }
    if !input.peek(Token![=]) {
        return Err(input.error(format_args!("expected `=` and a value, or a comma, after `{}`", unraw(&key))));
    }
    input.parse::<Token![=]>()?;
    let value: TokenStream = input.parse()?;
    Ok(Entry { key, value: (!value.is_empty()).then_some(value) })
}

/// The parts between commas, none of them empty.
fn split_at_commas(tokens: TokenStream) -> Vec<TokenStream> {
    let mut parts: Vec<TokenStream> = Vec::new();
    let mut part: Vec<TokenTree> = Vec::new();
    for tree in tokens {
        match tree {
            TokenTree::Punct(punct) if punct.as_char() == ',' => parts.push(part.drain(..).collect()),
            // A `$option:meta` of a user's macro_rules arrives in invisible delimiters.
            TokenTree::Group(group) if part.is_empty() && group.delimiter() == Delimiter::None => {
                parts.extend(split_at_commas(group.stream()));
            }
            tree => part.push(tree),
        }
    }
    parts.push(part.into_iter().collect());
    parts.retain(|part| !part.is_empty());
    parts
}

fn first_token(tokens: TokenStream) -> Option<TokenTree> {
    tokens.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: &[Form] = &[
        Form { key: "name", example: "name = \"brand\"" },
        Form { key: "version", example: "version = 2" },
        Form { key: "list", example: "list = [A, B]" },
        CRATE_FORM,
    ];

    /// Reads every option of `input`, and answers with the messages.
    fn messages(input: &str) -> Vec<String> {
        let errors = Errors::new();
        let tokens = input.parse().expect("tokens");
        let options = Options::parse(tokens, "#[thing(..)]", FORMS, &errors);
        options.name("name", &errors);
        options.number("version", 1, &errors);
        options.list::<Path>("list", &errors);
        options.crate_path(&errors);
        errors.into_list().iter().flatten().map(|error| error.to_string()).collect()
    }

    #[test]
    fn good_options_have_no_errors() {
        for input in
            ["", "name = \"a\"", "name = \"a\",", "version = 1, list = [A, b::B,], crate = crate::x", "list = []"]
        {
            assert_eq!(messages(input), [""; 0], "{input}");
        }
    }

    #[test]
    fn each_bad_option_is_told_what_to_write() {
        let long = format!("name = \"{}\"", "x".repeat(256));
        for (input, message) in [
            ("name", "`name` needs a value: write `name = \"brand\"`"),
            ("name =", "`name` needs a value: write `name = \"brand\"`"),
            ("name = 1", "`name` takes a string: write `name = \"brand\"`"),
            ("name = \" \"", "`name` is blank: write `name = \"brand\"`"),
            ("name = \"a\\0\"", "`name` contains NUL, which not every store accepts: write `name = \"brand\"`"),
            (&long, "`name` has 256 bytes, and at most 255 are stored: write `name = \"brand\"`"),
            ("version = \"1\"", "`version` takes a number: write `version = 2`"),
            ("version = 0", "`version` takes a number from 1 to 4294967295: write `version = 2`"),
            ("version = 1u8", "`version` takes a number from 1 to 4294967295: write `version = 2`"),
            ("version = 4294967296", "`version` takes a number from 1 to 4294967295: write `version = 2`"),
            ("list = A", "`list` takes a list in square brackets: write `list = [A, B]`"),
            ("list = [1]", "`list` takes a list in square brackets: write `list = [A, B]`"),
            ("crate = \"x\"", "`crate` takes a path without quotes: write `crate = my_facade::freehold`"),
            ("name = \"a\" version = 1", "expected a comma between this and the option before"),
            ("name(\"a\")", "expected `=` and a value, or a comma, after `name`"),
            ("\"a\"", "expected an option, such as `key = value`"),
        ] {
            assert_eq!(messages(input), [message], "{input}");
        }
    }

    #[test]
    fn an_unknown_option_lists_the_known_ones() {
        assert_eq!(
            messages("nam = \"a\""),
            ["`#[thing(..)]` has no option `nam`; it has `name = \"brand\"`, `version = 2`, `list = [A, B]`, \
              `crate = my_facade::freehold`"]
        );
    }

    #[test]
    fn a_duplicate_names_both_places() {
        assert_eq!(
            messages("name = \"a\", name = \"b\""),
            ["`name` is given twice; keep one of the two", "the first one is here"]
        );
    }

    #[test]
    fn one_bad_option_hides_no_other() {
        assert_eq!(messages("name = 1, version = 0, \"x\"").len(), 3);
    }
}
