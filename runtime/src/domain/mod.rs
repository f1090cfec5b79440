//! `Domain`: the one handle through which commands are sent and aggregates loaded. How commands go is in `engine`.

mod builder;
mod reservations;
mod send;

pub use builder::{BuildError, DomainBuilder};
pub use reservations::{Holding, Release, Reservations};
pub use send::{LoadAggregate, SendCommand};

use crate::aggregate::{Aggregate, Decide};
use crate::clock::Clock;
use crate::command::Command;
use crate::engine::lanes::Lanes;
use crate::engine::load::{State, Warm};
use crate::error::Error;
use crate::ids::{AggregateId, IdSource, StreamId};
use crate::observe::Observer;
use crate::registry::{AggregateDescriptor, Report};
use crate::reservation::{KeyId, Namespace};
use crate::services::Services;
use crate::store::{CommitRecord, KeyReading, Store, StoreError};
use crate::text::Text;
use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A running domain: its aggregates, namespaces and services, on one store. Cheap to clone.
///
/// ```standalone_crate
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/guide/brand.rs"));
/// use freehold::MemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let domain = Domain::builder().store(MemoryStore::new()).build().await?;
/// let brand = AggregateId::<Brand>::new("contoso")?.tenant("acme")?;
/// let outcome = domain.send(&brand, CreateBrand { name: "Contoso".into() }).request_id("req-1").await?;
/// assert_eq!(outcome.version(), 1);
/// assert_eq!(domain.load(&brand).await?.name, "Contoso");
/// domain.close().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Domain {
    inner: Arc<Inner>,
}

/// What a domain consists of. Nothing in it changes once it is built, caches and queues aside.
pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) services: Services,
    pub(crate) settings: Settings,
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) warm: Option<quick_cache::sync::Cache<StreamId, Warm>>,
    namespaces: HashMap<&'static str, RegisteredNamespace>,
    aggregates: HashMap<TypeId, AggregateDescriptor>,
    report: Report,
}

/// The settings of a domain.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) pending: Duration,
    pub(crate) attempts: u32,
    pub(crate) pending_wait: Duration,
    pub(crate) pause_between_attempts: bool,
    pub(crate) warm_states: usize,
}

/// A namespace of this domain, and its epoch in each context (R13).
#[derive(Clone, Debug)]
pub(crate) struct RegisteredNamespace {
    namespace: Namespace,
    epochs: Arc<HashMap<Text, u64>>,
}

impl RegisteredNamespace {
    pub(crate) fn epoch_in(&self, context: &str) -> u64 {
        self.epochs.get(context).copied().unwrap_or(0)
    }
}

impl Domain {
    /// Starts to build a domain.
    pub fn builder() -> DomainBuilder {
        DomainBuilder::new()
    }

    /// Sends a command; await what this returns.
    ///
    /// Commands on one aggregate queue up in one process (C7). A handler may send too: that does not queue. But a task that
    /// a handler spawns is not seen as part of it: a handler that awaits such a task's send to its own aggregate waits for
    /// itself, until a deadline ends it.
    ///
    /// # Cancel safety
    ///
    /// Safe at every await point: either the commit stands, or the attempt gave up what it reserved (C8).
    #[must_use = "a command is sent when this is awaited"]
    pub fn send<A: Decide<C>, C: Command>(&self, aggregate: &AggregateId<A>, command: C) -> SendCommand<A, C> {
        SendCommand::new(self.clone(), aggregate.clone(), command)
    }

    /// Loads an aggregate as it is now; await what this returns.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] for one that has no domain event; a deleted one is loaded, and says so.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it changes nothing.
    #[must_use = "an aggregate is loaded when this is awaited"]
    pub fn load<A: Aggregate>(&self, aggregate: &AggregateId<A>) -> LoadAggregate<A> {
        LoadAggregate::new(self.clone(), aggregate.clone())
    }

    /// The commits after a global position, in order, at most `limit`: for projections. Start at 0.
    ///
    /// Nothing ever appears behind a position once read. Gaps are normal.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when the store can't be read.
    pub async fn commits(&self, after_position: u64, limit: usize) -> Result<Vec<CommitRecord>, Error> {
        Ok(self.inner.store.commits(after_position, limit).await?)
    }

