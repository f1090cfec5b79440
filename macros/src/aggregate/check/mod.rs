//! Every rule of `#[aggregate]`, one function each: here those about the whole, and between handlers.
//!
//! A rule about one handler, in `command` and `applier`, decides what is generated for that handler only. What needs
//! types, such as whether an event is an `Event`, is left to the compiler, which is asked by the bounds of the
//! generated code.

mod applier;
mod command;
mod function;

use super::model::{Aggregate, Applier, CommandHandler, Output};
use super::options::CONTEXT_EXAMPLE;
use super::types;
use crate::errors::Errors;
use quote::ToTokens as _;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use syn::Attribute;

pub(super) fn aggregate(aggregate: &mut Aggregate, errors: &Errors) {
    has_context(aggregate, errors);
    has_a_usable_name(aggregate, errors);
    has_handlers(aggregate, errors);
    aggregate.registrable = {
        let errors = errors.child();
        is_inherent(aggregate, &errors);
        is_not_generic(aggregate, &errors);
        is_a_named_type(aggregate, &errors);
        !errors.failed()
    };
    for handler in &mut aggregate.commands {
        command::handler(handler, &errors.child());
    }
    for applier in &mut aggregate.appliers {
        applier::applier(applier, &errors.child());
    }
    one_handler_a_command(&mut aggregate.commands, errors);
    one_command_a_name(&aggregate.commands, errors);
    one_applier_an_event(&mut aggregate.appliers, errors);
    enum_has_a_name_of_its_own(aggregate, errors);
}

fn has_context(aggregate: &Aggregate, errors: &Errors) {
    if !aggregate.options.mentions_context {
        errors.at(
            &aggregate.block.self_ty,
            format_args!(
                "this aggregate has no context, the part of the domain that it belongs to; \
                 write `#[aggregate({CONTEXT_EXAMPLE})]`"
            ),
        );
    }
}

/// A type named `__` has no kebab-case.
fn has_a_usable_name(aggregate: &Aggregate, errors: &Errors) {
    if let Some(ident) = aggregate.type_ident()
        && aggregate.name(ident).is_empty()
    {
        errors.at(ident, "no name can be made from this type's name; write `name = \"..\"` in `#[aggregate(..)]`");
    }
}

fn has_handlers(aggregate: &Aggregate, errors: &Errors) {
    if aggregate.commands.is_empty() && aggregate.appliers.is_empty() && !errors.failed() {
        errors.at(
            &aggregate.block.self_ty,
            "this aggregate handles no command and applies no event; \
             mark its methods `#[on_command(..)]` and `#[on_event]`",
        );
    }
}

fn is_inherent(aggregate: &Aggregate, errors: &Errors) {
    if let Some(path) = &aggregate.block.trait_ {
        let ty = aggregate.block.self_ty.to_token_stream();
        errors.at(
            path,
            format_args!("`#[aggregate(..)]` implements the traits itself; write it above `impl {ty} {{ .. }}`"),
        );
    }
}

/// A registration is a constant of one type.
fn is_not_generic(aggregate: &Aggregate, errors: &Errors) {
    let message = "an aggregate can't be generic, since it is registered as one type under one name; \
                   write an impl block for a concrete type";
    let generics = &aggregate.block.generics;
    if !generics.params.is_empty() {
        errors.at(&generics.params, message);
    } else if let Some(clause) = &generics.where_clause {
        errors.at(clause, message);
    }
    let arguments = types::path(&aggregate.block.self_ty).and_then(|path| path.segments.last());
    if let Some(segment) = arguments.filter(|segment| !segment.arguments.is_none() && generics.params.is_empty()) {
        errors.at(&segment.arguments, message);
    }
}

fn is_a_named_type(aggregate: &Aggregate, errors: &Errors) {
    if types::path(&aggregate.block.self_ty).is_none() {
        errors.at(&aggregate.block.self_ty, "an aggregate is a struct or an enum; write `impl Brand { .. }`");
    }
}

/// Handlers under different `#[cfg]`s may be alternatives; if they are not, the compiler reports overlapping impls.
fn one_handler_a_command(handlers: &mut [CommandHandler], errors: &Errors) {
    let mut seen = HashMap::new();
    for handler in handlers {
        let Some((command, _)) = handler.command() else { continue };
        let command = command.to_token_stream();
        match seen.entry((text_of(&handler.cfgs), command.to_string())) {
            Entry::Vacant(entry) => drop(entry.insert(command)),
            Entry::Occupied(first) => {
                errors.duplicate(first.get(), &command, "a command has one handler; let one method decide on it");
                handler.output = Output::Nothing;
            }
        }
    }
}

