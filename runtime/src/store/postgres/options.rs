//! `PostgresOptions`: how a store on PostgreSQL is set up, and its opening.

use super::address::Address;
use super::errors::Site;
use super::lane::Lane;
use super::ledger::Ledger;
use super::schema::{Opening, STEPS, Step};
use super::session::{Limits, Pools, Sessions};
use super::statements::{Statements, quoted};
use super::{Core, PostgresStore, workers};
use crate::limits::STORE_QUEUE_MAX;
use crate::store::{StoreError, StoreErrorKind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Notify;

/// How many connections look after decisions without append.
const CHECK_CONNECTIONS: usize = 1;
/// How many connections settle, record namespaces and keep things up.
const OTHER_CONNECTIONS: usize = 2;

/// How a store on PostgreSQL is set up. It has at most 9 connections by default. The defaults suit a service with one pool on one server.
///
/// ```no_run
/// use freehold::PostgresStore;
/// use std::time::Duration;
///
/// # async fn open() -> Result<(), freehold::StoreError> {
/// let options = PostgresStore::options().schema("shop").call_timeout(Duration::from_secs(5));
/// let store = options.open("postgres://shop@localhost/shop?sslmode=verify-full").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    schema: String,
    create: bool,
    append_connections: usize,
    reserve_connections: usize,
    read_connections: usize,
    group_max: usize,
    queue_max: usize,
    call_timeout: Duration,
    connect_timeout: Duration,
    is_prepared: bool,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            schema: "freehold".to_owned(),
            create: true,
            append_connections: 1,
            reserve_connections: 1,
            read_connections: 4,
            group_max: 128,
            queue_max: STORE_QUEUE_MAX,
            call_timeout: Duration::from_secs(15),
            connect_timeout: Duration::from_secs(5),
            is_prepared: true,
        }
    }
}

impl PostgresOptions {
    /// The schema with the store's tables; `freehold` by default.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Whether to make the schema and its tables when they are not there, which is the default.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// How many connections send appends, each a group at a time; 1 by default, which makes the largest groups. At least 1.
    #[must_use]
    pub fn append_connections(mut self, connections: usize) -> Self {
        self.append_connections = connections.max(1);
        self
    }

    /// How many connections send reserves and give-ups; 1 by default, at least 1.
    #[must_use]
    pub fn reserve_connections(mut self, connections: usize) -> Self {
        self.reserve_connections = connections.max(1);
        self
    }

    /// How many connections read; 4 by default, at least 1.
    #[must_use]
    pub fn read_connections(mut self, connections: usize) -> Self {
        self.read_connections = connections.max(1);
        self
    }

    /// How many calls leave together at most; 128 by default, at least 1.
    #[must_use]
    pub fn group_max(mut self, calls: usize) -> Self {
        self.group_max = calls.max(1);
        self
    }

    /// How many calls of one kind may wait before more are refused as overload (S6); 16,384 by default, at least 1.
    #[must_use]
    pub fn queue_max(mut self, calls: usize) -> Self {
        self.queue_max = calls.max(1);
        self
    }

    /// How long an answer of the server is waited for, and a free connection; 15 s by default. After that the connection is
    /// dropped, and what it was asked for is settled over another one (R9).
    #[must_use]
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// How long a new connection may take, unless the URL says so with `connect_timeout`; 5 s by default.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Whether statements are prepared once a connection; true by default. Behind PgBouncer in transaction mode, unless it
    /// is 1.21 or newer with `max_prepared_statements` set, this has to be false.
    #[must_use]
    pub fn prepared_statements(mut self, prepared: bool) -> Self {
        self.is_prepared = prepared;
        self
    }

    /// Opens the store at `url`: `postgres://user:password@host:port/database`, with the parameters of libpq that
    /// `tokio-postgres` knows, and `sslmode` and `sslrootcert` as libpq has them. Several hosts are tried in turn; with
    /// `target_session_attrs=read-write` the primary among them is found again after a failover.
    ///
    /// Makes the schema and its tables, or brings them to the newest version. Safe when several processes do it at once (S5).
    /// Calls are made by tasks of the tokio runtime in which this is called; it has to outlive the store.
    ///
    /// # Errors
    ///
    /// [`StoreError`]: an address that can't be read, a server that can't be reached or refuses, one that is too old, a
    /// schema that is another program's or too new, and rights that are missing, with what to grant.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: migrations are one transaction.
    pub async fn open(&self, url: &str) -> Result<PostgresStore, StoreError> {
        self.open_with(url, STEPS).await
    }

    pub(super) async fn open_with(&self, url: &str, steps: &[Step]) -> Result<PostgresStore, StoreError> {
        if self.schema.is_empty() || self.schema.len() > 63 || self.schema.contains('\0') {
            let message = "a schema's name has 1 to 63 bytes, and no U+0000";
            return Err(StoreError::not_done(StoreErrorKind::Unusable, message));
        }
        let runtime = Handle::try_current().map_err(|_| {
            StoreError::not_done(StoreErrorKind::Unusable, "a PostgreSQL store is opened, and used, in a tokio runtime")
        })?;
        let address = Address::parse(url)?;
        let site = Site::new(&address.place(), &self.schema);
        let limits = |connections| Limits {
            connections,
            connect_timeout: self.connect_timeout,
            call_timeout: self.call_timeout,
            is_prepared: self.is_prepared,
        };
        let lanes = Sessions::new(
            &address,
            site.clone(),
            limits(self.append_connections + self.reserve_connections + CHECK_CONNECTIONS),
        )?;
        let readers = Sessions::new(&address, site.clone(), limits(self.read_connections))?;
        let others = Sessions::new(&address, site.clone(), limits(OTHER_CONNECTIONS))?;
        let opening = Opening { sessions: &others, schema: &self.schema, create: self.create, steps };
        opening.run().await.map_err(|trouble| trouble.explained(&site))?;
        let statements = Arc::new(Statements::of(&quoted(&self.schema)));
        let core = Arc::new(Core {
            sessions: Pools { lanes, readers, others, statements },
            ledger: Ledger::default(),
            appends: Arc::new(Lane::new(self.queue_max, self.group_max)),
            leases: Arc::new(Lane::new(self.queue_max, self.group_max)),
            checks: Arc::new(Lane::new(self.queue_max, self.group_max)),
            is_closing: AtomicBool::new(false),
            runtime,
            horizon_timeout: self.call_timeout,
            closed: Notify::new(),
        });
        workers::start(&core, self.append_connections, self.reserve_connections);
        Ok(PostgresStore::of(core))
    }
}
