//! Building a domain: discovery, registration by hand, validation of everything at once, and the store's consent.

use super::{Domain, Inner, RegisteredNamespace, Settings};
use crate::aggregate::Aggregate;
use crate::clock::{Clock, SystemClock};
use crate::engine::lanes::Lanes;
use crate::ids::{IdSource, RandomIds, Token};
use crate::limits::{
    ATTEMPTS_DEFAULT, PENDING_DEFAULT, PENDING_MAX, PENDING_MIN, PENDING_WAIT_DEFAULT, WARM_STATES_DEFAULT,
};
use crate::observe::Observer;
use crate::registry::{AggregateDescriptor, Found, Registry, Report};
use crate::reservation::Namespace;
use crate::services::Services;
use crate::store::{NamespaceRecord, Registered, Rekey, RekeyCollision, RekeyNamespace, RekeyReply, Store, StoreError};
use crate::text::Text;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Builds a [`Domain`].
#[must_use = "a domain is built by `.build().await`"]
pub struct DomainBuilder {
    store: Option<Arc<dyn Store>>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    observer: Option<Arc<dyn Observer>>,
    services: Services,
    settings: Settings,
    discovery: bool,
    allows_missing_services: bool,
    aggregates: Vec<AggregateDescriptor>,
    namespaces: Vec<Namespace>,
    rekeyed: Vec<Namespace>,
}

/// Everything that is wrong with a domain, at once.
#[derive(Debug, thiserror::Error)]
pub struct BuildError {
    problems: Vec<String>,
    store: Option<StoreError>,
}

impl BuildError {
    /// The problems, one by one.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The stable code: `MISCONFIGURED`, or the store's.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.store.as_ref().map_or("MISCONFIGURED", StoreError::code)
    }

    /// The store's own error, when it is the store that can't be used.
    #[must_use]
    pub const fn store_error(&self) -> Option<&StoreError> {
        self.store.as_ref()
    }

    /// Whether building again may succeed, with nothing changed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.store.as_ref().is_some_and(StoreError::is_retryable)
    }

    fn misconfigured(problems: Vec<String>) -> Self {
        Self { problems, store: None }
    }
}

impl From<StoreError> for BuildError {
    fn from(error: StoreError) -> Self {
        Self { problems: vec![error.to_string()], store: Some(error) }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(error) = &self.store {
            return fmt::Display::fmt(error, f);
        }
        f.write_str("the domain can't be built:")?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n  - {problem}"))
    }
}

impl DomainBuilder {
    pub(super) fn new() -> Self {
        Self {
            store: None,
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            observer: None,
            services: Services::default(),
            settings: Settings {
                pending: PENDING_DEFAULT,
                attempts: ATTEMPTS_DEFAULT,
                pending_wait: PENDING_WAIT_DEFAULT,
                pause_between_attempts: true,
                warm_states: WARM_STATES_DEFAULT,
            },
            discovery: true,
            allows_missing_services: false,
            aggregates: Vec::new(),
            namespaces: Vec::new(),
            rekeyed: Vec::new(),
        }
    }

    /// Where commits and reservations are kept. Needed.
    pub fn store(self, store: impl Store) -> Self {
        self.shared_store(Arc::new(store))
    }

    /// The same, for a store that others use too.
    pub fn shared_store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Registers an aggregate by hand, which also links its crate. One that was discovered too is the same one.
    pub fn aggregate<A: Aggregate>(mut self) -> Self {
        self.aggregates.push(A::DESCRIPTOR);
        self
    }

    /// Registers a namespace by hand.
    pub fn namespace(mut self, namespace: Namespace) -> Self {
        self.namespaces.push(namespace);
        self
    }

    /// Turns link-time discovery off: only what is registered by hand is there.
    pub const fn without_discovery(mut self) -> Self {
        self.discovery = false;
        self
    }

    /// Lets `build()` pass although nobody provides what a handler needs; commands of such handlers then fail with
    /// `Misconfigured`. For test kits, whose domain is there for one command of an aggregate.
    pub const fn allow_missing_services(mut self) -> Self {
        self.allows_missing_services = true;
        self
    }

