//! Members of an impl block: the signatures of its methods are parsed, and nothing else.
//!
//! Bodies, constants and macro calls stay tokens: their errors belong to rustc, and half-written ones must come out
//! as they went in. A member that can't be read is kept whole, with the error for whoever needs it.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::{ToTokens, TokenStreamExt as _};
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Signature, Token, Visibility};

pub(crate) enum Member {
    Method(Box<Method>),
    /// A constant, a type, a macro call, or what no rule of ours is about.
    Other(TokenStream),
    /// A method of which the signature can't be read.
    Broken(TokenStream, syn::Error),
}

pub(crate) struct Method {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) defaultness: Option<Token![default]>,
    pub(crate) sig: Signature,
    /// The block, or the semicolon of a method without one.
    pub(crate) body: TokenTree,
    /// All of it as it was written; printing the parts above may lose an empty `where` or `<>`.
    pub(crate) written: TokenStream,
}

impl ToTokens for Method {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.append_all(&self.attrs);
        self.vis.to_tokens(tokens);
        self.defaultness.to_tokens(tokens);
        self.sig.to_tokens(tokens);
        self.body.to_tokens(tokens);
    }
}

/// Every member of `tokens`, the inside of an impl block; never fails.
pub(crate) fn members(tokens: TokenStream) -> Vec<Member> {
    let parse = |input: ParseStream<'_>| {
        let mut members = Vec::new();
        while input.peek(Token![#]) && input.peek2(Token![!]) {
            let inner: [TokenTree; 3] = [input.parse()?, input.parse()?, input.parse()?];
            members.push(Member::Other(inner.into_iter().collect()));
        }
        while !input.is_empty() {
            members.push(member(input)?);
        }
        Ok(members)
    };
    parse.parse2(tokens.clone()).unwrap_or_else(|_| vec![Member::Other(tokens)])
}

fn member(input: ParseStream<'_>) -> syn::Result<Member> {
    let ahead = input.fork();
    match method(&ahead) {
        Ok(Some(_)) => {
            let mut written = Vec::new();
            while input.cursor() != ahead.cursor() && !input.is_empty() {
                written.push(input.parse::<TokenTree>()?);
            }
            let written: TokenStream = written.into_iter().collect();
            // Unlike a fork, this notices what is left over inside of brackets.
            Ok(match method.parse2(written.clone()) {
                Ok(Some(method)) => Member::Method(Box::new(Method { written, ..method })),
                Ok(None) => Member::Other(written),
                Err(error) => Member::Broken(written, error),
            })
        }
        Ok(None) => skip_member(input).map(Member::Other),
        Err(error) => Ok(Member::Broken(skip_member(input)?, error)),
    }
}

/// A method, or nothing when the next member is no method.
fn method(input: ParseStream<'_>) -> syn::Result<Option<Method>> {
    let attrs = input.call(Attribute::parse_outer)?;
    let vis = input.parse()?;
    let is_default = input.peek(Token![default]) && !input.peek2(Token![!]);
    let defaultness = if is_default { Some(input.parse()?) } else { None };
    let is_const = input.peek(Token![const])
        && !(input.peek2(Token![fn])
            || input.peek2(Token![async])
            || input.peek2(Token![unsafe])
            || input.peek2(Token![extern]));
    let is_method = input.peek(Token![fn])
        || input.peek(Token![const])
        || input.peek(Token![async])
        || input.peek(Token![unsafe])
        || input.peek(Token![extern]);
    if is_const || !is_method {
        return Ok(None);
    }
    let sig = input.parse()?;
    let body = input.parse()?;
    if !is_body(&body) {
        return Err(syn::Error::new_spanned(body, "expected the body of the method, in braces"));
    }
    Ok(Some(Method { attrs, vis, defaultness, sig, body, written: TokenStream::new() }))
}

