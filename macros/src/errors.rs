//! The errors of one expansion: a tree of sinks over one list.
//!
//! Whoever handles a part of the input gets a child, and asks it afterwards whether that part failed, so that only
//! that part's output is left out. A sink that is dropped unasked panics: forgetting to look is a bug of this crate
//! that the first test finds. Words are chosen where a rule is checked, not here.

use proc_macro2::TokenStream;
use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::rc::Rc;

pub(crate) struct Errors {
    list: Rc<RefCell<Vec<syn::Error>>>,
    node: Rc<Node>,
    asked: Cell<bool>,
}

#[derive(Default)]
struct Node {
    parent: Option<Rc<Self>>,
    failed: Cell<bool>,
}

impl Errors {
    pub(crate) fn new() -> Self {
        Self { list: Rc::default(), node: Rc::default(), asked: Cell::new(false) }
    }

    /// A sink for a part: its failure is also a failure of `self`, but not of `self`'s other children.
    pub(crate) fn child(&self) -> Self {
        let node = Node { parent: Some(Rc::clone(&self.node)), failed: Cell::new(false) };
        Self { list: Rc::clone(&self.list), node: Rc::new(node), asked: Cell::new(false) }
    }

    pub(crate) fn push(&self, error: syn::Error) {
        let mut node = Some(&self.node);
        while let Some(failed) = node {
            failed.failed.set(true);
            node = failed.parent.as_ref();
        }
        self.list.borrow_mut().push(error);
    }

    /// Reports `message` on the first to the last of `tokens`.
    pub(crate) fn at(&self, tokens: impl quote::ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// Reports `message` on `second`, and where the first of the two is.
    pub(crate) fn duplicate(&self, first: impl quote::ToTokens, second: impl quote::ToTokens, message: impl Display) {
        let mut error = syn::Error::new_spanned(second, message);
        error.combine(syn::Error::new_spanned(first, "the first one is here"));
        self.push(error);
    }

    /// Whether something was reported here or in a child.
    pub(crate) fn failed(&self) -> bool {
        self.asked.set(true);
        self.node.failed.get()
    }

    /// `value`, unless something was reported here or in a child.
    pub(crate) fn unless_failed<T>(self, value: T) -> Option<T> {
        (!self.failed()).then_some(value)
    }

    /// All errors of the tree, in the order of their discovery.
    pub(crate) fn into_list(self) -> Vec<syn::Error> {
        self.asked.set(true);
        self.list.take()
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        assert!(
            self.asked.get() || std::thread::panicking(),
            "a sink of errors was dropped before anyone looked at it"
        );
    }
}

/// What a macro returns to the compiler: its output, then each error where it belongs.
pub(crate) fn append((mut output, errors): (TokenStream, Vec<syn::Error>)) -> proc_macro::TokenStream {
    output.extend(errors.into_iter().map(syn::Error::into_compile_error));
    output.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proc_macro2::Span;

    fn error(message: &str) -> syn::Error {
        syn::Error::new(Span::call_site(), message)
    }

    #[test]
    fn a_failed_child_fails_its_parents_and_not_its_siblings() {
        let root = Errors::new();
        let (left, right) = (root.child(), root.child());
        let leaf = left.child();
        leaf.push(error("leaf"));
        assert!(leaf.failed() && left.failed() && root.failed());
        assert!(!right.failed());
    }

    #[test]
    fn errors_come_out_in_the_order_of_their_discovery() {
        let root = Errors::new();
        let child = root.child();
        child.push(error("first"));
        root.push(error("second"));
        assert_eq!(child.unless_failed(()), None);
        assert_eq!(root.into_list().iter().map(ToString::to_string).collect::<Vec<_>>(), ["first", "second"]);
    }

    #[test]
    #[should_panic(expected = "dropped before anyone looked")]
    fn a_sink_dropped_unasked_panics() {
        drop(Errors::new());
    }
}