    /// Provides a service to the handlers that ask for `&T`, such as `.provide::<dyn Pricing>(arc)`.
    pub fn provide<T: ?Sized + Send + Sync + 'static>(mut self, service: Arc<T>) -> Self {
        self.services.insert(service);
        self
    }

    /// Consents to rekey `namespace` when the store has it with another normaliser (R13).
    ///
    /// `build()` then normalises its confirmed keys anew, in one write, and refuses if two holders' keys would be one.
    /// Processes of the previous release are refused from then on, and the leases they have end.
    pub fn rekey(mut self, namespace: Namespace) -> Self {
        self.rekeyed.push(namespace);
        self
    }

    /// How long a reservation stays pending, unless its namespace says otherwise (R3). 30 s by default.
    pub const fn pending_for(mut self, duration: Duration) -> Self {
        self.settings.pending = duration;
        self
    }

    /// How often a command is decided at most when others write to its aggregate (R6). 12 by default.
    pub const fn attempts(mut self, attempts: u32) -> Self {
        self.settings.attempts = attempts;
        self
    }

    /// How long a command waits in all for keys that are pending for others (R21). 1 s by default; zero not to wait.
    pub const fn pending_wait(mut self, duration: Duration) -> Self {
        self.settings.pending_wait = duration;
        self
    }

    /// Whether to pause, with jitter, between attempts that conflict (R6). Off only where nothing else runs.
    pub const fn pause_between_attempts(mut self, pause: bool) -> Self {
        self.settings.pause_between_attempts = pause;
        self
    }

    /// How many aggregates' states are kept warm (C1). 10,000 by default; 0 for none.
    pub const fn warm_states(mut self, states: usize) -> Self {
        self.settings.warm_states = states;
        self
    }

    /// The clock that the domain reads and waits on. The system's by default.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Where fresh ids come from. Random and time-ordered by default.
    pub fn ids(mut self, ids: Arc<dyn IdSource>) -> Self {
        self.ids = ids;
        self
    }

    /// Watches decisions, as a test kit does.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Discovers, validates, and registers the namespaces with the store.
    ///
    /// # Errors
    ///
    /// [`BuildError`] with every problem at once: no store, two things under one name, a handler whose service nobody
    /// provides, a namespace that the store has with another tenancy or normaliser, a store that can't be used.
    pub async fn build(self) -> Result<Domain, BuildError> {
        let mut registry = Registry::default();
        self.aggregates.iter().for_each(|aggregate| registry.add_aggregate(*aggregate, Found::ByHand));
        self.namespaces.iter().for_each(|namespace| registry.add_namespace(*namespace, None, Found::ByHand));
        if self.discovery {
            registry.discover();
        }
        registry.finish(|need| self.allows_missing_services || self.services.has(need));
        let Registry { mut report, mut problems } = registry;
        report.services = self.services.names();
        if self.store.is_none() {
            problems
                .push("no store: give one with `.store(..)`, such as `SqliteStore::open(\"app.db\").await?`".into());
        }
        self.check_settings(&report, &mut problems);
        let (Some(store), true) = (self.store.clone(), problems.is_empty()) else {
            return Err(BuildError::misconfigured(problems));
        };
        let namespaces = self.register(&store, &report).await?;
        let warm = (self.settings.warm_states > 0).then(|| quick_cache::sync::Cache::new(self.settings.warm_states));
        let inner = Inner {
            store,
            clock: self.clock,
            ids: self.ids,
            observer: self.observer,
            services: self.services,
            settings: self.settings,
            lanes: Lanes::new(),
            warm,
            namespaces,
            aggregates: report.aggregates.iter().map(|(aggregate, _)| (aggregate.rust_type(), *aggregate)).collect(),
            report,
        };
        Ok(Domain { inner: Arc::new(inner) })
    }

    fn check_settings(&self, report: &Report, problems: &mut Vec<String>) {
        let own = report.namespaces.iter().filter_map(|(namespace, ..)| Some((namespace.name(), namespace.pending()?)));
        for (whose, pending) in own.chain([("the domain", self.settings.pending)]) {
            if !(PENDING_MIN..=PENDING_MAX).contains(&pending) {
                problems.push(format!(
                    "`.pending_for({pending:?})` of {whose}: a pending reservation lasts from 1 ms to 24 h; some seconds \
                     are enough for a decision"
                ));
            }
        }
        for name in self.services.doubled() {
            problems.push(format!("two services are provided as `{name}`; keep one"));
        }
        if self.settings.attempts == 0 {
            problems.push("`.attempts(0)`: a command is decided at least once".into());
        }
        for namespace in &self.rekeyed {
            if !report.namespaces.iter().any(|(known, ..)| known == namespace) {
                problems.push(format!("`.rekey({namespace})`: that namespace is not registered"));
            }
        }
    }

    /// Registers every namespace for every context, rekeying where that was asked for (R13).
    async fn register(
        &self,
        store: &Arc<dyn Store>,
        report: &Report,
    ) -> Result<HashMap<&'static str, RegisteredNamespace>, BuildError> {
        let contexts: BTreeSet<&'static str> =
            report.aggregates.iter().map(|(aggregate, _)| aggregate.context).collect();
        let wanted: Vec<(Namespace, &'static str)> = report
            .namespaces
            .iter()
            .flat_map(|(namespace, ..)| contexts.iter().map(|context| (*namespace, *context)))
            .collect();
        let records: Vec<NamespaceRecord> =
            wanted.iter().map(|(namespace, context)| record(namespace, Text::from_static(context))).collect();
        let mut answers = store.register(records.clone()).await?;
        let differing =
            wanted.iter().zip(&records).zip(&answers).filter_map(|((wanted, record), answer)| match answer {
                Registered::Differs { recorded } => Some(Differing { namespace: wanted.0, wanted: record, recorded }),
                Registered::AsGiven { .. } => None,
            });
        let differing: Vec<_> = differing.collect();
        if !differing.is_empty() {
            self.rekey_all(store, &differing).await?;
            answers = store.register(records.clone()).await?;
        }
        collect_epochs(&wanted, &records, &answers)
    }

    /// Rekeys what differs, all in one write or nothing (R13).
    async fn rekey_all(&self, store: &Arc<dyn Store>, differing: &[Differing<'_>]) -> Result<(), BuildError> {
        let refused = differing
            .iter()
            .filter(|one| !self.rekeyed.contains(&one.namespace) || one.wanted.tenancy != one.recorded.tenancy);
        let problems: Vec<String> = refused.map(|one| differs(one.wanted, one.recorded)).collect();
        if !problems.is_empty() {
            return Err(BuildError::misconfigured(problems));
        }
        let namespaces = differing.iter().map(|one| RekeyNamespace {
            namespace: one.wanted.clone(),
            normalizer: one.namespace.normalizer(),
            command: Text::from(format!("$rekey {} to {}", one.recorded.normalizer, one.wanted.normalizer)),
        });
        let ids = Arc::clone(&self.ids);
        let tokens = Arc::new(move || Token::from_u128(ids.next()));
        match store.rekey(Rekey { namespaces: namespaces.collect(), tokens }).await? {
            RekeyReply::Done { moved } => {
                tracing::info!(moved, namespaces = differing.len(), "namespaces rekeyed");
                Ok(())
            }
            RekeyReply::Collides(collisions) => Err(BuildError::misconfigured(vec![collides(&collisions)])),
        }
    }
}

