//! What a handler answers: a `Decision`, a `Rejection`, or a failure. Nothing here knows of stores.

use crate::aggregate::{Aggregate, Apply, Produces};
use crate::error::{InvalidId, InvalidKey, StoreFailure};
use crate::event::Event;
use std::error::Error as StdError;
use std::fmt;
use std::marker::PhantomData;

/// What was decided: events, or that there is nothing to do.
///
/// In a handler's signature it is written without parameters; `#[aggregate]` adds them. An event that the handler's
/// attribute does not list in `produces` does not compile.
#[must_use = "a decision has no effect until the handler returns it"]
pub struct Decision<A: Aggregate, C> {
    pub(crate) events: Vec<A::Event>,
    pub(crate) deleted: Option<bool>,
    command: PhantomData<fn() -> C>,
}

impl<A: Aggregate, C> Decision<A, C> {
    /// There is nothing to do: no events, no commit, and nothing is reserved or released (R5, R10).
    pub const fn no_op() -> Self {
        Self { events: Vec::new(), deleted: None, command: PhantomData }
    }

    /// One event.
    pub fn event<E>(event: E) -> Self
    where
        A: Produces<C, E>,
    {
        Self::no_op().and(event)
    }

    /// One event more, after those that are there.
    pub fn and<E>(mut self, event: E) -> Self
    where
        A: Produces<C, E>,
    {
        self.events.push(<A as Apply<E>>::event(event));
        self
    }

    /// Events of one type, in order. None is a no-op.
    pub fn events<E>(events: impl IntoIterator<Item = E>) -> Self
    where
        A: Produces<C, E>,
    {
        events.into_iter().fold(Self::no_op(), Self::and)
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_no_op(&self) -> bool {
        self.events.is_empty() && self.deleted.is_none()
    }

    pub(crate) const fn mark_deleted(deleted: bool) -> Self {
        Self { events: Vec::new(), deleted: Some(deleted), command: PhantomData }
    }
}

impl<A: Aggregate, C> fmt::Debug for Decision<A, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decision").field("events", &self.events).finish_non_exhaustive()
    }
}

/// What a handler may return: a [`Decision`], an event, a tuple, `Option` or `Vec` of events, or a `Result` of those.
#[diagnostic::on_unimplemented(
    message = "a handler can't return `{Self}`",
    label = "not a decision",
    note = "return `Decision`, an event, `Option`, `Vec` or a tuple of events, or a `Result` of one of them",
    note = "the error of a `Result` has to be a `DecideError` or to convert into one: `.map_err(DecideError::failed)?`"
)]
pub trait IntoDecision<A: Aggregate, C> {
    /// The decision.
    ///
    /// # Errors
    ///
    /// What the handler returned as its error.
    fn into_decision(self) -> Result<Decision<A, C>, DecideError>;
}

impl<A: Aggregate, C> IntoDecision<A, C> for Decision<A, C> {
    fn into_decision(self) -> Result<Self, DecideError> {
        Ok(self)
    }
}

impl<A: Produces<C, E>, C, E: Event> IntoDecision<A, C> for E {
    fn into_decision(self) -> Result<Decision<A, C>, DecideError> {
        Ok(Decision::event(self))
    }
}

impl<A: Produces<C, E>, C, E: Event> IntoDecision<A, C> for Option<E> {
    fn into_decision(self) -> Result<Decision<A, C>, DecideError> {
        Ok(Decision::events(self))
    }
}

impl<A: Produces<C, E>, C, E: Event> IntoDecision<A, C> for Vec<E> {
    fn into_decision(self) -> Result<Decision<A, C>, DecideError> {
        Ok(Decision::events(self))
    }
}

impl<A: Aggregate, C, T: IntoDecision<A, C>, X: Into<DecideError>> IntoDecision<A, C> for Result<T, X> {
    fn into_decision(self) -> Result<Decision<A, C>, DecideError> {
        self.map_err(Into::into)?.into_decision()
    }
}

macro_rules! tuple_into_decision {
    ($($part:ident),+) => {
        impl<A: Aggregate, C, $($part: IntoDecision<A, C>),+> IntoDecision<A, C> for ($($part,)+) {
            fn into_decision(self) -> Result<Decision<A, C>, DecideError> {
                #[expect(non_snake_case, reason = "a part is named like its type")]
                let ($($part,)+) = self;
                let mut whole = Decision::no_op();
                $(
                    let part = $part.into_decision()?;
                    whole.events.extend(part.events);
                    whole.deleted = part.deleted.or(whole.deleted);
                )+
                Ok(whole)
            }
        }
    };
}
tuple_into_decision!(E1, E2);
tuple_into_decision!(E1, E2, E3);
tuple_into_decision!(E1, E2, E3, E4);

