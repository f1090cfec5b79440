//! The rules of a method marked `#[on_command]`.

use super::function::{is_a_plain_function, is_not_variadic, is_reference};
use crate::aggregate::model::{CommandHandler, Output, ParameterKind};
use crate::aggregate::types;
use crate::errors::Errors;
use quote::ToTokens as _;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use syn::{ReturnType, Signature, Type};

pub(super) fn handler(handler: &mut CommandHandler, errors: &Errors) {
    takes_shared_self(&handler.sig, errors);
    is_a_plain_function(&handler.sig, "a command handler", errors);
    is_not_variadic(&handler.sig, errors);
    takes_a_command_first(handler, errors);
    takes_known_parameters(handler, errors);
    takes_scope_and_context_once(handler, errors);
    command_owns_its_data(handler, errors);
    command_has_a_name(handler, errors);
    name_is_not_reserved(handler, errors);
    says_what_it_produces(handler, errors);
    lists_each_event_once(handler, errors);
    if errors.failed() {
        handler.output = Output::Stub;
    }
    if handler.command().is_none_or(|(command, _)| types::borrowed(command).is_some()) {
        handler.output = Output::Nothing;
    }
}

fn takes_shared_self(sig: &Signature, errors: &Errors) {
    let reason = "a command handler decides from the state and does not change it; write `&self`";
    match sig.receiver() {
        Some(receiver) if is_reference(receiver, false) => {}
        Some(receiver) => errors.at(receiver, reason),
        None => errors.at(&sig.ident, format_args!("{reason} as its first parameter")),
    }
}

fn takes_a_command_first(handler: &CommandHandler, errors: &Errors) {
    let Some(first) = handler.parameters.first() else {
        let message = "this handler takes no command; write its type after `&self`: `command: CreateBrand`";
        errors.at(&handler.sig.ident, message);
        return;
    };
    let message = match (&first.kind, types::peel(&first.ty)) {
        (ParameterKind::Command { .. }, _) => return,
        (ParameterKind::Unknown, Type::ImplTrait(_)) => {
            "a handler takes one type of command, not any that implements a trait; write `command: CreateBrand`"
        }
        (ParameterKind::Unknown, Type::Reference(reference)) if reference.mutability.is_some() => {
            "a command may be decided again after a conflict, so a handler can't change it; \
             write `command: CreateBrand` or `command: &CreateBrand`"
        }
        _ => "the command comes first, right after `&self`; write it before this: `command: CreateBrand`",
    };
    errors.at(&first.ty, message);
}

fn takes_known_parameters(handler: &CommandHandler, errors: &Errors) {
    if handler.command().is_none() {
        // One of them may be the command, in the wrong place.
        return;
    }
    for parameter in handler.parameters.iter().skip(1) {
        if matches!(parameter.kind, ParameterKind::Unknown) {
            errors.at(
                &parameter.ty,
                "a handler can't take this; after the command it takes `&mut DecideScope<'_>`, `&CommandContext` \
                 and services, such as `&dyn Pricing`",
            );
        }
    }
}

fn takes_scope_and_context_once(handler: &CommandHandler, errors: &Errors) {
    let (mut scope, mut context) = (None, None);
    for parameter in &handler.parameters {
        let (first, name) = match parameter.kind {
            ParameterKind::Scope => (&mut scope, "scope"),
            ParameterKind::Context => (&mut context, "context"),
            _ => continue,
        };
        match first {
            Some(first) => {
                errors.duplicate(first, &parameter.ty, format_args!("a handler has one {name}; keep one of the two"));
            }
            None => *first = Some(&parameter.ty),
        }
    }
}

fn command_owns_its_data(handler: &CommandHandler, errors: &Errors) {
    if let Some((command, _)) = handler.command()
        && let Some(lifetime) = types::borrowed(command)
    {
        errors.at(lifetime, "a command owns its data, since it may be decided again later; give its type no lifetime");
    }
}

fn command_has_a_name(handler: &CommandHandler, errors: &Errors) {
    if let Some((command, _)) = handler.command()
        && handler.command_name().is_none()
    {
        errors.at(
            command,
            "this type has no name to record the command under; write `name = \"..\"` in `#[on_command(..)]`",
        );
    }
}

/// Names with `$` are those of the commands that every aggregate has.
fn name_is_not_reserved(handler: &CommandHandler, errors: &Errors) {
    if let Some(name) = handler.options.name.as_ref().filter(|name| name.value().starts_with('$')) {
        errors.at(name, "names with `$` in front are the framework's own; write `name = \"CreateBrand\"`");
    }
}

