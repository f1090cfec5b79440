//! Every rule of `#[derive(Event)]`, one function each.

use super::parse::{Event, NAME_EXAMPLE, UPCASTERS_EXAMPLE};
use crate::errors::Errors;
use syn::Data;

pub(super) fn event(event: &Event, errors: &Errors) {
    name_is_not_reserved(event, errors);
    each_version_has_an_upcaster(event, errors);
}

/// Rules without which no impl can be written.
pub(super) fn can_be_an_event(event: &Event, errors: &Errors) {
    is_no_union(event, errors);
    is_not_generic(event, errors);
}

/// Names with `$` are those of events that the framework writes itself.
fn name_is_not_reserved(event: &Event, errors: &Errors) {
    if let Some(name) = event.name.as_ref().filter(|name| name.value().starts_with('$')) {
        errors.at(name, format_args!("names with `$` in front are the framework's own; write `{NAME_EXAMPLE}`"));
    }
}

fn each_version_has_an_upcaster(event: &Event, errors: &Errors) {
    if !event.is_readable {
        return;
    }
    let (version, version_at) = event.version.map_or((1, None), |(version, at)| (version, Some(at)));
    let (count, list_at) = event.upcasters.as_ref().map_or((0, None), |(list, at)| (list.len(), Some(*at)));
    let needed = version - 1;
    if usize::try_from(needed).is_ok_and(|needed| needed == count) {
        return;
    }
    let at = list_at.or(version_at).unwrap_or_else(|| event.input.ident.span());
    let message = match (version_at, list_at) {
        (None, _) => format!("these upcasters lead to version {0}; write `version = {0}` beside them", count + 1),
        (_, None) => format!(
            "version {version} needs an upcaster for each version before it, {needed} in all; \
             write `{UPCASTERS_EXAMPLE}`"
        ),
        _ => format!(
            "version {version} needs an upcaster for each version before it, {needed} in all, and {count} are listed; \
             the first is for version 1"
        ),
    };
    errors.push(syn::Error::new(at, message));
}

fn is_no_union(event: &Event, errors: &Errors) {
    if let Data::Union(data) = &event.input.data {
        errors.at(
            data.union_token,
            "a union can't be an event, since nothing tells its fields apart; write a struct or an enum",
        );
    }
}

fn is_not_generic(event: &Event, errors: &Errors) {
    let generics = &event.input.generics;
    let message = "an event can't be generic, since it is stored under one name; write a type for each event";
    if !generics.params.is_empty() {
        errors.at(&generics.params, message);
    } else if let Some(clause) = &generics.where_clause {
        errors.at(clause, message);
    }
}

#[cfg(test)]
mod tests {
    use crate::event::event;
    use crate::test_util::{assert_error, errors_of};
    use proc_macro2::TokenStream;

    fn derive(_args: TokenStream, item: TokenStream) -> (TokenStream, Vec<syn::Error>) {
        // The test tools ask for the item back, which a derive does not return.
        let (output, errors) = event(item.clone());
        (item.into_iter().chain(output).collect(), errors)
    }

    #[test]
    fn good_events_have_no_errors() {
        for item in [
            "struct A;",
            "#[event(name = \"a\")] pub(crate) struct A(u8);",
            "#[event(version = 1, upcasters = [])] enum A {}",
            "#[event(version = 3, upcasters = [a, b::c])] #[event(crate = x)] enum A { B { c: u8 } }",
        ] {
            assert_eq!(errors_of(&format!("#[derive(Event)] {item}"), derive), [], "{item}");
        }
    }

    #[test]
    fn bad_events_are_told_what_to_write() {
        let generic = "an event can't be generic, since it is stored under one name; write a type for each event";
        let steps = "version 3 needs an upcaster for each version before it, 2 in all";
        let field = "`#[event(..)]` belongs on the type; write it above the `struct` or `enum`";
        for (item, words, message) in [
            ("struct A<T>(T);", "T", generic),
            ("struct A where u8: Copy;", "where u8: Copy", generic),
            (
                "union A { a: u8 }",
                "union",
                "a union can't be an event, since nothing tells its fields apart; write a struct or an enum",
            ),
            (
                "#[event(name = \"$a\")] struct A;",
                "\"$a\"",
                "names with `$` in front are the framework's own; write `name = \"brand-created\"`",
            ),
            ("#[event(name = \"\")] struct A;", "\"\"", "`name` is blank: write `name = \"brand-created\"`"),
            ("#[event] struct A;", "event", "`#[event]` takes options; write `#[event(name = \"brand-created\")]`"),
            ("#[event(version = 3)] struct A;", "3", &format!("{steps}; write `upcasters = [from_v1]`")),
            (
                "#[event(version = 3, upcasters = [a])] struct A;",
                "[a]",
                &format!("{steps}, and 1 are listed; the first is for version 1"),
            ),
            (
                "#[event(upcasters = [a, b])] struct A;",
                "[a, b]",
                "these upcasters lead to version 3; write `version = 3` beside them",
            ),
            (
                "#[event(version = 0)] struct A;",
                "0",
                "`version` takes a number from 1 to 4294967295: write `version = 2`",
            ),
            ("struct A { #[event(name = \"a\")] a: u8 }", "#[event(name = \"a\")]", field),
            ("enum A { #[event] B }", "#[event]", field),
        ] {
            assert_error(&format!("#[derive(Event)] {item}"), words, message, derive);
        }
    }
}