fn one_command_a_name(handlers: &[CommandHandler], errors: &Errors) {
    let mut seen = HashMap::new();
    for handler in handlers.iter().filter(|handler| handler.output != Output::Nothing) {
        let (Some((command, _)), Some(name)) = (handler.command(), handler.command_name()) else { continue };
        match seen.entry((text_of(&handler.cfgs), name)) {
            Entry::Vacant(entry) => drop(entry.insert(command)),
            Entry::Occupied(first) => {
                let name = &first.key().1;
                let message = format!(
                    "two commands of this aggregate are recorded as `{name}`; write `name = \"..\"` in the \
                     `#[on_command(..)]` of one"
                );
                errors.duplicate(first.get(), command, message);
            }
        }
    }
}

fn one_applier_an_event(appliers: &mut [Applier], errors: &Errors) {
    let mut seen = HashMap::new();
    for applier in appliers {
        let (Some(event), Some(variant)) = (&applier.event, applier.variant()) else { continue };
        match seen.entry((text_of(&applier.cfgs), variant.to_string())) {
            Entry::Vacant(entry) => drop(entry.insert(event.clone())),
            Entry::Occupied(first) => {
                let message = if types::text(first.get()) == types::text(event) {
                    "an event is applied by one method; let one method apply it"
                } else {
                    "two events have this name, and the enum of events has one variant for it; \
                     give one another name: `use .. as ..`, or `type .. = ..`"
                };
                errors.duplicate(first.get(), event, message);
                applier.output = Output::Nothing;
            }
        }
    }
}

fn enum_has_a_name_of_its_own(aggregate: &Aggregate, errors: &Errors) {
    let Some(name) = aggregate.type_ident().map(|ident| aggregate.event_ident(ident)) else { return };
    let events = aggregate.appliers.iter().filter_map(|applier| applier.event.as_ref());
    for event in events.filter(|event| event.is_ident(&name)) {
        let message = format!(
            "the enum of this aggregate's events has the name `{name}` too; give it another one: \
             `#[aggregate(event = {name}s)]`"
        );
        errors.at(event, message);
    }
}

fn text_of(attrs: &[Attribute]) -> String {
    attrs.iter().map(types::text).collect()
}

#[cfg(test)]
mod tests {
    use crate::aggregate::aggregate;
    use crate::test_util::{assert_error, errors_of};

    #[track_caller]
    fn error(input: &str, words: &str, message: &str) {
        assert_error(input, words, message, aggregate);
    }

    const HANDLER: &str = "#[on_command] fn create(&self, command: Create) -> Created {}";

    #[test]
    fn an_aggregate_is_an_impl_block() {
        let message = "`#[aggregate(..)]` belongs on an impl block of the aggregate's type; \
                       write it above `impl Brand { .. }`, and the methods inside";
        error("#[aggregate(context = \"c\")] struct Brand {}", "struct", message);
        error("#[aggregate(context = \"c\")] pub mod brand { fn a() {} }", "pub", message);
        error("#[aggregate(context = \"c\")] impl Brand;", "impl", message);
        error(
            &format!("#[aggregate(context = \"c\")] impl Decide for Brand {{ {HANDLER} }}"),
            "Decide",
            "`#[aggregate(..)]` implements the traits itself; write it above `impl Brand { .. }`",
        );
    }

    #[test]
    fn an_aggregate_is_one_named_type() {
        let message = "an aggregate can't be generic, since it is registered as one type under one name; \
                       write an impl block for a concrete type";
        for (header, words) in [
            ("impl<T: Send, 'a> Brand<T>", "T: Send, 'a"),
            ("impl Brand<u8>", "<u8>"),
            ("impl Brand where Brand: Sized", "where Brand: Sized"),
        ] {
            error(&format!("#[aggregate(context = \"c\")] {header} {{ {HANDLER} }}"), words, message);
        }
        let message = "an aggregate is a struct or an enum; write `impl Brand { .. }`";
        error(&format!("#[aggregate(context = \"c\")] impl [Brand] {{ {HANDLER} }}"), "[Brand]", message);
        error(
            &format!("#[aggregate(context = \"c\")] impl __ {{ {HANDLER} }}"),
            "__",
            "no name can be made from this type's name; write `name = \"..\"` in `#[aggregate(..)]`",
        );
    }

    #[test]
    fn an_aggregate_has_a_context_and_handlers() {
        error(
            &format!("#[aggregate] impl Brand {{ {HANDLER} }}"),
            "Brand",
            "this aggregate has no context, the part of the domain that it belongs to; \
             write `#[aggregate(context = \"eshop-catalog\")]`",
        );
        error(
            "#[aggregate(context = \"c\")] impl Brand { fn create(&self) {} }",
            "Brand",
            "this aggregate handles no command and applies no event; \
             mark its methods `#[on_command(..)]` and `#[on_event]`",
        );
    }