fn says_what_it_produces(handler: &CommandHandler, errors: &Errors) {
    let output = &handler.sig.output;
    if handler.options.produces.is_some() {
        return;
    }
    if types::mentions_decision(output) {
        errors.at(
            output_type(&handler.sig),
            "a `Decision` does not say which events it may hold; write `#[on_command(produces = [BrandCreated])]`, \
             with `[]` for a handler that produces none",
        );
        return;
    }
    match types::returned_events(output) {
        Ok(_) => {}
        Err(Some(ty)) => errors.at(
            ty,
            "no events can be read from this type; return an event, a tuple, `Option`, `Vec` or `Result` of events, \
             or a `Decision` with `#[on_command(produces = [BrandCreated])]`",
        ),
        Err(None) => errors.at(
            &handler.sig.ident,
            "this handler returns nothing; return `Result<Decision, DecideError>`, or the event itself",
        ),
    }
}

fn output_type(sig: &Signature) -> proc_macro2::TokenStream {
    match &sig.output {
        ReturnType::Default => sig.ident.to_token_stream(),
        ReturnType::Type(_, ty) => ty.to_token_stream(),
    }
}

fn lists_each_event_once(handler: &CommandHandler, errors: &Errors) {
    let Some(produces) = &handler.options.produces else { return };
    let mut seen = HashMap::new();
    for event in &produces.events {
        match seen.entry(types::text(event)) {
            Entry::Vacant(entry) => drop(entry.insert(event)),
            Entry::Occupied(first) => {
                let message = "this event is listed twice; keep one of the two";
                errors.duplicate(first.get(), event, message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::aggregate::aggregate;
    use crate::test_util::{assert_error, errors_of};

    fn aggregate_of(method: &str) -> String {
        format!("#[aggregate(context = \"c\")] impl Brand {{ {method} }}")
    }

    #[track_caller]
    fn error(method: &str, words: &str, message: &str) {
        assert_error(&aggregate_of(method), words, message, aggregate);
    }

    #[test]
    fn good_handlers_have_no_errors() {
        for method in [
            "#[on_command] fn a(&self, c: C) -> E {}",
            "#[on_command()] fn a(self: &Self, c: &C) -> (E, Option<F>) {}",
            "#[on_command(creates)] async fn a<'a>(&'a self, c: api::C<u8>) -> Result<Vec<E>, Error> {}",
            "#[on_command(creates = \"allowed\", produces = [])] fn a(&self, c: C) -> Decision {}",
            "#[on_command(produces = [E, a::F<u8>])] fn a(&self, c: C) -> Result<Decision, DecideError> {}",
            "#[on_command(produces = [E])] fn a(&self, c: C) -> Decision<Brand, C> {}",
            "#[on_command(produces = [E])] fn a(&self, c: C) -> impl IntoDecision<Brand, C> {}",
            "#[on_command(name = \"a\")] fn a(&self, c: (A, B)) -> E {}",
            "#[on_command] fn a(&self, c: C, a: &dyn A, x: &CommandContext, s: &mut DecideScope<'_>) -> E {}",
            "#[on_command] fn a(&self, c: C, s: &mut a::DecideScope, a: &(dyn A<u8> + 'static), b: &dyn B) -> E {}",
        ] {
            assert_eq!(errors_of(&aggregate_of(method), aggregate), [], "{method}");
        }
    }

    #[test]
    fn a_handler_takes_shared_self() {
        let message = "a command handler decides from the state and does not change it; write `&self`";
        for receiver in ["self", "mut self", "&mut self", "self: Arc<Self>"] {
            error(&format!("#[on_command] fn a({receiver}, c: C) -> E {{}}"), receiver, message);
        }
        error("#[on_command] fn a(c: C) -> E {}", "a", &format!("{message} as its first parameter"));
    }

    #[test]
    fn a_handler_is_a_plain_function() {
        for (method, words, message) in [
            ("fn a<T: B>(&self, c: C) -> E {}", "T: B", "a command handler can't be generic; write the concrete type"),
            (
                "fn a<const N: u8>(&self, c: C) -> E {}",
                "const N: u8",
                "a command handler can't be generic; write the constant",
            ),
            ("const fn a(&self, c: C) -> E {}", "const", "a command handler runs at run time; take `const` away"),
            (
                "unsafe fn a(&self, c: C) -> E {}",
                "unsafe",
                "a command handler is called by safe code; take `unsafe` away",
            ),
            (
                "extern \"C\" fn a(&self, c: C) -> E {}",
                "extern \"C\"",
                "a command handler is called from Rust; take `extern` away",
            ),
        ] {
            error(&format!("#[on_command] {method}"), words, message);
        }
    }

    #[test]
    fn the_command_comes_first() {
        for (parameters, words, message) in [
            ("", "a", "this handler takes no command; write its type after `&self`: `command: CreateBrand`"),
            (
                "s: &mut DecideScope<'_>, c: C",
                "&mut DecideScope<'_>",
                "the command comes first, right after `&self`; write it before this: `command: CreateBrand`",
            ),
            (
                "c: impl Command",
                "impl Command",
                "a handler takes one type of command, not any that implements a trait; write `command: CreateBrand`",
            ),
            (
                "c: &mut C",
                "&mut C",
                "a command may be decided again after a conflict, so a handler can't change it; \
                 write `command: CreateBrand` or `command: &CreateBrand`",
            ),
            (
                "c: C<'_>",
                "'_",
                "a command owns its data, since it may be decided again later; give its type no lifetime",
            ),
            (
                "c: (A, B)",
                "(A, B)",
                "this type has no name to record the command under; write `name = \"..\"` in `#[on_command(..)]`",
            ),
        ] {
            let errors =
                errors_of(&aggregate_of(&format!("#[on_command] fn a(&self, {parameters}) -> E {{}}")), aggregate);
            assert_eq!(errors, [(words.to_owned(), message.to_owned())], "{parameters}");
        }
    }

    #[test]
    fn a_handler_takes_what_there_is() {
        let message = "a handler can't take this; after the command it takes `&mut DecideScope<'_>`, `&CommandContext` \
                       and services, such as `&dyn Pricing`";
        for parameter in [
            "u8",
            "&u8",
            "Arc<dyn A>",
            "&mut dyn A",
            "DecideScope<'_>",
            "&DecideScope<'_>",
            "CommandContext",
            "&impl A",
        ] {
            error(&format!("#[on_command] fn a(&self, c: C, p: {parameter}) -> E {{}}"), parameter, message);
        }
        let twice =
            |parameter: &str| format!("#[on_command] fn a(&self, c: C, a: {parameter}, b: {parameter}) -> E {{}}");
        error(&twice("&mut DecideScope"), "&mut DecideScope", "a handler has one scope; keep one of the two");
        error(&twice("&CommandContext"), "&CommandContext", "a handler has one context; keep one of the two");
    }

    #[test]
    fn a_handler_says_what_it_produces() {
        let of_type = "no events can be read from this type; return an event, a tuple, `Option`, `Vec` or `Result` of \
                       events, or a `Decision` with `#[on_command(produces = [BrandCreated])]`";
        for (output, words, message) in [
            (
                "Result<Decision, DecideError>",
                "Result<Decision, DecideError>",
                "a `Decision` does not say which events it may hold; write `#[on_command(produces = [BrandCreated])]`, \
                 with `[]` for a handler that produces none",
            ),
            ("()", "()", of_type),
            ("Result<(), Error>", "()", of_type),
            ("(E, &F)", "&F", of_type),
            ("impl IntoDecision<Brand, C>", "impl IntoDecision<Brand, C>", of_type),
            ("Option", "Option", of_type),
        ] {
            error(&format!("#[on_command] fn a(&self, c: C) -> {output} {{}}"), words, message);
        }
        error(
            "#[on_command] fn a(&self, c: C) {}",
            "a",
            "this handler returns nothing; return `Result<Decision, DecideError>`, or the event itself",
        );
    }

    #[test]
    fn options_say_what_to_write() {
        for (options, words, message) in [
            (
                "(creates = \"yes\")",
                "\"yes\"",
                "write `creates` for a command that needs a new aggregate, \
                 or `creates = \"allowed\"` for one that takes a new or an existing one",
            ),
            ("(creates = true)", "true", "`creates` takes a string: write `creates = \"allowed\"`"),
            ("(produces = E)", "E", "`produces` takes a list in square brackets: write `produces = [BrandCreated]`"),
            ("(produces = [E, F, E])", "E", "this event is listed twice; keep one of the two"),
            ("(name = \"\")", "\"\"", "`name` is blank: write `name = \"CreateBrand\"`"),
            (
                "(name = \"$delete\")",
                "\"$delete\"",
                "names with `$` in front are the framework's own; write `name = \"CreateBrand\"`",
            ),
            (" = \"a\"", "on_command = \"a\"", "write `#[on_command(..)]`, or `#[on_command]` without options"),
            (
                "(create)",
                "create",
                "`#[on_command(..)]` has no option `create`; it has `creates = \"allowed\"`, \
                 `produces = [BrandCreated]`, `name = \"CreateBrand\"`",
            ),
        ] {
            error(&format!("#[on_command{options}] fn a(&self, c: C) -> E {{}}"), words, message);
        }
    }
}
