//! The schema's versions, and how a database gets to the newest one (S5). What the tables mean is in `schema/tables.sql`.

use super::errors::{Site, Trouble};
use super::rows::column;
use super::session::{Sessions, Statement, discard};
use super::statements::quoted;
use crate::store::{StoreError, StoreErrorKind};
use deadpool_postgres::Object;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};

/// The oldest server whose functions are enough: transaction ids of 64 bits, and snapshots of them.
const SERVER_VERSION_MIN: i32 = 130_000;

/// One change of the schema: expand first, contract a release later.
pub(super) struct Step {
    /// The schema's version after it.
    pub(super) version: i64,
    /// The lowest version of the code that can still use the tables after it.
    pub(super) lowest_reader: i64,
    /// What it changes.
    pub(super) sql: &'static str,
}

/// All steps, in order. A released one never changes. Functions have the version in their names in which they came, so
/// that processes of two releases call their own.
pub(super) const STEPS: &[Step] = &[Step {
    version: 1,
    lowest_reader: 1,
    sql: concat!(
        include_str!("schema/tables.sql"),
        include_str!("schema/leases.sql"),
        include_str!("schema/append.sql"),
        include_str!("schema/settle.sql"),
        include_str!("schema/read.sql"),
    ),
}];

/// What a user of the store has to be allowed, table by table.
const RIGHTS: &str = "select t.name || ' (' || string_agg(lower(p.privilege), ', ') || ')'
      from unnest(array['commits','reservations','namespaces','snapshots','tombstones','marks']) t(name)
     cross join unnest(array['SELECT','INSERT','UPDATE','DELETE']) p(privilege)
     where not has_table_privilege(format('%I.%I', $1, t.name), p.privilege)
     group by t.name
     union all
    select 'commits_position (usage)' where not has_sequence_privilege(format('%I.commits_position', $1), 'USAGE')
        or not has_sequence_privilege(format('%I.commits_position', $1), 'SELECT')
     union all
    select 'functions (execute)'
     where exists (select from pg_proc f join pg_namespace n on n.oid = f.pronamespace
                    where n.nspname = $1 and not has_function_privilege(f.oid, 'EXECUTE'))";

/// A schema on a server, as it is opened.
pub(super) struct Opening<'o> {
    pub(super) sessions: &'o Sessions,
    pub(super) schema: &'o str,
    pub(super) create: bool,
    pub(super) steps: &'o [Step],
}

/// What the server says of itself and of the schema.
struct Found {
    user: String,
    is_standby: bool,
    schema: State,
}

/// What there is under the schema's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Missing,
    Empty,
    /// Tables, and none with the version of a Freehold store.
    Anothers,
    Freehold,
}

