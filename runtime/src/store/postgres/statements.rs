//! Every statement of the store, with its schema's name and the types of its parameters. What they do is in `schema/`.

use super::rows::{COMMIT, STREAM};
use super::session::Statement;
use tokio_postgres::types::Type;

/// Name the types of parameters shortly.
mod types {
    use super::Type;

    pub(super) const MS: Type = Type::INT4;
    pub(super) const TEXT: Type = Type::TEXT;
    pub(super) const TEXTS: Type = Type::TEXT_ARRAY;
    pub(super) const INT: Type = Type::INT8;
    pub(super) const INTS: Type = Type::INT8_ARRAY;
    pub(super) const PLACES: Type = Type::INT4_ARRAY;
    pub(super) const SMALLS: Type = Type::INT2_ARRAY;
    pub(super) const UUID: Type = Type::UUID;
    pub(super) const UUIDS: Type = Type::UUID_ARRAY;
    pub(super) const BYTES: Type = Type::BYTEA_ARRAY;
    pub(super) const BOOL: Type = Type::BOOL;
    pub(super) const JSON: Type = Type::TEXT;
}
use types::{BOOL, BYTES, INT, INTS, JSON, MS, PLACES, SMALLS, TEXT, TEXTS, UUID, UUIDS};

/// The statements of one schema.
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) reserve: Statement,
    pub(super) give_up: Statement,
    pub(super) append: Statement,
    pub(super) settle: Statement,
    pub(super) check: Statement,
    pub(super) register: Statement,
    pub(super) load: Statement,
    pub(super) version: Statement,
    pub(super) first: Statement,
    pub(super) horizon: Statement,
    pub(super) settled: Statement,
    pub(super) commits: Statement,
    pub(super) reservation: Statement,
    pub(super) held_by: Statement,
    pub(super) save_snapshot: Statement,
    pub(super) pages: Statement,
    pub(super) sweep: Statement,
    pub(super) forget_late: Statement,
    pub(super) rekey: RekeyStatements,
}

/// The statements of a rekey, which is a transaction of several.
#[derive(Debug)]
pub(super) struct RekeyStatements {
    pub(super) begin: String,
    pub(super) lock: Statement,
    pub(super) recorded: Statement,
    pub(super) record: Statement,
    pub(super) drop_pending: Statement,
    pub(super) confirmed: Statement,
    pub(super) free: Statement,
    pub(super) commit: Statement,
    pub(super) take: Statement,
}

impl Statements {
    /// Those of `schema`, a name that [`quoted`] has quoted.
    pub(super) fn of(schema: &str) -> Self {
        let s = schema;
        let statement = |sql: String, types: &'static [Type]| Statement { sql, types };
        Self {
            reserve: call(s, "reserve_1", &[
                MS, INTS, TEXTS, TEXTS, INTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, UUIDS, INTS, INTS,
            ]),
            give_up: call(s, "give_up_1", &[MS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, UUIDS]),
            append: call(s, "append_1", &[
                MS, INTS, TEXTS, TEXTS, TEXTS, TEXTS, INTS, TEXTS, TEXTS, TEXTS, BYTES, UUIDS, INTS, TEXTS, TEXTS, TEXTS, //
                INTS, TEXTS, TEXTS, INTS, //
                PLACES, PLACES, PLACES, SMALLS, BOOL, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, UUIDS,
            ]),
            settle: call(s, "settle_1", &[
                MS, INT, TEXT, TEXT, TEXT, TEXT, INT, UUID, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, UUIDS,
            ]),
            check: call(s, "check_1", &[MS, INTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS]),
            register: call(s, "register_1", &[INTS, TEXTS, TEXTS, TEXTS, TEXTS]),
            load: call(s, "load_1", &[TEXT, TEXT, TEXT, TEXT, INT, INT]),
            version: statement(format!("select {s}.version_1($1, $2, $3, $4) as version"), &[TEXT, TEXT, TEXT, TEXT]),
            first: statement(
                format!("select {COMMIT}, {STREAM} from {s}.first_1($1, $2, $3, $4) c"),
                &[TEXT, TEXT, TEXT, TEXT],
            ),
            horizon: call(s, "horizon_1", &[]),
            settled: statement(format!("select {s}.settled_1($1, $2) as until"), &[INT, TEXT]),
            commits: statement(
                format!(
                    "select {COMMIT}, {STREAM} from {s}.commits c
                      where c.position > $1 and c.position <= $2 order by c.position limit $3"
                ),
                &[INT, INT, INT],
            ),
            reservation: statement(
                format!(
                    "select r.holder_aggregate, r.holder_tenant, r.holder_id, r.position, r.tokens, r.expires_at_ms, r.requests,
                            (select n.epoch from {s}.namespaces n where n.name = $2 and n.context = $4) as epoch, {s}.now_ms() as now
                       from (select) one left join {s}.reservations r
                         on r.key = $1 and r.namespace = $2 and r.scope = $3 and r.context = $4"
                ),
                &[TEXT, TEXT, TEXT, TEXT],
            ),
            held_by: statement(held_by(s), &[TEXT, TEXT, TEXT, TEXT]),
            save_snapshot: statement(
                format!(
                    "insert into {s}.snapshots as kept
                            (id, aggregate, context, tenant, state_version, version, is_created, is_deleted, state)
                     values ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::json)
                         on conflict (id, aggregate, context, tenant, state_version) do update
                        set version = excluded.version, is_created = excluded.is_created, is_deleted = excluded.is_deleted,
                            state = excluded.state
                      where excluded.version > kept.version"
                ),
                &[TEXT, TEXT, TEXT, TEXT, INT, INT, BOOL, BOOL, JSON],
            ),
            pages: statement(
                format!("select (pg_relation_size('{}') / current_setting('block_size')::bigint) as pages", relation(s, "reservations")),
                &[],
            ),
            sweep: statement(format!("select {s}.sweep_1($1, $2, $3) as swept"), &[INT, INT, INT]),
            forget_late: statement(format!("select {s}.forget_late_appends_1({s}.now_ms() - $1, $2) as forgotten"), &[INT, INT]),
            rekey: RekeyStatements::of(s),
        }
    }
}

