//! An aggregate as the user declared it, and what follows from the declaration.
//!
//! Holds wrong declarations as well as right ones: `check` tells them apart, and leaves its verdict in `registrable`
//! and in each handler's `Output`.

use super::options::{AggregateOptions, CommandOptions, no_event_options};
use super::parse::{Block, Marked, Parsed};
use super::{fallback, types};
use crate::errors::Errors;
use crate::marker::{self, Kind};
use crate::paths::{hygienic, kebab_case, located_at, unraw};
use crate::signature::{Member, Method};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident};
use syn::ext::IdentExt as _;
use syn::{Attribute, FnArg, Lifetime, Path, Signature, Type};

pub(super) struct Aggregate {
    pub(super) options: AggregateOptions,
    pub(super) block: Block,
    /// The members as they come out, in the user's order.
    pub(super) members: Vec<TokenStream>,
    pub(super) commands: Vec<CommandHandler>,
    pub(super) appliers: Vec<Applier>,
    /// Whether the block's type can be an aggregate at all.
    pub(super) registrable: bool,
}

/// What is generated for a handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Output {
    /// A call of the user's method.
    Call,
    /// The impl, so that nothing else misses it, with a body that never runs.
    Stub,
    Nothing,
}

/// A method marked `#[on_command]`.
pub(super) struct CommandHandler {
    pub(super) sig: Signature,
    pub(super) cfgs: Vec<Attribute>,
    pub(super) options: CommandOptions,
    pub(super) parameters: Vec<Parameter>,
    pub(super) output: Output,
}

pub(super) struct Parameter {
    pub(super) ty: Type,
    pub(super) cfgs: Vec<Attribute>,
    pub(super) kind: ParameterKind,
}

pub(super) enum ParameterKind {
    /// The command's type, without the `&` of a handler that only looks at it.
    Command {
        ty: Box<Type>,
        by_reference: bool,
    },
    Scope,
    Context,
    /// `dyn Pricing`, with every lifetime `'static`.
    Service(TokenStream),
    Unknown,
}

/// A method marked `#[on_event]`.
pub(super) struct Applier {
    pub(super) sig: Signature,
    pub(super) cfgs: Vec<Attribute>,
    /// The type of the parameter, without its `&`.
    pub(super) event: Option<Path>,
    pub(super) output: Output,
}

impl Aggregate {
    pub(super) fn new(parsed: Parsed, errors: &Errors) -> Self {
        let Parsed { options, block, members } = parsed;
        let (commands, appliers) = (Vec::new(), Vec::new());
        let mut aggregate = Self { options, block, members: Vec::new(), commands, appliers, registrable: true };
        for member in members {
            let tokens = aggregate.add(member, errors);
            aggregate.members.push(tokens);
        }
        aggregate
    }

    /// Takes in a member's handler if it has one, and answers with the member as it comes out.
    fn add(&mut self, Marked { member, markers }: Marked, errors: &Errors) -> TokenStream {
        let mut method = match member {
            Member::Method(method) => method,
            Member::Other(tokens) | Member::Broken(tokens, _) => return tokens,
        };
        let mut is_changed = false;
        let mut markers = markers.into_iter();
        if let Some((kind, first)) = markers.next() {
            for (other, marker) in markers {
                errors.duplicate(&first, marker, twice_marked(kind, other));
            }
            match kind {
                Kind::Command => {
                    let handler = CommandHandler::new(&method, &first, &errors.child());
                    is_changed = types::complete_decisions(&mut method.sig.output, &handler.command_or_dummy());
                    self.commands.push(handler);
                }
                Kind::Event => self.appliers.push(Applier::new(&method, &first, errors)),
            }
        }
        if is_changed { method.into_token_stream() } else { marker::strip_here(method.written) }
    }

    pub(super) fn type_ident(&self) -> Option<&Ident> {
        types::last_ident(&self.block.self_ty)
    }

    /// The name of the enum as it is generated: another one if an event has it.
    pub(super) fn enum_ident(&self, type_ident: &Ident) -> Ident {
        let ident = self.event_ident(type_ident);
        let mut events = self.appliers.iter().filter_map(|applier| applier.event.as_ref());
        if events.any(|event| event.is_ident(&ident)) { fallback::events_enum(&ident) } else { ident }
    }

    /// The aggregate's type, where errors of the generated code are about `at`.
    pub(super) fn ty_at(&self, at: Span) -> TokenStream {
        located_at(self.block.self_ty.to_token_stream(), at)
    }

    pub(super) fn name(&self, type_ident: &Ident) -> String {
        self.options.name.as_ref().map_or_else(|| kebab_case(&unraw(type_ident)), syn::LitStr::value)
    }

    pub(super) fn event_ident(&self, type_ident: &Ident) -> Ident {
        self.options
            .event
            .as_ref()
            .map_or_else(|| format_ident!("{}Event", type_ident.unraw()), |event| event.ident.clone())
    }
}

