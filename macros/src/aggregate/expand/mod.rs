//! An aggregate to tokens: the user's block, the enum of events, `EventSet`, `Aggregate`, and the registration.
//!
//! What belongs to a single handler is in `handlers`. Everything could be written by hand against the public
//! API of `freehold`; what comes from `__private` instead is there so that a mistake is one error.

mod handlers;

use self::handlers::{applier, command_handler, produces};
use super::fallback;
use super::model::{Aggregate, Applier, Output};
use super::types;
use crate::paths::{hygienic, unraw};
use proc_macro2::{Group, Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, Path};

pub(super) fn aggregate(aggregate: &Aggregate) -> TokenStream {
    let block = impl_block(aggregate);
    match aggregate.type_ident().filter(|_| aggregate.registrable) {
        Some(ident) => {
            let generated = Names::new(aggregate, ident).generated();
            quote_spanned!(hygienic(ident.span())=> #block #generated)
        }
        None => block,
    }
}

/// The user's block: markers stripped, `Decision`s completed, and otherwise as it was.
fn impl_block(aggregate: &Aggregate) -> TokenStream {
    let mut braces = Group::new(aggregate.block.braces.delimiter(), aggregate.members.iter().cloned().collect());
    braces.set_span(aggregate.block.braces.span());
    let mut block = aggregate.block.before.clone();
    block.extend([proc_macro2::TokenTree::Group(braces)]);
    block
}

/// What every generated item is made of.
///
/// Variables in it begin with `__`: hygiene hides a user's local variables from them, but not a user's constants, which
/// no pattern may shadow.
pub(super) struct Names<'a> {
    pub(super) aggregate: &'a Aggregate,
    pub(super) ident: &'a Ident,
    /// The enum of events.
    pub(super) events: Ident,
    /// On the aggregate's type, with hygiene.
    pub(super) at: Span,
    /// The block's `#[cfg]`s and `#[allow]`s, which hold for what is made from it too.
    pub(super) shared: Vec<&'a Attribute>,
}

/// An applied event, as the enum knows it.
struct Variant<'a> {
    cfgs: &'a [Attribute],
    ident: &'a Ident,
    event: &'a Path,
}

impl<'a> Names<'a> {
    fn new(aggregate: &'a Aggregate, ident: &'a Ident) -> Self {
        let is_shared = |attribute: &&Attribute| attribute.path().is_ident("cfg") || attribute.path().is_ident("allow");
        Self {
            aggregate,
            ident,
            events: aggregate.enum_ident(ident),
            at: hygienic(ident.span()),
            shared: aggregate.block.attrs.iter().filter(is_shared).collect(),
        }
    }

    pub(super) fn freehold_at(&self, at: Span) -> TokenStream {
        self.aggregate.options.crate_path.at(at)
    }

    pub(super) fn private_at(&self, at: Span) -> TokenStream {
        self.aggregate.options.crate_path.private_at(at)
    }

    fn generated(&self) -> TokenStream {
        let items = [self.event_enum(), self.event_enum_debug(), self.event_set(), self.aggregate_impl()]
            .into_iter()
            .chain(self.conversions())
            .chain(self.aggregate.commands.iter().map(|handler| command_handler(self, handler)))
            .chain(self.aggregate.appliers.iter().map(|handler| applier(self, handler)))
            .chain([produces(self), self.registration()]);
        items.collect()
    }