impl RekeyStatements {
    fn of(s: &str) -> Self {
        let statement = |sql: String, types: &'static [Type]| Statement { sql, types };
        Self {
            begin: format!("begin isolation level read committed; select {s}.begin_durable_1(5000)"),
            lock: statement(
                format!(
                    "select pg_advisory_xact_lock(l.lock # '{}'::regclass::oid::bigint) from unnest($1) l(lock)",
                    relation(s, "namespaces")
                ),
                &[INTS],
            ),
            recorded: statement(
                format!("select tenancy, normalizer, epoch from {s}.namespaces where name = $1 and context = $2"),
                &[TEXT, TEXT],
            ),
            record: statement(
                format!(
                    "insert into {s}.namespaces (name, context, tenancy, normalizer, epoch) values ($1, $2, $3, $4, $5)
                         on conflict (name, context) do update
                        set normalizer = excluded.normalizer, epoch = excluded.epoch"
                ),
                &[TEXT, TEXT, TEXT, TEXT, INT],
            ),
            drop_pending: statement(
                format!(
                    "with pending as (select key, namespace, scope, context from {s}.reservations
                                       where namespace = $1 and context = $2 and position is null
                                       order by key, namespace, scope, context for update)
                     delete from {s}.reservations r using pending p
                      where r.key = p.key and r.namespace = p.namespace and r.scope = p.scope and r.context = p.context"
                ),
                &[TEXT, TEXT],
            ),
            confirmed: statement(
                format!(
                    "select key, scope, holder_aggregate, holder_tenant, holder_id from {s}.reservations
                      where namespace = $1 and context = $2 and position is not null order by key, scope"
                ),
                &[TEXT, TEXT],
            ),
            free: statement(
                format!(
                    "delete from {s}.reservations r using unnest($1, $2, $3, $4) k(key, namespace, scope, context)
                      where r.key = k.key and r.namespace = k.namespace and r.scope = k.scope and r.context = k.context"
                ),
                &[TEXTS, TEXTS, TEXTS, TEXTS],
            ),
            commit: statement(
                format!(
                    "insert into {s}.commits (position, context, aggregate, tenant, id, version, kind, command, request_id,
                            fingerprint, token, events, keys, at_ms)
                     select nextval('{}'), $1, $2, $3, $4, coalesce(max(c.version), 0) + 1, $5, $6, $7, $8, $9, '[]',
                            $10::text::json, {s}.now_ms()
                       from {s}.commits c where c.id = $4 and c.aggregate = $2 and c.context = $1 and c.tenant = $3
                         on conflict do nothing
                     returning position",
                    relation(s, "commits_position")
                ),
                &[TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, Type::BYTEA, UUID, JSON],
            ),
            take: statement(
                format!(
                    "insert into {s}.reservations
                            (key, namespace, scope, context, holder_aggregate, holder_tenant, holder_id, position)
                     select * from unnest($1, $2, $3, $4, $5, $6, $7, $8) k(key, namespace, scope, context, aggregate, tenant, id, position)
                      order by key, namespace, scope, context"
                ),
                &[TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, INTS],
            ),
        }
    }
}

/// A name as SQL writes it, whatever is in it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A table or sequence of the schema, inside a text literal.
fn relation(quoted_schema: &str, name: &str) -> String {
    format!("{quoted_schema}.{name}").replace('\'', "''")
}

/// A call of one of the functions, with all that it returns as columns.
fn call(schema: &str, function: &str, types: &'static [Type]) -> Statement {
    let parameters: Vec<String> = (1..=types.len()).map(|number| format!("${number}")).collect();
    Statement { sql: format!("select * from {schema}.{function}({})", parameters.join(", ")), types }
}

/// The confirmed keys among those that the holder's commits ever took: no scan of other holders' keys.
fn held_by(s: &str) -> String {
    format!(
        "select distinct r.key, r.namespace, r.scope
           from {s}.commits c cross join lateral json_to_recordset(c.keys) k(ns text, scope text, key text)
           join {s}.reservations r on r.key = k.key and r.namespace = k.ns and r.scope = k.scope and r.context = $3
          where c.id = $1 and c.aggregate = $2 and c.context = $3 and c.tenant = $4 and c.keys is not null
            and r.position is not null and r.holder_id = $1 and r.holder_aggregate = $2 and r.holder_tenant = $4
          order by r.key, r.namespace, r.scope"
    )
}
