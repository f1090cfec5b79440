//! Connections and calls on them: pools, preparing, time limits. What is called is in the files of the calls.

use super::address::Address;
use super::errors::{Cause, Site, Trouble};
use super::tls;
use crate::store::{StoreError, StoreErrorKind};
use bytes::BytesMut;
use deadpool_postgres::{
    Connect, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, TimeoutType,
};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Config, Error, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What every call is made with.
#[derive(Clone)]
pub(super) struct Sessions {
    pool: Pool,
    pub(super) site: Site,
    call_timeout: Duration,
    is_prepared: bool,
}

/// How calls are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) connections: usize,
    pub(super) connect_timeout: Duration,
    pub(super) call_timeout: Duration,
    pub(super) is_prepared: bool,
}

/// A statement of the store's, with the types of its parameters: the server is asked for none of them.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) sql: String,
    pub(super) types: &'static [Type],
}

impl Sessions {
    /// Nothing is connected yet.
    pub(super) fn new(address: &Address, site: Site, limits: Limits) -> Result<Self, StoreError> {
        let mut hosts = address.each_host();
        let mut connect_timeout = limits.connect_timeout;
        for host in &mut hosts {
            connect_timeout = host.get_connect_timeout().copied().unwrap_or(limits.connect_timeout);
            host.connect_timeout(connect_timeout);
            // A peer that is gone without a word is noticed, also while nothing is asked of it.
            host.keepalives_idle(Duration::from_secs(30))
                .keepalives_interval(Duration::from_secs(5))
                .keepalives_retries(3);
            if host.get_tcp_user_timeout().is_none() {
                host.tcp_user_timeout(limits.call_timeout);
            }
        }
        let all = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
        let connect = EachHost { hosts, tls: tls::connector(address)?, timeout: connect_timeout };
        // No question to the server on every use: a connection that is gone shows by the call itself.
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_connect(address.config.clone(), connect, recycling);
        let pool = Pool::builder(manager)
            .max_size(limits.connections)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(limits.call_timeout))
            .create_timeout(Some(connect_timeout.saturating_mul(all) + Duration::from_secs(1)))
            .build();
        let pool = pool.map_err(|error| {
            StoreError::not_done(StoreErrorKind::Unusable, format!("the store's connections can't be set up: {error}"))
        })?;
        Ok(Self { pool, site, call_timeout: limits.call_timeout, is_prepared: limits.is_prepared })
    }

    /// A connection of the pool's. It goes back by itself, unless [`discard`] takes it.
    pub(super) async fn connection(&self) -> Result<Object, Trouble> {
        // One that was closed while it waited is replaced by the pool; the loop is for one that closes just now.
        for _ in 0..3 {
            let connection = self.pool.get().await.map_err(|error| match error {
                PoolError::Backend(error) => Trouble::NotSent(Cause::Driver(error)),
                PoolError::Timeout(TimeoutType::Wait) => Trouble::NotSent(Cause::PoolExhausted),
                PoolError::Timeout(_) => Trouble::NotSent(Cause::TimedOut),
                PoolError::Closed => {
                    Trouble::store(StoreErrorKind::Closed, "the store was closed; open it again".to_owned())
                }
                _ => Trouble::NotSent(Cause::Closed),
            })?;
            if !connection.is_closed() {
                return Ok(connection);
            }
        }
        Err(Trouble::NotSent(Cause::Closed))
    }

    /// Calls `statement` on a connection of the pool's: one round trip, but for the first call on a connection.
    pub(super) async fn call(
        &self,
        statement: &Statement,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Trouble> {
        let connection = self.connection().await?;
        let done = self.call_on(&connection, statement, params).await;
        if done.as_ref().is_err_and(Trouble::spoils_connection) {
            discard(connection);
        }
        done
    }

    /// The same on a connection at hand, as within a transaction.
    pub(super) async fn call_on(
        &self,
        connection: &Object,
        statement: &Statement,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Trouble> {
        let Statement { sql, types } = statement;
        let call = async {
            if !self.is_prepared {
                let typed: Vec<_> = params.iter().copied().zip(types.iter().cloned()).collect();
                return connection.query_typed(sql, &typed).await.map_err(Trouble::of_call);
            }
            let prepared =
                connection.prepare_typed_cached(sql, types).await.map_err(|error| match Trouble::of_call(error) {
                    // It has no effect of its own.
                    Trouble::Lost(cause) => Trouble::NotSent(cause),
                    trouble => trouble,
                })?;
            connection.query(&prepared, params).await.map_err(Trouble::of_call)
        };
        match tokio::time::timeout(self.call_timeout, call).await {
            Ok(done) => done,
            Err(_) => Err(Trouble::Lost(Cause::TimedOut)),
        }
    }

    /// Runs statements that take no parameters, as a transaction's begin and end.
    pub(super) async fn run_on(&self, connection: &Object, sql: &str) -> Result<(), Trouble> {
        match tokio::time::timeout(self.call_timeout, connection.batch_execute(sql)).await {
            Ok(done) => done.map_err(Trouble::of_call),
            Err(_) => Err(Trouble::Lost(Cause::TimedOut)),
        }
    }

    /// The connections are closed as they come back; calls under way end.
    pub(super) fn close(&self) {
        self.pool.close();
    }
}

/// Closes a connection that is of no more use, instead of giving it back.
pub(super) fn discard(connection: Object) {
    drop(Object::take(connection));
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("site", &self.site).finish_non_exhaustive()
    }
}

/// Connects to the first host that answers as it should: one that is silent, also after it took the connection, costs its
/// time limit and not the whole.
struct EachHost {
    hosts: Vec<Config>,
    tls: MakeRustlsConnect,
    timeout: Duration,
}

impl Connect for EachHost {
    fn connect(&self, _: &Config) -> BoxFuture<'_, Result<(tokio_postgres::Client, JoinHandle<()>), Error>> {
        Box::pin(async move {
            let mut trouble = None;
            for host in &self.hosts {
                match tokio::time::timeout(self.timeout, host.connect(self.tls.clone())).await {
                    Ok(Ok((client, connection))) => {
                        let task = tokio::spawn(async move {
                            // Whoever made the call that was lost with it has been told.
                            let _ended = connection.await;
                        });
                        return Ok((client, task));
                    }
                    Ok(Err(error)) => trouble = Some(error),
                    Err(_) => {}
                }
            }
            match trouble {
                Some(error) => Err(error),
                // The pool's own limit, which is as long as all of these, says so.
                None => std::future::pending().await,
            }
        })
    }
}

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A parameter that the driver's own log lines can't show: they print what a statement is run with, keys too (R19).
pub(super) struct Hidden<T>(pub(super) T);

impl<T> fmt::Debug for Hidden<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

impl<T: ToSql> ToSql for Hidden<T> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        self.0.to_sql(ty, out)
    }

    fn accepts(ty: &Type) -> bool {
        T::accepts(ty)
    }

    fn encode_format(&self, ty: &Type) -> Format {
        self.0.encode_format(ty)
    }

    to_sql_checked!();
}

/// The connections of a store, by what they are for: no kind of call keeps another one waiting.
#[derive(Clone, Debug)]
pub(super) struct Pools {
    /// For the workers of the lanes, one each.
    pub(super) lanes: Sessions,
    pub(super) readers: Sessions,
    /// For every write that does not go in a group.
    pub(super) others: Sessions,
    pub(super) statements: Arc<super::statements::Statements>,
}