/// The stable code of a rejection, such as `NAME_TAKEN`, by which callers tell rejections apart.
///
/// ```
/// use freehold::RejectionCode;
/// pub const NAME_TAKEN: RejectionCode = RejectionCode::new("NAME_TAKEN");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RejectionCode(&'static str);

impl RejectionCode {
    /// A code. Never change it once callers know it.
    #[must_use]
    pub const fn new(code: &'static str) -> Self {
        Self(code)
    }

    /// The code's characters.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        self.0
    }
}

impl From<&'static str> for RejectionCode {
    fn from(code: &'static str) -> Self {
        Self(code)
    }
}

impl fmt::Display for RejectionCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl fmt::Debug for RejectionCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A command refused by the domain: a code for programs, a message for people.
///
/// The message is yours and goes to the caller alone; nothing of ours logs it (R19).
#[derive(Clone, PartialEq, Eq)]
pub struct Rejection {
    code: RejectionCode,
    message: String,
    pub(crate) provisional: bool,
}

impl Rejection {
    /// A rejection.
    #[must_use]
    pub fn new(code: impl Into<RejectionCode>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), provisional: false }
    }

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> RejectionCode {
        self.code
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the key that was in the way was only pending, so that the same command may succeed soon (R21).
    #[must_use]
    pub const fn is_provisional(&self) -> bool {
        self.provisional
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl fmt::Debug for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The message may quote the key that was refused.
        f.debug_struct("Rejection")
            .field("code", &self.code)
            .field("message", &format_args!("<{} bytes>", self.message.len()))
            .field("provisional", &self.provisional)
            .finish()
    }
}

/// Why a handler made no decision. Helpers that a handler calls return it too.
///
/// A [`Rejection`], an [`InvalidKey`], an [`InvalidId`] and the failure of a `reserve` convert into it with `?`; anything else does with
/// [`failed`](Self::failed).
pub struct DecideError(pub(crate) Kind);

pub(crate) enum Kind {
    Rejected(Rejection),
    Failed(Box<dyn StdError + Send + Sync>),
    InvalidKey(InvalidKey),
    InvalidId(InvalidId),
    Misconfigured(String),
    Store(StoreFailure),
    /// The attempt met its own request's pending key (C4): wait, decide again.
    Wait,
}

impl DecideError {
    /// A failure with its cause: a service that did not answer, a value that can't be right.
    ///
    /// ```
    /// use freehold::DecideError;
    /// fn price(text: &str) -> Result<u64, DecideError> {
    ///     text.parse().map_err(DecideError::failed)
    /// }
    /// # assert!(price("x").is_err());
    /// ```
    pub fn failed(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self(Kind::Failed(source.into()))
    }

    /// The rejection, when it is one.
    #[must_use]
    pub fn rejection(&self) -> Option<&Rejection> {
        match &self.0 {
            Kind::Rejected(rejection) => Some(rejection),
            _ => None,
        }
    }
}

impl From<Rejection> for DecideError {
    fn from(rejection: Rejection) -> Self {
        Self(Kind::Rejected(rejection))
    }
}

impl From<InvalidKey> for DecideError {
    fn from(error: InvalidKey) -> Self {
        Self(Kind::InvalidKey(error))
    }
}

impl From<InvalidId> for DecideError {
    fn from(error: InvalidId) -> Self {
        Self(Kind::InvalidId(error))
    }
}

impl fmt::Display for DecideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Rejected(rejection) => write!(f, "rejected, {rejection}"),
            Kind::Failed(_) => f.write_str("the handler failed"),
            Kind::InvalidKey(error) => fmt::Display::fmt(error, f),
            Kind::InvalidId(error) => fmt::Display::fmt(error, f),
            Kind::Misconfigured(what) => f.write_str(what),
            Kind::Store(error) => fmt::Display::fmt(error, f),
            Kind::Wait => f.write_str("the same request is being decided elsewhere"),
        }
    }
}

impl fmt::Debug for DecideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Rejected(rejection) => fmt::Debug::fmt(rejection, f),
            Kind::Failed(source) => f.debug_tuple("Failed").field(source).finish(),
            _ => fmt::Display::fmt(self, f),
        }
    }
}

impl StdError for DecideError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0 {
            Kind::Failed(source) => Some(&**source),
            _ => None,
        }
    }
}
