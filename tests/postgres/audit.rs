//! The auditor finds what it is there to find: in tables written by hand, each breach of a rule is named, and what is
//! right passes.

use freehold_tests::audit::{Told, audit};
use freehold_tests::postgres::Schema;

const TABLES: &str = r#"
    create schema SCHEMA;
    create table SCHEMA.commits(position bigint, context text, aggregate text, tenant text, id text, version bigint,
        kind text, request_id text, token text, events json, keys json);
    create table SCHEMA.reservations(key text, namespace text, scope text, context text, holder_aggregate text,
        holder_tenant text, holder_id text, position bigint, tokens text[], expires_at_ms bigint[], requests bigint[]);
    insert into SCHEMA.commits values
        (1, 'c', 'a', 't', 'one', 1, 'command', 'r1', 'k1', '[{}]', '[{"ns":"n","scope":"t","key":"x","taken":true}]'),
        (2, 'c', 'a', 't', 'one', 2, 'command', 'r2', 'k2', '[{}]', '[{"ns":"n","scope":"t","key":"x","taken":false},
                                                                     {"ns":"n","scope":"t","key":"y","taken":true}]'),
        (5, 'c', 'a', 't', 'two', 1, 'command', 'r3', 'k3', '[{}]', '[{"ns":"n","scope":"t","key":"x","taken":true}]'),
        (6, 'c', 'a', 't', 'two', 2, 'release', 'r4', 'k4', '[]', null);
    insert into SCHEMA.reservations values
        ('x', 'n', 't', 'c', 'a', 't', 'two', 5, null, null, null),
        ('y', 'n', 't', 'c', 'a', 't', 'one', 2, '{k9}', '{1}', '{7}'),
        ('z', 'n', 't', 'c', 'a', 't', 'two', null, '{k8}', '{1}', '{7}');
"#;

/// What is broken, and the words by which the auditor has to name it.
const BREACHES: [(&str, &str); 18] = [
    ("update SCHEMA.commits set version = 3 where request_id = 'r4'", "versions have no gaps"),
    ("update SCHEMA.commits set version = 1 where request_id = 'r4'", "versions have no gaps"),
    ("update SCHEMA.commits set request_id = 'r1' where request_id = 'r4'", "a request id has one commit"),
    ("update SCHEMA.commits set position = 5 where request_id = 'r4'", "a position has one commit"),
    ("update SCHEMA.commits set token = 'k1' where request_id = 'r4'", "an attempt has one commit"),
    ("update SCHEMA.commits set position = 4 where request_id = 'r4'", "positions increase along a stream"),
    ("update SCHEMA.commits set events = '[]' where request_id = 'r3'", "a command's commit has events"),
    (
        "insert into SCHEMA.reservations select key, namespace, scope, context, 'a', 't', 'one', 1, tokens
           from SCHEMA.reservations where key = 'x'",
        "a key has one record",
    ),
    ("update SCHEMA.commits set keys = null where request_id = 'r2'", "a key is taken when it is free"),
    ("update SCHEMA.commits set keys = null where request_id = 'r1'", "a key is taken when it is free"),
    ("update SCHEMA.commits set id = 'six' where request_id = 'r1'", "a key is taken when it is free"),
    ("update SCHEMA.reservations set holder_id = 'one' where key = 'x'", "a held key was taken by its holder"),
    ("update SCHEMA.reservations set position = 1 where key = 'x'", "a held key was taken by its holder"),
    ("update SCHEMA.reservations set position = 6 where key = 'z'", "a held key was taken by its holder"),
    ("delete from SCHEMA.reservations where key = 'x'", "a key that was taken last is held"),
    ("update SCHEMA.reservations set tokens = '{}' where key = 'z'", "a pending record has an expiry"),
    ("delete from SCHEMA.commits where request_id = 'r4'", "what a client was told is committed"),
    ("update SCHEMA.commits set request_id = 'r5' where request_id = 'r4'", "a request that was answered without"),
];

#[test]
#[ignore = "needs PostgreSQL: tests/run starts one"]
fn the_auditor_names_every_breach() {
    let told = [
        Told::Committed { id: "two".into(), version: 2, request: "r4".into() },
        Told::Committed { id: "two".into(), version: 2, request: "r4".into() },
        Told::Denied { request: "r5".into() },
    ];
    for (breach, rule) in [("", "")].into_iter().chain(BREACHES) {
        let schema = Schema::shared();
        let sql = schema.sql();
        let run = |statement: &str| sql.run(&statement.replace("SCHEMA", schema.name()));
        run(TABLES);
        run(breach);
        let breaches = audit(&sql, schema.name(), &told);
        assert_eq!(breaches.iter().any(|named| named.starts_with(rule)), !rule.is_empty(), "{breach}: {breaches:#?}");
    }
}