/// A namespace that the store has with another definition.
struct Differing<'d> {
    namespace: Namespace,
    wanted: &'d NamespaceRecord,
    recorded: &'d NamespaceRecord,
}

/// A namespace as it is recorded for `context`.
pub(super) fn record(namespace: &Namespace, context: Text) -> NamespaceRecord {
    NamespaceRecord {
        context,
        name: Text::from_static(namespace.name()),
        tenancy: namespace.tenancy(),
        normalizer: Text::from(namespace.normalizer().to_string()),
    }
}

fn differs(wanted: &NamespaceRecord, recorded: &NamespaceRecord) -> String {
    let (name, context) = (wanted.name.as_str(), wanted.context.as_str());
    if wanted.tenancy != recorded.tenancy {
        return format!(
            "namespace {name:?} is unique per {} in the store (context {context:?}), and per {} in this code; a tenancy \
             can't be changed: give the new rule a new namespace and move the keys by commands",
            recorded.tenancy, wanted.tenancy
        );
    }
    format!(
        "namespace {name:?} is normalised by {} in the store (context {context:?}), and by {} in this code; deploy with \
         `.rekey(..)` on the builder to normalise its keys anew",
        recorded.normalizer, wanted.normalizer
    )
}

fn collides(collisions: &[RekeyCollision]) -> String {
    let count = collisions.len();
    let mut problem =
        format!("the namespaces can't be rekeyed: nothing was changed, because {count} key(s) stand in the way");
    for RekeyCollision { namespace, holder, other } in collisions.iter().take(20) {
        let what = match other {
            Some(other) => format!("{holder} and {other} would share a key of namespace {namespace:?}"),
            None => format!("{holder} has a key of namespace {namespace:?} that would be none"),
        };
        problem.push_str("\n      ");
        problem.push_str(&what);
    }
    problem
}

fn collect_epochs(
    wanted: &[(Namespace, &'static str)],
    records: &[NamespaceRecord],
    answers: &[Registered],
) -> Result<HashMap<&'static str, RegisteredNamespace>, BuildError> {
    let mut problems = Vec::new();
    let mut epochs: HashMap<&'static str, (Namespace, HashMap<Text, u64>)> = HashMap::new();
    for (((namespace, _), record), answer) in wanted.iter().zip(records).zip(answers) {
        match answer {
            Registered::AsGiven { epoch } => {
                let (_, epochs) = epochs.entry(namespace.name()).or_insert_with(|| (*namespace, HashMap::new()));
                epochs.insert(record.context.clone(), *epoch);
            }
            // Another process rekeyed it in between.
            Registered::Differs { recorded } => problems.push(differs(record, recorded)),
        }
    }
    if !problems.is_empty() {
        return Err(BuildError::misconfigured(problems));
    }
    let registered = |(name, (namespace, epochs))| (name, RegisteredNamespace { namespace, epochs: Arc::new(epochs) });
    Ok(epochs.into_iter().map(registered).collect())
}

impl fmt::Debug for DomainBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DomainBuilder")
            .field("store", &self.store)
            .field("discovery", &self.discovery)
            .field("aggregates", &self.aggregates)
            .field("namespaces", &self.namespaces)
            .finish_non_exhaustive()
    }
}
