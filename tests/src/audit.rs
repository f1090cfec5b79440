//! The auditor: reads PostgreSQL's tables alone, in SQL, and says what in them breaks a rule. It shares no code with the
//! store, so that a mistake there is not repeated here.

use crate::postgres::Sql;

/// What one client was told.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Told {
    /// That a commit stands.
    Committed {
        /// The aggregate's id.
        id: String,
        /// The version it wrote.
        version: u64,
        /// The request's id.
        request: String,
    },
    /// That a request has no commit, and won't have one.
    Denied {
        /// The request's id.
        request: String,
    },
}

impl Told {
    /// Reads a line of a process: `committed ID VERSION REQUEST`, or `denied REQUEST CODE`.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["committed", id, version, request] => {
                let version = version.parse().ok()?;
                Some(Self::Committed { id: id.to_owned(), version, request: request.to_owned() })
            }
            ["denied", request, _code] => Some(Self::Denied { request: request.to_owned() }),
            _ => None,
        }
    }
}

/// What every commit and every key of it says, and the newest word on each key.
const VIEWS: &str = "
    create temp view changes as
        select c.position, c.context, row(c.context, c.aggregate, c.tenant, c.id)::text as stream,
               k.ns, k.scope, k.key, k.taken
          from SCHEMA.commits c,
               json_to_recordset(coalesce(c.keys, '[]')) as k(ns text, scope text, key text, taken boolean);
    create temp view newest as
        select distinct on (context, ns, scope, key) * from changes order by context, ns, scope, key, position desc;
    create temp view held as
        select r.position, r.context, row(r.context, r.holder_aggregate, r.holder_tenant, r.holder_id)::text as stream,
               r.namespace as ns, r.scope, r.key
          from SCHEMA.reservations r where r.position is not null;
";

/// A rule, and a query for what breaks it: one row each, of columns to show.
const CHECKS: [(&str, &str); 13] = [
    (
        "versions have no gaps (C1)",
        "select context, aggregate, tenant, id from SCHEMA.commits group by 1, 2, 3, 4
         having min(version) <> 1 or max(version) <> count(*) or count(distinct version) <> count(*)",
    ),
    (
        "a request id has one commit (C4)",
        "select context, aggregate, tenant, request_id from SCHEMA.commits group by 1, 2, 3, 4 having count(*) <> 1",
    ),
    ("a position has one commit", "select position from SCHEMA.commits group by 1 having count(*) <> 1"),
    ("an attempt has one commit (R9)", "select token from SCHEMA.commits group by 1 having count(*) <> 1"),
    (
        "positions increase along a stream",
        "select id, version from (
             select *, lag(position) over (partition by context, aggregate, tenant, id order by version) as before
               from SCHEMA.commits) c
          where position <= before",
    ),
    (
        "a command's commit has events",
        "select position from SCHEMA.commits where kind = 'command' and json_array_length(events) = 0",
    ),
    (
        "a key has one record (R1)",
        "select context, namespace, scope, key from SCHEMA.reservations group by 1, 2, 3, 4 having count(*) <> 1",
    ),
    (
        "a key is taken when it is free, and freed by its holder (R8, R10)",
        "select position, ns, scope, key, stream from (
             select *, lag(taken) over one_key as was_taken, lag(stream) over one_key as before
               from changes window one_key as (partition by context, ns, scope, key order by position)) c
          where case when taken then was_taken and before <> stream
                     else was_taken is distinct from true or before <> stream end",
    ),
    (
        "a held key was taken by its holder, last of all, in the commit that its record names (R4, R20)",
        "select h.ns, h.scope, h.key, h.stream, n.stream, n.position
           from held h left join newest n using (context, ns, scope, key)
          where n.taken is distinct from true or n.stream <> h.stream or n.position <> h.position",
    ),
    (
        "a key that was taken last is held (R4)",
        "select n.ns, n.scope, n.key, n.stream
           from newest n left join held h using (context, ns, scope, key) where n.taken and h.key is null",
    ),
    (
        "a pending record has an expiry and a request for each of its tokens (R3)",
        "select key from SCHEMA.reservations
          where position is null
            and (coalesce(cardinality(tokens), 0) = 0
                 or cardinality(expires_at_ms) is distinct from cardinality(tokens)
                 or cardinality(requests) is distinct from cardinality(tokens))",
    ),
    (
        "what a client was told is committed is there once (S4)",
        "select t.id, t.version, t.request_id from told t left join SCHEMA.commits c using (id, version, request_id)
          group by t.id, t.version, t.request_id, t.number having count(c.position) <> 1",
    ),
    (
        "a request that was answered without a commit has none (C4)",
        "select d.request_id from denied d join SCHEMA.commits c using (request_id)",
    ),
];

/// Every breach that the tables of `schema` show, by what clients were told of them.
///
/// # Panics
///
/// When the tables can't be read.
#[must_use]
pub fn audit(sql: &Sql, schema: &str, told: &[Told]) -> Vec<String> {
    let in_schema = |statement: &str| statement.replace("SCHEMA", schema);
    sql.run("begin isolation level repeatable read");
    sql.run(
        "create temp table told(number bigint, id text, version bigint, request_id text) on commit drop;
         create temp table denied(request_id text) on commit drop",
    );
    record(sql, told);
    sql.run(&in_schema(VIEWS));
    let breaches = CHECKS.iter().flat_map(|(rule, query)| {
        let rows = sql.rows(&in_schema(query));
        rows.into_iter().map(move |row| format!("{rule}: {}", row.join(" | ")))
    });
    let breaches = breaches.collect();
    // The views go with it.
    sql.run("rollback");
    breaches
}

fn record(sql: &Sql, told: &[Told]) {
    for (number, chunk) in told.chunks(1_000).enumerate() {
        let (mut committed, mut denied) = (Vec::new(), Vec::new());
        for (place, told) in chunk.iter().enumerate() {
            match told {
                Told::Committed { id, version, request } => {
                    committed.push(format!("({}, '{id}', {version}, '{request}')", number * 1_000 + place));
                }
                Told::Denied { request } => denied.push(format!("('{request}')")),
            }
        }
        for (table, rows) in [("told", committed), ("denied", denied)] {
            if !rows.is_empty() {
                sql.run(&format!("insert into {table} values {}", rows.join(", ")));
            }
        }
    }
}