/// A block, a semicolon, or the `$body:block` of a user's `macro_rules`, which has invisible delimiters.
fn is_body(tree: &TokenTree) -> bool {
    match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            let mut trees = group.stream().into_iter();
            trees.next().is_some_and(|tree| is_body(&tree)) && trees.next().is_none()
        }
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Ident(_) | TokenTree::Literal(_) => false,
    }
}

/// The tokens up to where a member must end: its braces or, for a constant or a type, its semicolon.
fn skip_member(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut ends_at_brace = true;
    let mut previous_was_const = false;
    let mut skipped = TokenStream::new();
    while !input.is_empty() {
        let tree: TokenTree = input.parse()?;
        let mut ends = false;
        let mut is_const = false;
        match &tree {
            TokenTree::Ident(ident) => {
                let starts_function = ["fn", "async", "unsafe", "extern"].iter().any(|keyword| ident == keyword);
                ends_at_brace &= !(ident == "type" || previous_was_const && !starts_function);
                is_const = ident == "const";
            }
            TokenTree::Group(group) => ends = ends_at_brace && group.delimiter() == Delimiter::Brace,
            TokenTree::Punct(punct) => ends = punct.as_char() == ';',
            TokenTree::Literal(_) => {}
        }
        previous_was_const = is_const;
        skipped.append(tree);
        if ends {
            break;
        }
    }
    Ok(skipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One letter a member: `m`ethod, `o`ther, `b`roken.
    fn kinds(input: &str) -> String {
        let tokens: TokenStream = input.parse().expect("tokens");
        let members = members(tokens.clone());
        let mut output = TokenStream::new();
        for member in &members {
            match member {
                Member::Method(method) => output.extend(method.written.clone()),
                Member::Other(tokens) | Member::Broken(tokens, _) => output.extend(tokens.clone()),
            }
        }
        assert_eq!(output.to_string(), tokens.to_string(), "members lose tokens");
        let letter = |member: &Member| match member {
            Member::Method(_) => 'm',
            Member::Other(_) => 'o',
            Member::Broken(..) => 'b',
        };
        members.iter().map(letter).collect()
    }

    #[test]
    fn members_end_where_rustc_ends_them() {
        for (input, expected) in [
            ("", ""),
            ("fn a(&self) {} fn b() {}", "mm"),
            ("const A: u8 = { 1 }; fn a() {}", "om"),
            ("pub const fn a() {} const async unsafe extern \"C\" fn b() {}", "mm"),
            ("type A = u8; my_macro!(1); my_macro! { 2 } fn a() {}", "ooom"),
            ("fn a<const N: usize>() -> A<{ N + 1 }> where B: C<D = { 1 }> {} fn b();", "mm"),
            ("#[doc = \"x\"] #[cfg(a)] pub(crate) default async fn a(self: Box<Self>) {}", "m"),
        ] {
            assert_eq!(kinds(input), expected, "{input}");
        }
    }

    #[test]
    fn inner_attributes_are_no_member() {
        assert_eq!(kinds("#![allow(unused)] fn a() {}"), "om");
    }

    #[test]
    fn unfinished_bodies_are_kept() {
        for body in ["command.", "if x", "let a =", "match x { A => }", "=> , ;"] {
            assert_eq!(kinds(&format!("fn a(&self) {{ {body} }} fn b() {{}}")), "mm", "{body}");
        }
    }

    #[test]
    fn a_half_written_method_breaks_no_other() {
        for (input, expected) in [
            ("fn a(&self { } fn b() {}", None),
            ("fn (&self) {} fn b() {}", Some("bm")),
            ("fn a(&self) -> {} fn b() {}", Some("bm")),
            ("fn a<T(&self) {} fn b() {}", Some("bm")),
            ("fn a(x: ) {} fn b() {}", Some("bm")),
            ("fn b() {} fn", Some("mb")),
            ("fn b() {} async", Some("mb")),
            ("fn b() {} pub", Some("mo")),
        ] {
            match expected {
                Some(expected) => assert_eq!(kinds(input), expected, "{input}"),
                None => assert!(input.parse::<TokenStream>().is_err(), "{input}"),
            }
        }
    }
}