fn twice_marked(first: Kind, second: Kind) -> String {
    let second = second.name();
    if first.name() == second {
        format!("`#[{second}]` marks this method twice; keep one of the two")
    } else {
        format!(
            "a method handles a command or applies an event; move what `#[{second}]` is about to a method of its own"
        )
    }
}

impl CommandHandler {
    fn new(method: &Method, marker: &Attribute, errors: &Errors) -> Self {
        let options = CommandOptions::new(marker, errors);
        let own: Vec<&Lifetime> = method.sig.generics.lifetimes().map(|parameter| &parameter.lifetime).collect();
        let typed = method.sig.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(typed) => Some(typed),
            FnArg::Receiver(_) => None,
        });
        let parameters = typed.enumerate().map(|(index, typed)| Parameter {
            cfgs: cfgs(&typed.attrs),
            kind: ParameterKind::new(index, &typed.ty, &own),
            ty: (*typed.ty).clone(),
        });
        let output = if errors.failed() { Output::Stub } else { Output::Call };
        Self { sig: method.sig.clone(), cfgs: cfgs(&method.attrs), options, parameters: parameters.collect(), output }
    }

    /// The command's type, and whether the handler takes a reference to it.
    pub(super) fn command(&self) -> Option<(&Type, bool)> {
        self.parameters.iter().find_map(|parameter| match &parameter.kind {
            ParameterKind::Command { ty, by_reference } => Some((&**ty, *by_reference)),
            _ => None,
        })
    }

    pub(super) fn command_or_dummy(&self) -> Type {
        let dummy = || fallback::command(hygienic(self.sig.ident.span()));
        self.command().map_or_else(dummy, |(command, _)| command.clone())
    }

    /// Whether the handler may return a `Decision` and does not say of which events.
    pub(super) fn lacks_produces(&self) -> bool {
        self.options.produces.is_none() && types::mentions_decision(&self.sig.output)
    }

    /// The name under which the command is recorded, unless its type has no name of its own.
    pub(super) fn command_name(&self) -> Option<String> {
        let name = self.options.name.as_ref().map(syn::LitStr::value);
        name.or_else(|| self.command().and_then(|(ty, _)| types::last_ident(ty)).map(unraw))
    }

    /// The events that the handler may produce: listed ones, or those that it returns.
    pub(super) fn events(&self) -> Vec<Path> {
        match &self.options.produces {
            Some(produces) => produces.events.clone(),
            None if self.lacks_produces() => Vec::new(),
            None => types::returned_events(&self.sig.output).unwrap_or_default(),
        }
    }
}

impl ParameterKind {
    fn new(index: usize, ty: &Type, own: &[&Lifetime]) -> Self {
        let reference = types::reference(ty);
        let target = reference.map_or(ty, |reference| &reference.elem);
        let is_mut = reference.is_some_and(|reference| reference.mutability.is_some());
        match types::peel(target) {
            Type::TraitObject(_) if reference.is_some() && !is_mut => {
                Self::Service(types::make_static(types::peel(target), own))
            }
            _ if types::is_named(target, "DecideScope") => {
                if is_mut {
                    Self::Scope
                } else {
                    Self::Unknown
                }
            }
            _ if types::is_named(target, "CommandContext") => {
                if reference.is_some() && !is_mut {
                    Self::Context
                } else {
                    Self::Unknown
                }
            }
            Type::TraitObject(_) | Type::ImplTrait(_) => Self::Unknown,
            command if index == 0 && !is_mut => {
                Self::Command { ty: Box::new(command.clone()), by_reference: reference.is_some() }
            }
            _ => Self::Unknown,
        }
    }
}

impl Applier {
    fn new(method: &Method, marker: &Attribute, errors: &Errors) -> Self {
        no_event_options(marker, errors);
        let event = method.sig.inputs.iter().find_map(|input| match input {
            FnArg::Typed(typed) => Some(&*typed.ty),
            FnArg::Receiver(_) => None,
        });
        let event = event.map(|ty| types::reference(ty).map_or(ty, |reference| &reference.elem));
        Self {
            sig: method.sig.clone(),
            cfgs: cfgs(&method.attrs),
            event: event.and_then(types::path).cloned(),
            output: Output::Call,
        }
    }

    /// The name of the event's variant in the enum, which can't be `Self`.
    pub(super) fn variant(&self) -> Option<&Ident> {
        self.event.as_ref()?.segments.last().map(|segment| &segment.ident).filter(|ident| *ident != "Self")
    }
}

/// The attributes that say whether something is compiled at all.
pub(super) fn cfgs(attrs: &[Attribute]) -> Vec<Attribute> {
    attrs.iter().filter(|attribute| attribute.path().is_ident("cfg")).cloned().collect()
}