    fn variants(&self) -> impl Iterator<Item = Variant<'a>> {
        let kept = self.aggregate.appliers.iter().filter(|applier| applier.output != Output::Nothing);
        kept.filter_map(|applier: &Applier| {
            Some(Variant { cfgs: &applier.cfgs, ident: applier.variant()?, event: applier.event.as_ref()? })
        })
    }

    /// `<BrandCreated as OneOfSet>`, located where the event is applied, if it is: everything that the enum and
    /// `produces` ask of an event fails there, with one error.
    pub(super) fn one_of_set(&self, event: &Path) -> TokenStream {
        let text = types::text(event);
        let applied = self.variants().map(|variant| variant.event).find(|applied| types::text(*applied) == text);
        let event = applied.unwrap_or(event);
        let at = hygienic(event.span());
        let private = self.private_at(at);
        quote_spanned!(at=> <#event as #private::OneOfSet>)
    }

    fn event_enum(&self) -> TokenStream {
        let Self { at, events, shared, .. } = self;
        // The enum must be as visible as the aggregate, which an impl block doesn't tell: without a word from the user
        // it is `pub`, and the lint that rests on this guess is off.
        let vis = self.aggregate.options.event.as_ref().and_then(|event| event.vis.as_ref());
        let vis = vis.map_or_else(|| quote_spanned!(*at=> #[allow(private_interfaces)] pub), ToTokens::to_token_stream);
        let doc = format!(" The events of `{}`.", unraw(self.ident));
        let variants = self.variants().map(|Variant { cfgs, ident, event }| {
            let doc = format!(" The event `{}`.", unraw(ident));
            quote_spanned!(*at=> #(#cfgs)* #[doc = #doc] #ident(#event))
        });
        quote_spanned! {*at=>
            #(#shared)*
            #[doc = #doc]
            #vis enum #events { #(#variants,)* }
        }
    }

    /// Names the event and leaves its payload out: what is in it may be personal.
    fn event_enum_debug(&self) -> TokenStream {
        let Self { at, events, shared, .. } = self;
        let arms = self.variants().map(|Variant { cfgs, ident, .. }| {
            let text = format!("{}::{}(..)", unraw(events), unraw(ident));
            quote_spanned!(*at=> #(#cfgs)* Self::#ident(_) => ::core::fmt::Formatter::write_str(__formatter, #text))
        });
        quote_spanned! {*at=>
            #(#shared)*
            #[automatically_derived]
            impl ::core::fmt::Debug for #events {
                fn fmt(&self, __formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    match *self { #(#arms,)* }
                }
            }
        }
    }

    fn event_set(&self) -> TokenStream {
        let Self { at, events, shared, .. } = self;
        let freehold = self.freehold_at(*at);
        let infos = self.variants().map(|Variant { cfgs, event, .. }| {
            let event = self.one_of_set(event);
            quote_spanned!(*at=> #(#cfgs)* #event::INFO)
        });
        let info_arms = self.variants().map(|Variant { cfgs, ident, event }| {
            let event = self.one_of_set(event);
            quote_spanned!(*at=> #(#cfgs)* Self::#ident(_) => #event::INFO)
        });
        let encode_arms = self.variants().map(|Variant { cfgs, ident, event }| {
            let event = self.one_of_set(event);
            quote_spanned!(*at=> #(#cfgs)* Self::#ident(ref __event) => #event::encode(__event))
        });
        let decoders = self.variants().map(|Variant { cfgs, ident, event }| {
            let event = self.one_of_set(event);
            quote_spanned! {*at=>
                #(#cfgs)*
                if #event::is(__event) {
                    return ::core::result::Result::map(#event::decode(__event), Self::#ident);
                }
            }
        });
        quote_spanned! {*at=>
            #(#shared)*
            #[automatically_derived]
            impl #freehold::EventSet for #events {
                const EVENTS: &'static [#freehold::EventInfo] = &[#(#infos),*];
                fn info(&self) -> #freehold::EventInfo {
                    match *self { #(#info_arms,)* }
                }
                fn encode(&self) -> ::core::result::Result<#freehold::EncodedEvent, #freehold::CodecError> {
                    match *self { #(#encode_arms,)* }
                }
                fn decode(
                    __event: &#freehold::EncodedEvent,
                ) -> ::core::result::Result<Self, #freehold::CodecError> {
                    #(#decoders)*
                    ::core::result::Result::Err(#freehold::CodecError::unknown_event(__event))
                }
            }
        }
    }

    fn conversions(&self) -> impl Iterator<Item = TokenStream> {
        let Self { at, events, shared, .. } = self;
        self.variants().map(move |Variant { cfgs, ident, event }| {
            quote_spanned! {*at=>
                #(#shared)*
                #(#cfgs)*
                #[automatically_derived]
                impl ::core::convert::From<#event> for #events {
                    fn from(__event: #event) -> Self {
                        Self::#ident(__event)
                    }
                }
            }
        })
    }

    fn aggregate_impl(&self) -> TokenStream {
        let Self { at, events, shared, aggregate, .. } = self;
        let (freehold, private) = (self.freehold_at(*at), self.private_at(*at));
        let ty = &aggregate.block.self_ty;
        let context = aggregate.options.context.as_ref();
        let context = context.map_or_else(|| fallback::CONTEXT.to_token_stream(), ToTokens::to_token_stream);
        let name = aggregate.name(self.ident);
        let state_version = aggregate.options.state_version.map(Literal::u32_unsuffixed);
        let state_version = state_version.map(|version| quote_spanned!(*at=> const STATE_VERSION: u32 = #version;));
        let snapshot_every = aggregate.options.snapshot_every.map(Literal::u32_unsuffixed);
        let snapshot_every = snapshot_every.map(|every| quote_spanned!(*at=> const SNAPSHOT_EVERY: u32 = #every;));
        let commands = aggregate.commands.iter().filter(|handler| handler.output != Output::Nothing);
        let commands = commands.filter_map(|handler| {
            let (cfgs, (command, _)) = (&handler.cfgs, handler.command()?);
            Some(quote_spanned!(*at=> #(#cfgs)* #freehold::CommandInfo::of::<Self, #command>()))
        });
        let arms = self.variants().map(|Variant { cfgs, ident, event }| {
            quote_spanned! {*at=>
                #(#cfgs)*
                #events::#ident(ref __event) => <Self as #freehold::Apply<#event>>::apply(self, __event)
            }
        });
        let source = self.source();
        quote_spanned! {*at=>
            #(#shared)*
            #[automatically_derived]
            impl #freehold::Aggregate for #ty {
                type Event = #events;
                const CONTEXT: &'static str = #context;
                const NAME: &'static str = #name;
                #state_version
                #snapshot_every
                const DESCRIPTOR: #freehold::AggregateDescriptor =
                    #private::aggregate_descriptor::<Self>(&[#(#commands),*], #source);
                fn evolve(&mut self, __event: &#events) {
                    match *__event { #(#arms,)* }
                }
            }
        }
    }

    /// Where the aggregate is declared: without hygiene, so that `line!()` is the type's and not the attribute's.
    fn source(&self) -> TokenStream {
        let at = self.ident.span();
        let private = self.private_at(at);
        quote_spanned!(at=> #private::source!())
    }

    fn registration(&self) -> TokenStream {
        let Self { at, shared, aggregate, .. } = self;
        let (freehold, private) = (self.freehold_at(*at), self.private_at(*at));
        let ty = &aggregate.block.self_ty;
        quote_spanned! {*at=>
            #(#shared)*
            const _: () = {
                #private::inventory::submit! { <#ty as #freehold::Aggregate>::DESCRIPTOR }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::aggregate::aggregate;
    use crate::test_util::{assert_golden, assert_survives, golden_inputs, leaves, split};

    #[test]
    fn expansions_are_the_golden_ones() {
        assert_golden("aggregate", aggregate);
    }

    #[test]
    fn damaged_input_neither_panics_nor_vanishes() {
        assert_survives(&golden_inputs("aggregate"), true, aggregate);
    }

    #[test]
    fn a_crate_path_leaves_no_other_path_to_the_crate() {
        for input in golden_inputs("aggregate") {
            let (args, item) = split(input.parse().expect("tokens"));
            let args = [args, "crate = renamed".parse().expect("tokens")].map(|tokens| quote::quote!(#tokens,));
            let (output, _) = aggregate(args.into_iter().collect(), item);
            let leaves = leaves(&output);
            let has = |name: &str| leaves.iter().any(|leaf| leaf == name);
            assert_eq!(has("renamed"), has("EventSet"), "{output}");
            assert!(!has("freehold"), "{output}");
        }
    }
}
