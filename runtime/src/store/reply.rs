//! `StoreReply`: the answer of a store, there already or still to come. Not a store's queue, which is its own.

use super::StoreError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The answer to a call that was handed over to a store. Dropping it withdraws nothing.
#[must_use = "the call is under way; await its answer, or drop it on purpose"]
pub struct StoreReply<T>(State<T>);

enum State<T> {
    Ready(Option<Result<T, StoreError>>),
    Waiting(Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>),
}

impl<T> StoreReply<T> {
    /// An answer that is there already.
    pub const fn ready(answer: Result<T, StoreError>) -> Self {
        Self(State::Ready(Some(answer)))
    }

    /// An answer that `answer` waits for. It may only wait: the work itself must go on when it is dropped.
    pub fn waiting(answer: impl Future<Output = Result<T, StoreError>> + Send + 'static) -> Self {
        Self(State::Waiting(Box::pin(answer)))
    }
}

// Nothing in it is pinned but the box.
impl<T> Unpin for StoreReply<T> {}

impl<T> Future for StoreReply<T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Ready(answer) => Poll::Ready(answer.take().expect("a reply is not polled after it has answered")),
            State::Waiting(answer) => answer.as_mut().poll(context),
        }
    }
}

impl<T> fmt::Debug for StoreReply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            State::Ready(_) => "StoreReply(ready)",
            State::Waiting(_) => "StoreReply(waiting)",
        })
    }
}
