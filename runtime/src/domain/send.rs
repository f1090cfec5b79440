//! What `Domain::send` and `Domain::load` return: options first, then awaited.

use super::Domain;
use crate::aggregate::{Aggregate, Decide};
use crate::command::Command;
use crate::engine::{self, Request, load};
use crate::error::{Error, InvalidId};
use crate::ids::{AggregateId, RequestId};
use crate::outcome::{Loaded, Outcome};
use crate::store::Check;
use crate::text::Text;
use serde_json::{Map, Value};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

/// A command on its way. Await it to send it.
#[must_use = "a command is sent when this is awaited"]
pub struct SendCommand<A, C> {
    domain: Domain,
    aggregate: AggregateId<A>,
    command: C,
    request_id: Option<Result<RequestId, InvalidId>>,
    expected_version: Option<u64>,
    deadline: Option<Duration>,
    metadata: Map<String, Value>,
}

impl<A: Decide<C>, C: Command> SendCommand<A, C> {
    pub(super) fn new(domain: Domain, aggregate: AggregateId<A>, command: C) -> Self {
        let (request_id, expected_version, deadline, metadata) = (None, None, None, Map::new());
        Self { domain, aggregate, command, request_id, expected_version, deadline, metadata }
    }

    /// Makes the command idempotent: sent again under this id it returns its first outcome, and changes nothing (C4).
    ///
    /// Unique per aggregate type and tenant; 1 to 255 bytes. Only commits are remembered.
    pub fn request_id(mut self, id: impl Into<Text>) -> Self {
        self.request_id = Some(RequestId::new(id));
        self
    }

    /// Fails with `Conflict` unless the aggregate has this version; that is not retried (C5).
    pub const fn expect_version(mut self, version: u64) -> Self {
        self.expected_version = Some(version);
        self
    }

    /// Ends in `Timeout` once `duration` has passed, or in `OutcomeUnknown` when the append was under way (C5).
    pub const fn deadline(mut self, duration: Duration) -> Self {
        self.deadline = Some(duration);
        self
    }

    /// Stores a fact with the commit, such as who sent the command; given twice, the last one stands.
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }

    async fn execute(self) -> Result<Outcome<A>, Error> {
        let inner = self.domain.inner();
        let own = !engine::is_built_in::<C>();
        inner.check_registered::<A>(own.then_some(<A as Decide<C>>::COMMAND))?;
        let id = self.request_id.transpose()?;
        let mut request = Request::new(inner, self.aggregate, id, &self.command)?;
        request.expected_version = self.expected_version;
        request.deadline = self.deadline;
        request.metadata = self.metadata;
        engine::execute(inner, request, self.command).await
    }
}

impl<A: Decide<C>, C: Command> IntoFuture for SendCommand<A, C> {
    type Output = Result<Outcome<A>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.execute())
    }
}

impl<A, C> fmt::Debug for SendCommand<A, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendCommand").field("aggregate", &self.aggregate).finish_non_exhaustive()
    }
}

/// An aggregate to load. Await it to load it.
#[must_use = "an aggregate is loaded when this is awaited"]
pub struct LoadAggregate<A> {
    domain: Domain,
    aggregate: AggregateId<A>,
    cached: bool,
}

impl<A: Aggregate> LoadAggregate<A> {
    pub(super) const fn new(domain: Domain, aggregate: AggregateId<A>) -> Self {
        Self { domain, aggregate, cached: false }
    }

    /// Is content with the state that this process saw last, without asking the store (C1). It may be stale.
    pub const fn cached(mut self) -> Self {
        self.cached = true;
        self
    }

    async fn execute(self) -> Result<Loaded<A>, Error> {
        let (inner, stream) = (self.domain.inner(), self.aggregate.stream());
        inner.check_registered::<A>(None)?;
        let state = match load::warm::<A>(inner, stream) {
            Some(warm) if self.cached => warm,
            Some(warm) => {
                let checked = inner.store.check(Check { stream: stream.clone(), request: None }).await?;
                inner.forget_warm_beyond(stream, checked.version);
                if checked.version == warm.version { warm } else { load::fresh(inner, stream).await? }
            }
            None => load::fresh(inner, stream).await?,
        };
        if !state.exists {
            return Err(Error::NotFound { stream: Box::new(stream.clone()) });
        }
        Ok(Loaded { id: self.aggregate, version: state.version, deleted: state.deleted, state: state.state })
    }
}

impl<A: Aggregate> IntoFuture for LoadAggregate<A> {
    type Output = Result<Loaded<A>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.execute())
    }
}

impl<A> fmt::Debug for LoadAggregate<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadAggregate")
            .field("aggregate", &self.aggregate)
            .field("cached", &self.cached)
            .finish_non_exhaustive()
    }
}
