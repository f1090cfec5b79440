//! Entry points, and nothing else.
//!
//! Each macro is a function `tokens -> (tokens, errors)` in the module of its name. What the macros do is
//! documented where users meet them: at the re-exports in `freehold`.

// The documentation is at the re-exports; a second copy here would drift.
#![allow(missing_docs)]

mod aggregate;
mod attrs;
mod errors;
mod event;
mod marker;
mod namespace;
mod paths;
mod signature;
#[cfg(test)]
mod test_util;

use proc_macro::TokenStream;

#[proc_macro_attribute]
pub fn aggregate(args: TokenStream, item: TokenStream) -> TokenStream {
    errors::append(aggregate::aggregate(args.into(), item.into()))
}

#[proc_macro_attribute]
pub fn on_command(_args: TokenStream, item: TokenStream) -> TokenStream {
    errors::append(marker::misplaced("on_command", item.into()))
}

#[proc_macro_attribute]
pub fn on_event(_args: TokenStream, item: TokenStream) -> TokenStream {
    errors::append(marker::misplaced("on_event", item.into()))
}

#[proc_macro_derive(Event, attributes(event))]
pub fn event(item: TokenStream) -> TokenStream {
    errors::append(event::event(item.into()))
}

#[proc_macro_attribute]
pub fn namespace(args: TokenStream, item: TokenStream) -> TokenStream {
    errors::append(namespace::namespace(args.into(), &item.into()))
}
