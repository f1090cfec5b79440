//! What generated code asks of a method that it calls, whatever the method is for.

use crate::aggregate::types;
use crate::errors::Errors;
use syn::{Receiver, ReceiverKind, Safety, Signature};

/// `&self` or `self: &Self`; with `mutable`, the same with `&mut`.
pub(super) fn is_reference(receiver: &Receiver, mutable: bool) -> bool {
    match &receiver.kind {
        ReceiverKind::Reference(_, _, mutability) => mutability.is_some() == mutable,
        ReceiverKind::Typed(_, ty) => types::reference(ty).is_some_and(|reference| {
            reference.mutability.is_some() == mutable && types::is_named(&reference.elem, "Self")
        }),
        _ => false,
    }
}

/// Generated code calls the method with no more than its arguments.
pub(super) fn is_a_plain_function(sig: &Signature, what: &str, errors: &Errors) {
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

pub(super) fn is_not_variadic(sig: &Signature, errors: &Errors) {
    if let Some(variadic) = &sig.variadic {
        errors.at(variadic, "a handler has a fixed number of parameters; take `...` away");
    }
}
