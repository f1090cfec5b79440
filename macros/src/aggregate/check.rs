//! Every rule of `#[aggregate]`, one function each.
//!
//! A rule about one handler decides what is generated for that handler only. What needs types, such as whether an
//! event is an `Event`, is left to the compiler, which is asked by the bounds of the generated code.

use super::model::{Aggregate, Applier, CommandHandler, Output, ParameterKind};
use super::options::CONTEXT_EXAMPLE;
use super::types;
use crate::errors::Errors;
use quote::ToTokens as _;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use syn::{Attribute, FnArg, Receiver, ReceiverKind, ReturnType, Safety, Signature, Type};

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
        command_handler(handler, &errors.child());
    }
    for applier in &mut aggregate.appliers {
        event_applier(applier, &errors.child());
    }
    one_handler_a_command(&mut aggregate.commands, errors);
    one_command_a_name(&aggregate.commands, errors);
    one_applier_an_event(&mut aggregate.appliers, errors);
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

fn command_handler(handler: &mut CommandHandler, errors: &Errors) {
    takes_shared_self(&handler.sig, errors);
    is_a_plain_function(&handler.sig, "a command handler", errors);
    is_not_variadic(&handler.sig, errors);
    takes_a_command_first(handler, errors);
    takes_known_parameters(handler, errors);
    takes_scope_and_context_once(handler, errors);
    command_owns_its_data(handler, errors);
    command_has_a_name(handler, errors);
    says_what_it_produces(handler, errors);
    lists_each_event_once(handler, errors);
    if errors.failed() {
        handler.output = Output::Stub;
    }
    if handler.command().is_none() {
        handler.output = Output::Nothing;
    }
}

fn event_applier(applier: &mut Applier, errors: &Errors) {
    takes_mutable_self(&applier.sig, errors);
    is_a_plain_function(&applier.sig, "an `#[on_event]` method", errors);
    is_not_variadic(&applier.sig, errors);
    is_not_async(&applier.sig, errors);
    takes_one_event_by_reference(applier, errors);
    returns_nothing(&applier.sig, errors);
    if errors.failed() {
        applier.output = Output::Stub;
    }
    if applier.variant().is_none() {
        applier.output = Output::Nothing;
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

fn takes_mutable_self(sig: &Signature, errors: &Errors) {
    let reason = "an `#[on_event]` method brings the state up to date; write `&mut self`";
    match sig.receiver() {
        Some(receiver) if is_reference(receiver, true) => {}
        Some(receiver) => errors.at(receiver, reason),
        None => errors.at(&sig.ident, format_args!("{reason} as its first parameter")),
    }
}

/// `&self` or `self: &Self`; with `mutable`, the same with `&mut`.
fn is_reference(receiver: &Receiver, mutable: bool) -> bool {
    match &receiver.kind {
        ReceiverKind::Reference(_, _, mutability) => mutability.is_some() == mutable,
        ReceiverKind::Typed(_, ty) => types::reference(ty).is_some_and(|reference| {
            reference.mutability.is_some() == mutable && types::is_named(&reference.elem, "Self")
        }),
        _ => false,
    }
}

/// Generated code calls the method with no more than its arguments.
fn is_a_plain_function(sig: &Signature, what: &str, errors: &Errors) {
    if let Some(parameter) = sig.generics.type_params().next() {
        errors.at(parameter, format_args!("{what} can't be generic; write the concrete type"));
    }
    if let Some(parameter) = sig.generics.const_params().next() {
        errors.at(parameter, format_args!("{what} can't be generic; write the constant"));
    }
    if let Some(token) = &sig.constness {
        errors.at(token, format_args!("{what} runs at run time; take `const` away"));
    }
    if let Safety::Unsafe(token) = &sig.safety {
        errors.at(token, format_args!("{what} is called by safe code; take `unsafe` away"));
    }
    if let Some(abi) = &sig.abi {
        errors.at(abi, format_args!("{what} is called from Rust; take `extern` away"));
    }
}

fn is_not_variadic(sig: &Signature, errors: &Errors) {
    if let Some(variadic) = &sig.variadic {
        errors.at(variadic, "a handler has a fixed number of parameters; take `...` away");
    }
}

fn is_not_async(sig: &Signature, errors: &Errors) {
    if let Some(token) = &sig.asyncness {
        errors.at(token, "an `#[on_event]` method does no I/O, so that replaying is fast and safe; take `async` away");
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
    let of = |kind: fn(&ParameterKind) -> bool| handler.parameters.iter().filter(move |it| kind(&it.kind));
    for (name, mut same) in [
        ("scope", Box::new(of(|kind| matches!(kind, ParameterKind::Scope))) as Box<dyn Iterator<Item = _>>),
        ("context", Box::new(of(|kind| matches!(kind, ParameterKind::Context)))),
    ] {
        if let Some(first) = same.next() {
            for second in same {
                errors.duplicate(&first.ty, &second.ty, format_args!("a handler has one {name}; keep one of the two"));
            }
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

fn takes_one_event_by_reference(applier: &Applier, errors: &Errors) {
    let mut typed = applier.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(&*typed.ty),
        FnArg::Receiver(_) => None,
    });
    let Some(event) = typed.next() else {
        let message = "this method applies no event; write its type after `&mut self`: `event: &BrandCreated`";
        errors.at(&applier.sig.ident, message);
        return;
    };
    let reference = types::reference(event).filter(|reference| reference.mutability.is_none());
    match reference.map(|reference| types::path(&reference.elem)) {
        Some(Some(_)) => {}
        Some(None) => errors.at(event, "an event is a type with a name; write `event: &BrandCreated`"),
        None => errors.at(event, "an event is applied by reference, it is history; write `event: &BrandCreated`"),
    }
    if let Some(lifetime) = reference.and_then(|reference| types::borrowed(&reference.elem)) {
        errors.at(lifetime, "an event owns its data, since it is read back from the store; give its type no lifetime");
    }
    for more in typed {
        errors.at(more, "an `#[on_event]` method takes the event and nothing else; put what it needs into the event");
    }
}

fn returns_nothing(sig: &Signature, errors: &Errors) {
    if let ReturnType::Type(_, ty) = &sig.output
        && !matches!(types::peel(ty), Type::Tuple(tuple) if tuple.elems.is_empty())
    {
        errors.at(ty, "an event has happened and can't be refused; an `#[on_event]` method returns nothing");
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

fn text_of(attrs: &[Attribute]) -> String {
    attrs.iter().map(types::text).collect()
}