    /// Looks at reservations, and releases them by hand.
    #[must_use]
    pub fn reservations(&self) -> Reservations<'_> {
        Reservations::new(&self.inner)
    }

    /// What is registered, from where, and how it was found.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.inner.report
    }

    /// Waits until everything that was handed over to the store has taken effect, give-ups included (R5). It stops
    /// nothing: stop sending first.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when the store was lost before.
    pub async fn close(&self) -> Result<(), Error> {
        Ok(self.inner.store.drain().await?)
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }
}

impl Inner {
    /// The registered namespace that is equal to `namespace`, or what is wrong (R12).
    pub(crate) fn namespace(&self, namespace: Namespace, context: &str) -> Result<RegisteredNamespace, String> {
        let name = namespace.name();
        let Some(registered) = self.namespaces.get(name) else {
            let known: Vec<_> = self.report.namespaces.iter().map(|(namespace, ..)| namespace.name()).collect();
            return Err(format!(
                "namespace {name:?} is not registered. Put `#[namespace]` on its constant, or give it to the builder \
                 with `.namespace(..)`; if it is in a crate that nothing refers to, `use that_crate as _;` links it. \
                 Registered are: {}",
                list(&known)
            ));
        };
        if registered.namespace != namespace {
            return Err(format!(
                "namespace {name:?} is registered as {:?} and used as {namespace:?}; use one constant everywhere",
                registered.namespace
            ));
        }
        if !registered.epochs.contains_key(context) {
            return Err(format!("namespace {name:?} is not registered for context {context:?}"));
        }
        Ok(registered.clone())
    }

    /// Reads the record of a key, and makes sure that the key was in its normal form then (R13).
    ///
    /// A rekey raises the epoch in the write that moves the keys.
    pub(crate) async fn reservation(&self, namespace: Namespace, key: KeyId) -> Result<KeyReading, StoreError> {
        let changed = || StoreError::namespace_changed(namespace.name());
        let context = key.context.clone();
        let epoch = self.namespace(namespace, &context).map_err(|_| changed())?.epoch_in(&context);
        let reading = self.store.reservation(key).await?;
        if reading.epoch == Some(epoch) { Ok(reading) } else { Err(changed()) }
    }

    /// Checks that `A` is registered, and with it the command, unless that is one that every aggregate has.
    pub(crate) fn check_registered<A: Aggregate>(&self, command: Option<&'static str>) -> Result<(), Error> {
        if let Some(aggregate) = self.aggregates.get(&TypeId::of::<A>()) {
            return match command {
                Some(command) if aggregate.commands.iter().all(|known| known.name != command) => {
                    Err(Error::Misconfigured(format!(
                        "command {command} is not among those that the descriptor of {}.{} lists; add \
                         `CommandInfo::of::<Self, {command}>()` to it",
                        A::CONTEXT,
                        A::NAME
                    )))
                }
                _ => Ok(()),
            };
        }
        let known: Vec<_> = self.report.aggregates.iter().map(|(known, _)| known.aggregate().to_string()).collect();
        let known: Vec<_> = known.iter().map(String::as_str).collect();
        Err(Error::Misconfigured(format!(
            "aggregate {}.{} is not registered. Give it to the builder with `.aggregate::<{}>()`; if it is in a crate \
             that nothing refers to, `use that_crate as _;` links it. Registered are: {}",
            A::CONTEXT,
            A::NAME,
            std::any::type_name::<A>(),
            list(&known)
        )))
    }

    pub(crate) fn keep_warm<A: Aggregate>(&self, stream: &StreamId, state: &State<A>) {
        if let Some(warm) = &self.warm {
            warm.insert(stream.clone(), Warm::of(state));
        }
    }

    /// Forgets a warm state that is newer than the store, as after a restored copy.
    pub(crate) fn forget_warm_beyond(&self, stream: &StreamId, version: u64) {
        if self.warm.as_ref().and_then(|warm| warm.get(stream)).is_some_and(|warm| warm.version() > version) {
            self.forget_warm(stream);
        }
    }

    pub(crate) fn forget_warm(&self, stream: &StreamId) {
        if let Some(warm) = &self.warm {
            warm.remove(stream);
        }
    }
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Domain")
            .field("store", &self.store)
            .field("aggregates", &self.report.aggregates.len())
            .field("namespaces", &self.report.namespaces.len())
            .field("services", &self.services)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
