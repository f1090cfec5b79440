//! Every rule of `#[derive(Event)]`, one function each.

use super::parse::{Event, NAME_EXAMPLE, UPCASTERS_EXAMPLE, VERSION_EXAMPLE};
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
        (None, _) => {
            format!("{count} upcasters make this version {}; write `version = {}` beside them", count + 1, count + 1)
        }
        (_, None) => format!(
            "version {version} needs {needed} upcasters, one for each step from version 1 on; write \
             `{VERSION_EXAMPLE}, {UPCASTERS_EXAMPLE}`"
        ),
        _ => format!(
            "version {version} needs {needed} upcasters, and {count} are listed: the first turns version 1 into 2, \
             and so on"
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
