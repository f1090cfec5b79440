//! The rules of a method marked `#[on_event]`.

use super::function::{is_a_plain_function, is_not_variadic, is_reference};
use crate::aggregate::model::{Applier, Output};
use crate::aggregate::types;
use crate::errors::Errors;
use syn::{FnArg, ReturnType, Signature, Type};

pub(super) fn applier(applier: &mut Applier, errors: &Errors) {
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

fn takes_mutable_self(sig: &Signature, errors: &Errors) {
    let reason = "an `#[on_event]` method brings the state up to date; write `&mut self`";
    match sig.receiver() {
        Some(receiver) if is_reference(receiver, true) => {}
        Some(receiver) => errors.at(receiver, reason),
        None => errors.at(&sig.ident, format_args!("{reason} as its first parameter")),
    }
}

fn is_not_async(sig: &Signature, errors: &Errors) {
    if let Some(token) = &sig.asyncness {
        errors.at(token, "an `#[on_event]` method does no I/O, so that replaying is fast and safe; take `async` away");
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
        Some(Some(_)) if applier.variant().is_some() => {}
        Some(_) => errors.at(event, "an event is a type with a name; write `event: &BrandCreated`"),
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

#[cfg(test)]
mod tests {
    use crate::aggregate::aggregate;
    use crate::test_util::{assert_error, errors_of};

    fn aggregate_of(method: &str) -> String {
        format!("#[aggregate(context = \"c\")] impl Brand {{ {method} }}")
    }

    #[test]
    fn good_appliers_have_no_errors() {
        for method in [
            "#[on_event] fn a(&mut self, e: &E) {}",
            "#[on_event] fn a<'a>(self: &mut Self, _: &'a api::E<u8>) -> () {}",
            "#[on_event()] fn a(&mut self, E { a, b }: &E) where E: Sized {}",
        ] {
            assert_eq!(errors_of(&aggregate_of(method), aggregate), [], "{method}");
        }
    }

    #[test]
    fn bad_appliers_are_told_what_to_write() {
        let receiver = "an `#[on_event]` method brings the state up to date; write `&mut self`";
        let reference = "an event is applied by reference, it is history; write `event: &BrandCreated`";
        let plain = |what: &str| format!("an `#[on_event]` method {what}");
        for (method, words, message) in [
            ("fn a(&self, e: &E) {}", "&self", receiver),
            ("fn a(self, e: &E) {}", "self", receiver),
            ("fn a(e: &E) {}", "a", &format!("{receiver} as its first parameter")),
            ("fn a(&mut self, e: E) {}", "E", reference),
            ("fn a(&mut self, e: &mut E) {}", "&mut E", reference),
            (
                "fn a(&mut self, e: &(E, F)) {}",
                "&(E, F)",
                "an event is a type with a name; write `event: &BrandCreated`",
            ),
            ("fn a(&mut self, e: &Self) {}", "&Self", "an event is a type with a name; write `event: &BrandCreated`"),
            (
                "fn a(&mut self, e: &E<'_>) {}",
                "'_",
                "an event owns its data, since it is read back from the store; give its type no lifetime",
            ),
            (
                "fn a(&mut self) {}",
                "a",
                "this method applies no event; write its type after `&mut self`: `event: &BrandCreated`",
            ),
            (
                "fn a(&mut self, e: &E, f: &F) {}",
                "&F",
                &plain("takes the event and nothing else; put what it needs into the event"),
            ),
            (
                "fn a(&mut self, e: &E) -> bool {}",
                "bool",
                "an event has happened and can't be refused; an `#[on_event]` method returns nothing",
            ),
            (
                "async fn a(&mut self, e: &E) {}",
                "async",
                &plain("does no I/O, so that replaying is fast and safe; take `async` away"),
            ),
            ("fn a<T>(&mut self, e: &E) {}", "T", &plain("can't be generic; write the concrete type")),
            ("unsafe fn a(&mut self, e: &E) {}", "unsafe", &plain("is called by safe code; take `unsafe` away")),
        ] {
            assert_error(&aggregate_of(&format!("#[on_event] {method}")), words, message, aggregate);
        }
        assert_error(
            &aggregate_of("#[on_event(name = \"a\")] fn a(&mut self, e: &E) {}"),
            "name = \"a\"",
            "`#[on_event]` takes no options; write `#[on_event]`, the event is the method's parameter",
            aggregate,
        );
    }
}
