//! Questions about types, answered from their tokens alone.
//!
//! Aliases are not seen through: what only the compiler knows is asked of it, by bounds in the generated code.

use crate::paths::hygienic;
use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::{GenericArgument, Lifetime, Path, PathArguments, PathSegment, ReturnType, Type, TypeReference};

/// The type inside parentheses and inside the invisible delimiters of a user's `macro_rules`.
pub(super) fn peel(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            _ => return ty,
        };
    }
}

pub(super) fn path(ty: &Type) -> Option<&Path> {
    match peel(ty) {
        Type::Path(path) if path.qself.is_none() => Some(&path.path),
        _ => None,
    }
}

pub(super) fn last_ident(ty: &Type) -> Option<&Ident> {
    path(ty)?.segments.last().map(|segment| &segment.ident)
}

pub(super) fn is_named(ty: &Type, name: &str) -> bool {
    last_ident(ty).is_some_and(|ident| ident == name)
}

pub(super) fn reference(ty: &Type) -> Option<&TypeReference> {
    match peel(ty) {
        Type::Reference(reference) => Some(reference),
        _ => None,
    }
}

/// Equal tokens; two spellings of one type are told apart by the compiler.
pub(super) fn text(tokens: &impl ToTokens) -> String {
    tokens.to_token_stream().to_string()
}

pub(super) fn mentions_decision(output: &ReturnType) -> bool {
    let mut output = output.clone();
    let mut found = false;
    each_decision(&mut output, &mut |_| found = true);
    found
}

/// Gives each bare `Decision` its two type parameters, the aggregate and `command`; whether there was one.
pub(super) fn complete_decisions(output: &mut ReturnType, command: &Type) -> bool {
    let mut is_changed = false;
    each_decision(output, &mut |segment| {
        if segment.arguments.is_none() {
            let at = hygienic(segment.ident.span());
            let this = Ident::new("Self", at);
            let parameters = syn::parse2(quote_spanned!(at=> <#this, #command>));
            segment.arguments = parameters.map_or(PathArguments::None, PathArguments::AngleBracketed);
            is_changed = true;
        }
    });
    is_changed
}

fn each_decision(output: &mut ReturnType, found: &mut dyn FnMut(&mut PathSegment)) {
    if let ReturnType::Type(_, ty) = output {
        each_decision_in(ty, found);
    }
}

fn each_decision_in(ty: &mut Type, found: &mut dyn FnMut(&mut PathSegment)) {
    match ty {
        Type::Path(path) if path.qself.is_none() => {
            for segment in &mut path.path.segments {
                if let PathArguments::AngleBracketed(arguments) = &mut segment.arguments {
                    for argument in &mut arguments.args {
                        if let GenericArgument::Type(ty) = argument {
                            each_decision_in(ty, found);
                        }
                    }
                }
            }
            if let Some(last) = path.path.segments.last_mut().filter(|last| last.ident == "Decision") {
                found(last);
            }
        }
        Type::Tuple(tuple) => tuple.elems.iter_mut().for_each(|ty| each_decision_in(ty, found)),
        Type::Group(group) => each_decision_in(&mut group.elem, found),
        Type::Paren(paren) => each_decision_in(&mut paren.elem, found),
        Type::Reference(reference) => each_decision_in(&mut reference.elem, found),
        Type::Array(array) => each_decision_in(&mut array.elem, found),
        Type::Slice(slice) => each_decision_in(&mut slice.elem, found),
        _ => {}
    }
}

/// The event types in a handler's return type, through `Result`, `Option`, `Vec` and tuples; or what is no event.
pub(super) fn returned_events(output: &ReturnType) -> Result<Vec<Path>, Option<&Type>> {
    let ReturnType::Type(_, ty) = output else { return Err(None) };
    let mut events = Vec::new();
    collect_events(ty, &mut events)?;
    Ok(events)
}

fn collect_events<'a>(ty: &'a Type, events: &mut Vec<Path>) -> Result<(), Option<&'a Type>> {
    if let Type::Tuple(tuple) = peel(ty)
        && !tuple.elems.is_empty()
    {
        return tuple.elems.iter().try_for_each(|ty| collect_events(ty, events));
    }
    let path = path(ty).ok_or(Some(ty))?;
    let last = path.segments.last().ok_or(Some(ty))?;
    if ["Result", "Option", "Vec"].iter().any(|wrapper| last.ident == wrapper) {
        let PathArguments::AngleBracketed(arguments) = &last.arguments else { return Err(Some(ty)) };
        return match arguments.args.first() {
            Some(GenericArgument::Type(inner)) => collect_events(inner, events),
            _ => Err(Some(ty)),
        };
    }
    // One event may come out in several places: `(Moved, Option<Moved>)`.
    if !events.iter().any(|event| text(event) == text(path)) {
        events.push(path.clone());
    }
    Ok(())
}

