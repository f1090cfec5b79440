//! A handler to tokens: `Decide` and `Produces` for a command, `Apply` for an event.
//!
//! Tokens are located where an error about them belongs: on the parameter, on the return type, on the listed event.

use super::Names;
use crate::aggregate::fallback;
use crate::aggregate::model::{Applier, CommandHandler, Output, Parameter, ParameterKind};
use crate::aggregate::options::Creates;
use crate::aggregate::types;
use crate::paths::hygienic;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote_spanned};
use std::collections::HashSet;
use syn::spanned::Spanned as _;
use syn::{ReturnType, Type};

/// `impl Decide<CreateBrand> for Brand`.
pub(super) fn command_handler(names: &Names<'_>, handler: &CommandHandler) -> TokenStream {
    let Some((command, by_reference)) = handler.command().filter(|_| handler.output != Output::Nothing) else {
        return TokenStream::new();
    };
    let at = hygienic(handler.sig.ident.span());
    let freehold = names.freehold_at(at);
    let ty = &names.aggregate.block.self_ty;
    let (shared, cfgs) = (&names.shared, &handler.cfgs);
    let name = handler.command_name().unwrap_or_default();
    let creates = match handler.options.creates {
        Creates::Never => quote_spanned!(at=> Never),
        Creates::Only => quote_spanned!(at=> Only),
        Creates::Allowed => quote_spanned!(at=> Allowed),
    };
    let produces = handler.events().into_iter().map(|event| {
        let at = hygienic(event.span());
        let event = names.one_of_set(&event);
        quote_spanned!(at=> #event::INFO)
    });
    let needs = services(handler).map(|(parameter, service, _)| {
        let (cfgs, at) = (&parameter.cfgs, hygienic(parameter.ty.span()));
        let freehold = names.freehold_at(at);
        quote_spanned!(at=> #(#cfgs)* #freehold::Need::service::<#service>())
    });
    let body = match handler.output {
        Output::Call => call(names, handler, command, by_reference),
        Output::Stub | Output::Nothing => quote_spanned!(at=> ::core::future::pending()),
    };
    let checks = services(handler).map(|(parameter, service, _)| service_check(names, parameter, &service));
    quote_spanned! {at=>
        #(#shared)*
        #(#cfgs)*
        #[automatically_derived]
        impl #freehold::Decide<#command> for #ty {
            const COMMAND: &'static str = #name;
            const CREATES: #freehold::Creates = #freehold::Creates::#creates;
            const PRODUCES: &'static [#freehold::EventInfo] = &[#(#produces),*];
            const NEEDS: &'static [#freehold::Need] = &[#(#needs),*];
            fn decide(
                &self,
                __command: #command,
                __scope: &mut #freehold::DecideScope<'_>,
            ) -> impl ::core::future::Future<
                Output = ::core::result::Result<#freehold::Decision<Self, #command>, #freehold::DecideError>,
            > + ::core::marker::Send {
                #(#checks)*
                #body
            }
        }
    }
}

/// The services that `handler` takes: parameter, type, and the variable that holds it.
fn services(handler: &CommandHandler) -> impl Iterator<Item = (&Parameter, TokenStream, Ident)> {
    handler.parameters.iter().enumerate().filter_map(|(index, parameter)| match &parameter.kind {
        ParameterKind::Service(service) => {
            let at = hygienic(parameter.ty.span());
            Some((parameter, service.clone(), format_ident!("__service_{index}", span = at)))
        }
        _ => None,
    })
}

/// A service is used from a future that may move between threads.
fn service_check(names: &Names<'_>, parameter: &Parameter, service: &TokenStream) -> TokenStream {
    let (cfgs, at) = (&parameter.cfgs, hygienic(parameter.ty.span()));
    let private = names.private_at(at);
    quote_spanned!(at=> #(#cfgs)* const _: () = #private::assert_service::<#service>();)
}

/// The body of `decide`: what the handler takes is fetched in the order of use, and then it is called.
fn call(names: &Names<'_>, handler: &CommandHandler, command: &Type, by_reference: bool) -> TokenStream {
    let method = &handler.sig.ident;
    let at = hygienic(method.span());
    let fetched = services(handler).map(|(parameter, service, variable)| {
        let (cfgs, at) = (&parameter.cfgs, hygienic(parameter.ty.span()));
        let private = names.private_at(at);
        quote_spanned!(at=> #(#cfgs)* let #variable = #private::service::<#service>(__scope)?;)
    });
    let contexts = handler.parameters.iter().filter(|parameter| matches!(parameter.kind, ParameterKind::Context));
    let contexts = contexts.map(|parameter| {
        let (cfgs, at) = (&parameter.cfgs, hygienic(parameter.ty.span()));
        let private = names.private_at(at);
        quote_spanned!(at=> #(#cfgs)* let __context = #private::context(__scope);)
    });
    let mut variables = services(handler).map(|(_, _, variable)| variable);
    let arguments = handler.parameters.iter().map(|parameter| {
        let (cfgs, at) = (&parameter.cfgs, hygienic(parameter.ty.span()));
        let argument = match &parameter.kind {
            ParameterKind::Command { .. } if by_reference => quote_spanned!(at=> &__command),
            ParameterKind::Command { .. } => quote_spanned!(at=> __command),
            ParameterKind::Context => quote_spanned!(at=> &*__context),
            ParameterKind::Service(_) => {
                let variable = variables.next();
                quote_spanned!(at=> &*#variable)
            }
            ParameterKind::Scope | ParameterKind::Unknown => quote_spanned!(at=> __scope),
        };
        quote_spanned!(at=> #(#cfgs)* #argument)
    });
    let returned = match &handler.sig.output {
        ReturnType::Type(_, ty) => hygienic(ty.span()),
        ReturnType::Default => at,
    };
    let wait = handler.sig.asyncness.as_ref().map(|_| quote_spanned!(returned=> .await));
    let freehold = names.freehold_at(returned);
    let call = quote_spanned! {returned=>
        #freehold::IntoDecision::<Self, #command>::into_decision(Self::#method(self, #(#arguments),*) #wait)
    };
    quote_spanned! {at=>
        async move {
            #(#fetched)*
            #(#contexts)*
            #call
        }
    }
}

/// `impl Produces<CreateBrand, BrandCreated> for Brand`, for each event that a handler lists or returns.
///
/// Made for handlers with mistakes in them too: without it their bodies would have errors of their own.
pub(super) fn produces(names: &Names<'_>) -> TokenStream {
    let shared = &names.shared;
    let mut seen = HashSet::new();
    let mut output = TokenStream::new();
    for handler in &names.aggregate.commands {
        let (command, cfgs) = (handler.command_or_dummy(), &handler.cfgs);
        if handler.lacks_produces() {
            let (at, ty) = (names.at, &names.aggregate.block.self_ty);
            output.extend(fallback::produces_anything(&names.freehold_at(at), ty, &command, cfgs, at));
        }
        for event in handler.events() {
            let at = hygienic(event.span());
            // A missing `Apply` is reported on the type that this is for; the mistake is in the list of events.
            let ty = names.aggregate.ty_at(event.span());
            let freehold = names.freehold_at(at);
            let key = types::text(&quote_spanned!(at=> #(#cfgs)* #command, #event));
            if seen.insert(key) {
                output.extend(quote_spanned! {at=>
                    #(#shared)*
                    #(#cfgs)*
                    #[automatically_derived]
                    impl #freehold::Produces<#command, #event> for #ty {}
                });
            }
        }
    }
    output
}

/// `impl Apply<BrandCreated> for Brand`.
pub(super) fn applier(names: &Names<'_>, applier: &Applier) -> TokenStream {
    let (Some(event), Some(variant)) = (&applier.event, applier.variant()) else { return TokenStream::new() };
    if applier.output == Output::Nothing {
        return TokenStream::new();
    }
    let (ty, events, shared, cfgs) = (&names.aggregate.block.self_ty, &names.events, &names.shared, &applier.cfgs);
    let method = &applier.sig.ident;
    let at = hygienic(method.span());
    let freehold = names.freehold_at(at);
    let body = match applier.output {
        Output::Call => quote_spanned!(at=> Self::#method(self, __event);),
        Output::Stub | Output::Nothing => fallback::body(at),
    };
    quote_spanned! {at=>
        #(#shared)*
        #(#cfgs)*
        #[automatically_derived]
        impl #freehold::Apply<#event> for #ty {
            fn apply(&mut self, __event: &#event) {
                #body
            }
            fn event(__event: #event) -> #events {
                #events::#variant(__event)
            }
        }
    }
}