impl Opening<'_> {
    /// Brings the schema to the newest version, and makes sure that it can be used. Safe when many processes do it at once.
    /// A schema that is there already is only read.
    pub(super) async fn run(&self) -> Result<(), Trouble> {
        let connection = self.sessions.connection().await?;
        let opened = self.open(&connection).await;
        if opened.is_err() {
            discard(connection);
        }
        opened
    }

    async fn open(&self, connection: &Object) -> Result<(), Trouble> {
        let found = self.look(connection).await?;
        let version = match found.schema {
            State::Freehold => {
                let recorded = self.recorded(connection).await;
                recorded.map_err(|trouble| self.missing_rights(&found, trouble))?
            }
            _ => None,
        };
        if found.schema == State::Anothers {
            return Err(incompatible(format!(
                "{}: the schema has tables of another program; give Freehold a schema of its own with `PostgresOptions::schema`",
                self.site()
            )));
        }
        if version.is_none() && !self.create {
            let message = format!(
                "{}: there is no store; check the URL and the schema's name. A store that is missing is created, unless \
                 `PostgresOptions::create` is false, as here",
                self.site()
            );
            return Err(Trouble::store(StoreErrorKind::Unusable, message));
        }
        if version.is_none_or(|version| self.steps.iter().any(|step| step.version > version)) {
            if found.is_standby {
                let message =
                    format!("{}: this server is a standby, where no table can be made; name the primary", self.site());
                return Err(Trouble::store(StoreErrorKind::Unavailable, message));
            }
            let migrated = self.migrate(connection, &found).await;
            migrated.map_err(|trouble| self.may_not_migrate(&found, trouble))?;
        }
        self.check_rights(connection, &found).await?;
        self.check_sequence(connection).await
    }

    fn site(&self) -> &Site {
        &self.sessions.site
    }

    async fn ask(
        &self,
        on: &Object,
        sql: &str,
        types: &'static [Type],
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Trouble> {
        self.sessions.call_on(on, &Statement { sql: sql.to_owned(), types }, params).await
    }

    /// Whether it is a server, and a database, that the store can live in.
    async fn look(&self, connection: &Object) -> Result<Found, Trouble> {
        let sql = "select current_setting('server_version_num')::int as version, current_setting('server_version') as named,
                current_setting('server_encoding') as encoding, current_user::text as user, pg_is_in_recovery() as is_standby,
                current_setting('transaction_isolation') as isolation,
                n.oid is not null as has_schema,
                coalesce(bool_or(c.relname = 'freehold_schema'), false) as has_version,
                coalesce(bool_or(c.relkind in ('r', 'p')), false) as has_tables
           from (select) one left join pg_namespace n on n.nspname = $1
           left join pg_class c on c.relnamespace = n.oid
          group by n.oid";
        let rows = self.ask(connection, sql, &[Type::TEXT], &[&self.schema]).await?;
        let what = || "what the server says of itself".to_owned();
        let row = rows.first().ok_or_else(|| Trouble::Damaged { row: what(), column: "version" })?;
        let (version, named): (i32, &str) = (column(row, "version", &what)?, column(row, "named", &what)?);
        if version < SERVER_VERSION_MIN {
            return Err(incompatible(format!(
                "{}: the server is PostgreSQL {named}; Freehold needs 13 or newer",
                self.site()
            )));
        }
        let encoding: &str = column(row, "encoding", &what)?;
        if encoding != "UTF8" {
            return Err(incompatible(format!(
                "{}: the database's encoding is {encoding}, which can't store every text; create one with encoding UTF8",
                self.site()
            )));
        }
        let isolation: &str = column(row, "isolation", &what)?;
        if isolation != "read committed" {
            let message = format!(
                "{}: the isolation level is `{isolation}`, and the store needs `read committed`; set \
                 default_transaction_isolation back for this user and database",
                self.site()
            );
            return Err(Trouble::store(StoreErrorKind::Unusable, message));
        }
        let flag = |name| column::<bool>(row, name, &what);
        Ok(Found {
            user: column(row, "user", &what)?,
            is_standby: column(row, "is_standby", &what)?,
            schema: match (flag("has_schema")?, flag("has_version")?, flag("has_tables")?) {
                (false, ..) => State::Missing,
                (true, true, _) => State::Freehold,
                (true, false, true) => State::Anothers,
                (true, false, false) => State::Empty,
            },
        })
    }

    /// The version of the schema, when it has one; an error when it is too new for the steps.
    async fn recorded(&self, connection: &Object) -> Result<Option<i64>, Trouble> {
        let sql = format!("select version, lowest_reader from {}.freehold_schema", quoted(self.schema));
        let rows = self.ask(connection, &sql, &[], &[]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let what = || "the schema's version".to_owned();
        let (version, lowest_reader): (i64, i64) =
            (column(row, "version", &what)?, column(row, "lowest_reader", &what)?);
        let known = self.steps.last().map_or(0, |step| step.version);
        if lowest_reader > known {
            return Err(incompatible(format!(
                "{} has version {version}, which needs a release that knows version {lowest_reader}; this one knows {known}. \
                 Deploy the newer release",
                self.site()
            )));
        }
        Ok(Some(version))
    }

    async fn migrate(&self, connection: &Object, found: &Found) -> Result<(), Trouble> {
        let schema = quoted(self.schema);
        let lock = format!(
            "begin isolation level read committed; select pg_advisory_xact_lock(hashtextextended('freehold schema ' || {}, 1))",
            literal(self.schema)
        );
        self.sessions.run_on(connection, &lock).await?;
        if found.schema == State::Missing {
            // Another process may have made it while this one waited for the lock.
            self.sessions.run_on(connection, &format!("create schema if not exists {schema}")).await?;
        }
        let table = format!(
            "set local search_path to {schema}, pg_temp;
             create table if not exists freehold_schema (
                 only_row      integer not null primary key check (only_row = 1),
                 version       bigint not null,        -- of the tables
                 lowest_reader bigint not null,        -- the lowest version of the code that may use them
                 opened_at     timestamptz not null    -- when they were first opened with this version
             )"
        );
        self.sessions.run_on(connection, &table).await?;
        let version = self.recorded(connection).await?.unwrap_or(0);
        for step in self.steps.iter().filter(|step| step.version > version) {
            self.sessions.run_on(connection, step.sql).await?;
            let record = format!(
                "insert into freehold_schema values (1, {}, {}, now()) on conflict (only_row) do update
                    set version = excluded.version, lowest_reader = excluded.lowest_reader, opened_at = excluded.opened_at",
                step.version, step.lowest_reader
            );
            self.sessions.run_on(connection, &record).await?;
        }
        self.sessions.run_on(connection, "commit").await
    }

    async fn check_rights(&self, connection: &Object, found: &Found) -> Result<(), Trouble> {
        let asked = self.ask(connection, RIGHTS, &[Type::TEXT], &[&self.schema]).await;
        let rows = asked.map_err(|trouble| self.missing_rights(found, trouble))?;
        let missing: Vec<String> = rows.iter().filter_map(|row| row.try_get(0).ok()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(self.to_grant(found, &format!("lacks rights on {}", missing.join(", "))))
    }

    /// A sequence that was not copied with the tables, as to a logical replica, would draw positions that are taken.
    async fn check_sequence(&self, connection: &Object) -> Result<(), Trouble> {
        let schema = quoted(self.schema);
        let sql = format!(
            "select coalesce((select max(position) from {schema}.commits), 0)
                  > (select case when is_called then last_value else 0 end from {schema}.commits_position) as is_behind"
        );
        let rows = self.ask(connection, &sql, &[], &[]).await?;
        let what = || "the sequence of positions".to_owned();
        if !rows.first().map_or(Ok(false), |row| column(row, "is_behind", &what))? {
            return Ok(());
        }
        let message = format!(
            "{}: the sequence commits_position is behind the log, as after a switch to a logical replica; run \
             `select setval('{schema}.commits_position', (select max(position) from {schema}.commits))` as its owner",
            self.site()
        );
        Err(Trouble::store(StoreErrorKind::Corrupt, message))
    }

    /// Says what to grant, when that is the trouble.
    fn missing_rights(&self, found: &Found, trouble: Trouble) -> Trouble {
        if is_of_rights(&trouble) { self.to_grant(found, "lacks rights") } else { trouble }
    }

    /// Says who can make the tables, or change them, when that is the trouble.
    fn may_not_migrate(&self, found: &Found, trouble: Trouble) -> Trouble {
        if !is_of_rights(&trouble) {
            return trouble;
        }
        if found.schema == State::Freehold {
            let message = format!(
                "{}: the tables are older than this release, and user {} may not change them; open the store once as \
                 their owner",
                self.site(),
                quoted(&found.user)
            );
            return Trouble::store(StoreErrorKind::Unusable, message);
        }
        let (schema, user) = (quoted(self.schema), quoted(&found.user));
        let message = format!(
            "{}: user {user} may not create the tables; have its owner run `{}`, and open the store again",
            self.site(),
            if found.schema == State::Missing {
                format!("create schema {schema} authorization {user}")
            } else {
                format!("grant usage, create on schema {schema} to {user}")
            }
        );
        Trouble::store(StoreErrorKind::Unusable, message)
    }

    fn to_grant(&self, found: &Found, problem: &str) -> Trouble {
        let (schema, user) = (quoted(self.schema), quoted(&found.user));
        let message = format!(
            "{}: user {user} {problem}; have the owner run `grant usage on schema {schema} to {user}; grant select, insert, \
             update, delete on all tables in schema {schema} to {user}; grant usage, select on all sequences in schema \
             {schema} to {user}; grant execute on all functions in schema {schema} to {user}`",
            self.site()
        );
        Trouble::store(StoreErrorKind::Unusable, message)
    }
}

fn is_of_rights(trouble: &Trouble) -> bool {
    matches!(trouble, Trouble::Refused(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE))
}

fn incompatible(message: String) -> Trouble {
    Trouble::Store(StoreError::not_done(StoreErrorKind::Incompatible, message))
}

/// A text as SQL writes it.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