/// The first lifetime in `ty` but `'static`, and but those that a `for<..>` of its own declares.
pub(super) fn borrowed(ty: &Type) -> Option<Lifetime> {
    let text = text(ty);
    if text.contains("for <") {
        return None;
    }
    let mut found = None;
    map_lifetimes(ty.to_token_stream(), &mut |lifetime| {
        if lifetime.ident != "static" && found.is_none() {
            found = Some(lifetime.clone());
        }
        lifetime
    });
    found
}

/// `ty` with `'static` for `'_` and for the handler's own lifetimes: what is provided to a domain lives that long.
pub(super) fn make_static(ty: &Type, own: &[&Lifetime]) -> TokenStream {
    map_lifetimes(ty.to_token_stream(), &mut |lifetime| {
        if lifetime.ident == "_" || own.iter().any(|own| own.ident == lifetime.ident) {
            Lifetime::new("'static", lifetime.span())
        } else {
            lifetime
        }
    })
}

fn map_lifetimes(tokens: TokenStream, map: &mut dyn FnMut(Lifetime) -> Lifetime) -> TokenStream {
    let mut output = TokenStream::new();
    let mut trees = tokens.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match (tree, trees.peek()) {
            (TokenTree::Punct(quote), Some(TokenTree::Ident(ident))) if quote.as_char() == '\'' => {
                let lifetime = Lifetime { apostrophe: quote.span(), ident: ident.clone() };
                map(lifetime).to_tokens(&mut output);
                trees.next();
            }
            (TokenTree::Group(group), _) => {
                let mut mapped = Group::new(group.delimiter(), map_lifetimes(group.stream(), map));
                mapped.set_span(group.span());
                output.extend([TokenTree::Group(mapped)]);
            }
            (tree, _) => output.extend([tree]),
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    fn completed(mut output: ReturnType) -> String {
        complete_decisions(&mut output, &parse_quote!(Create));
        text(&output)
    }

    #[test]
    fn bare_decisions_are_completed_wherever_they_are() {
        for (output, expected) in [
            (parse_quote!(-> Decision), "-> Decision < Self , Create >"),
            (parse_quote!(-> Result<a::Decision, E>), "-> Result < a :: Decision < Self , Create > , E >"),
            (parse_quote!(-> (Decision, u8)), "-> (Decision < Self , Create > , u8)"),
            (parse_quote!(-> Decision<Brand, Create>), "-> Decision < Brand , Create >"),
            (parse_quote!(-> Decision::Kind), "-> Decision :: Kind"),
            (parse_quote!(-> <Decision as A>::B), "-> < Decision as A > :: B"),
        ] {
            assert_eq!(completed(output), expected);
        }
    }

    #[test]
    fn events_are_found_through_the_usual_wrappers() {
        let found = |output: ReturnType| {
            returned_events(&output).ok().map(|events| events.iter().map(text).collect::<Vec<_>>())
        };
        for (output, expected) in [
            (parse_quote!(-> A), Some(vec!["A"])),
            (parse_quote!(-> io::Result<Option<a::A>>), Some(vec!["a :: A"])),
            (parse_quote!(-> Result<(A, Vec<B<u8>>, Option<A>), E>), Some(vec!["A", "B < u8 >"])),
            (parse_quote!(-> (A,)), Some(vec!["A"])),
            (parse_quote!(-> ()), None),
            (parse_quote!(-> [A; 2]), None),
            (parse_quote!(-> Option), None),
            (ReturnType::Default, None),
        ] {
            assert_eq!(found(output), expected.map(|events| events.into_iter().map(str::to_owned).collect()));
        }
    }

    #[test]
    fn only_lifetimes_of_the_handler_become_static() {
        let own: Lifetime = parse_quote!('a);
        for (ty, expected) in [
            (parse_quote!(dyn A), "dyn A"),
            (parse_quote!(dyn A<'a, '_> + 'a), "dyn A < 'static , 'static > + 'static"),
            (parse_quote!(dyn for<'b> A<'b, (&'a u8,)>), "dyn for < 'b > A < 'b , (& 'static u8 ,) >"),
        ] {
            assert_eq!(make_static(&ty, &[&own]).to_string(), expected);
        }
    }

    #[test]
    fn borrowed_types_are_told_from_owned_ones() {
        let borrowed = |ty: Type| borrowed(&ty).map(|lifetime| lifetime.to_string());
        assert_eq!(borrowed(parse_quote!(A<'a>)).as_deref(), Some("'a"));
        assert_eq!(borrowed(parse_quote!(A<(&'_ u8,)>)).as_deref(), Some("'_"));
        assert_eq!(borrowed(parse_quote!(A<&'static u8>)), None);
        assert_eq!(borrowed(parse_quote!(A<for<'a> fn(&'a u8)>)), None);
    }
}
