//! Running a handler: its panic is caught (C9), and the sends it makes know that they come from inside it (C7).

use crate::ids::StreamId;
use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

tokio::task_local! {
    static CHAIN: Arc<Link>;
}

/// One send, and the one whose handler made it.
#[derive(Debug)]
pub(crate) struct Link {
    domain: usize,
    stream: StreamId,
    parent: Option<Arc<Self>>,
}

impl Link {
    /// The link of a send of `domain` on `stream`, in the chain of the handler that runs now, if one does.
    pub(crate) fn new(domain: usize, stream: StreamId) -> Arc<Self> {
        Arc::new(Self { domain, stream, parent: CHAIN.try_with(Arc::clone).ok() })
    }

    pub(crate) fn is_nested(&self) -> bool {
        self.parent.is_some()
    }

    /// Whether the same aggregate is already in the chain of sends.
    pub(crate) fn is_cycle(&self) -> bool {
        self.above().any(|link| link.domain == self.domain && link.stream == self.stream)
    }

    /// Whether a send on `stream` is in the chain above this one, and waits for it.
    pub(crate) fn is_below(&self, stream: &StreamId) -> bool {
        self.above().any(|link| link.domain == self.domain && link.stream == *stream)
    }

    fn above(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(self.parent.as_deref(), |link| link.parent.as_deref())
    }
}

/// The handler panicked. Its message went to the panic hook and is not kept: it may quote a key (R19).
#[derive(Debug)]
pub(crate) struct Panicked;

/// Runs `handler` as part of the chain at `link`; a panic, before the first await point or after, is an answer.
pub(crate) async fn run<T, F: Future<Output = T>>(link: Arc<Link>, handler: impl FnOnce() -> F) -> Result<T, Panicked> {
    CHAIN
        .scope(link, async move {
            let handler = catch(handler)?;
            CatchUnwind { handler: pin!(handler) }.await
        })
        .await
}

/// Runs `work`, with a panic as an answer.
pub(crate) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(forget)
}

/// A payload may panic again when it is dropped; leaking that one is the lesser evil.
fn forget(payload: Box<dyn Any + Send>) -> Panicked {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
    Panicked
}

struct CatchUnwind<'f, F> {
    handler: Pin<&'f mut F>,
}

impl<F: Future> Future for CatchUnwind<'_, F> {
    type Output = Result<F::Output, Panicked>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match catch(|| self.handler.as_mut().poll(context)) {
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(panicked) => Poll::Ready(Err(panicked)),
        }
    }
}