    #[test]
    fn options_are_checked_once() {
        error(
            &format!("#[aggregate(context = \" \")] impl Brand {{ {HANDLER} }}"),
            "\" \"",
            "`context` is blank: write `context = \"eshop-catalog\"`",
        );
        error(
            &format!("#[aggregate(context = \"c\", event = \"BrandEvents\")] impl Brand {{ {HANDLER} }}"),
            "\"BrandEvents\"",
            "`event` takes the name of an enum: write `event = BrandEvent`",
        );
    }

    #[test]
    fn a_misspelt_context_is_not_missing_too() {
        let input = format!("#[aggregate(contxt = \"c\")] impl Brand {{ {HANDLER} }}");
        assert_eq!(errors_of(&input, aggregate).len(), 1);
    }

    #[test]
    fn two_of_a_kind_name_both_places() {
        let two = |first: &str, second: &str| {
            let input = format!("#[aggregate(context = \"c\")] impl Brand {{ {first} {second} }}");
            errors_of(&input, aggregate)
                .into_iter()
                .map(|(words, message)| format!("{words}: {message}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            two(HANDLER, "#[on_command] fn again(&self, c: &Create) -> Created {}"),
            ["Create: a command has one handler; let one method decide on it", "Create: the first one is here"]
        );
        assert_eq!(
            two(HANDLER, "#[on_command] fn other(&self, c: api::Create) -> Created {}"),
            [
                "api::Create: two commands of this aggregate are recorded as `Create`; \
                 write `name = \"..\"` in the `#[on_command(..)]` of one",
                "Create: the first one is here"
            ]
        );
        assert_eq!(
            two("#[on_event] fn a(&mut self, e: &Created) {}", "#[on_event] fn b(&mut self, e: &Created) {}"),
            ["Created: an event is applied by one method; let one method apply it", "Created: the first one is here"]
        );
        assert_eq!(
            two("#[on_event] fn a(&mut self, e: &Created) {}", "#[on_event] fn b(&mut self, e: &api::Created) {}"),
            [
                "api::Created: two events have this name, and the enum of events has one variant for it; \
                 give one another name: `use .. as ..`, or `type .. = ..`",
                "Created: the first one is here"
            ]
        );
        assert_eq!(
            two(HANDLER, "#[on_command] #[on_command] fn b(&self, c: B) -> Created {}"),
            [
                "#[on_command]: `#[on_command]` marks this method twice; keep one of the two",
                "#[on_command]: the first one is here"
            ]
        );
        assert_eq!(
            two(HANDLER, "#[on_command] #[on_event] fn b(&self, c: B) -> Created {}"),
            [
                "#[on_event]: a method handles a command or applies an event; \
                 move what `#[on_event]` is about to a method of its own",
                "#[on_command]: the first one is here"
            ]
        );
    }

    #[test]
    fn an_event_and_the_enum_have_different_names() {
        error(
            "#[aggregate(context = \"c\")] impl Brand { #[on_event] fn a(&mut self, e: &BrandEvent) {} }",
            "BrandEvent",
            "the enum of this aggregate's events has the name `BrandEvent` too; give it another one: \
             `#[aggregate(event = BrandEvents)]`",
        );
    }

    #[test]
    fn alternatives_under_cfg_are_no_duplicates() {
        let input = format!(
            "#[aggregate(context = \"c\")] impl Brand {{
                #[cfg(a)] {HANDLER} #[cfg(not(a))] {HANDLER}
                #[cfg(a)] #[on_event] fn a(&mut self, e: &Created) {{}}
                #[cfg(not(a))] #[on_event] fn a(&mut self, e: &Created) {{}}
            }}"
        );
        assert_eq!(errors_of(&input, aggregate), []);
    }

    #[test]
    fn markers_that_can_not_be_read_are_told_why() {
        error(
            &format!("#[aggregate(context = \"c\")] impl Brand {{ {HANDLER} #[on_event] const A: u8 = 1; }}"),
            "#[on_event]",
            "`#[on_command]` and `#[on_event]` belong on methods; write the marker above a `fn`",
        );
        error(
            &format!("#[aggregate(context = \"c\")] impl Brand {{ {HANDLER} #[cfg_attr(a, on_event)] fn a() {{}} }}"),
            "#[cfg_attr(a, on_event)]",
            "`#[aggregate]` reads markers before `cfg_attr` is resolved; \
             write `#[cfg(..)]` and the marker as two attributes",
        );
    }

    #[test]
    fn every_error_is_found_at_once() {
        let input = include_str!("../../../golden/aggregate/mistakes.in.rs");
        assert_eq!(errors_of(input, aggregate).len(), 7);
    }
}
