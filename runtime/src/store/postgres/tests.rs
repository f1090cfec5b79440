//! What only the inside of the store can show: schemas of other releases, what its SQL rests on, how it reaches its rows.
//! Everything else is in the conformance suite and in `tests/postgres`.

use super::PostgresStore;
use super::schema::{STEPS, Step};
use crate::ids::{AggregateType, RequestId, StreamId, Token};
use crate::store::{
    Append, AppendReply, CommitKind, Fingerprint, GiveUp, Load, RequestKey, Store, StoreErrorKind, Written,
};
use crate::text::Text;
use tokio_postgres::{Client, NoTls};

const IGNORED: &str = "FREEHOLD_TEST_POSTGRES";

fn url() -> String {
    std::env::var(IGNORED).unwrap_or_else(|_| panic!("run tests/run, or set {IGNORED} to the URL of a database"))
}

/// A connection, and a name for a schema that is dropped before the test and after it.
async fn sql(schema: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(&url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(&format!("drop schema if exists {schema} cascade")).await.unwrap();
    client
}

async fn open(schema: &str, steps: &[Step]) -> Result<PostgresStore, super::StoreError> {
    PostgresStore::options().schema(schema).open_with(&url(), steps).await
}

/// The steps of a later release: one more, which only adds, or which the code of before can't live with.
fn later(lowest_reader: i64) -> Vec<Step> {
    let step = |step: &Step| Step { version: step.version, lowest_reader: step.lowest_reader, sql: step.sql };
    let newest = STEPS.last().unwrap().version;
    let more = "alter table commits add column region text default 'eu'; create table regions (name text primary key)";
    STEPS.iter().map(step).chain([Step { version: newest + 1, lowest_reader, sql: more }]).collect()
}

fn append(number: u64) -> Append {
    let aggregate = AggregateType { context: Text::from_static("c"), name: Text::from_static("a") };
    Append {
        stream: StreamId { aggregate, tenant: Text::from_static("t"), id: Text::from_static("one") },
        expected_version: number - 1,
        kind: CommitKind::Command,
        command: Text::from_static("Change"),
        request: RequestKey {
            id: RequestId::from_stored(Text::from(format!("request-{number}"))),
            fingerprint: Fingerprint([1; 32]),
        },
        token: Token::from_u128(u128::from(number)),
        mark: 0,
        events: Vec::new(),
        keys: Vec::new(),
        metadata: None,
    }
}

async fn wrote(store: &PostgresStore, number: u64) -> Written {
    match store.append(append(number)).await.unwrap() {
        AppendReply::Written(written) => written,
        AppendReply::Refused(refusal) => panic!("{refusal:?}"),
    }
}

/// S5: a release that only adds to the schema is deployed while a process of the one before goes on, and a new process of
/// the one before may still be started.
#[tokio::test]
#[ignore = "needs PostgreSQL: tests/run starts one"]
async fn a_rolling_deploy_leaves_the_release_before_working() {
    let sql = sql("rolling_deploy").await;
    let before = open("rolling_deploy", STEPS).await.unwrap();
    wrote(&before, 1).await;
    let after = open("rolling_deploy", &later(1)).await.unwrap();
    wrote(&before, 2).await;
    wrote(&after, 3).await;
    let again = open("rolling_deploy", STEPS).await.unwrap();
    wrote(&again, 4).await;
    for store in [&before, &after, &again] {
        let load = Load { stream: append(1).stream, after_version: 0, snapshot_of: None };
        assert_eq!(store.load(load).await.unwrap().commits.len(), 4);
    }
    sql.batch_execute("select from rolling_deploy.regions; drop schema rolling_deploy cascade").await.unwrap();
}

/// S5: a schema that needs newer code is refused, and left as it is.
#[tokio::test]
#[ignore = "needs PostgreSQL: tests/run starts one"]
async fn a_schema_that_is_too_new_is_refused() {
    let sql = sql("too_new").await;
    let newest = STEPS.last().unwrap().version + 1;
    drop(open("too_new", &later(newest)).await.unwrap());
    let error = open("too_new", STEPS).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Incompatible);
    assert!(error.to_string().ends_with("Deploy the newer release"), "{error}");
    sql.batch_execute("drop schema too_new cascade").await.unwrap();
}

/// What `settle_keys_1` and `reserve_1` rest on: an upsert locks the row that is in its way, also where its WHERE keeps it
/// from changing the row.
#[tokio::test]
#[ignore = "needs PostgreSQL: tests/run starts one"]
async fn an_upsert_locks_what_it_leaves_alone() {
    let mut sql = sql("upsert_locks").await;
    let (other, connection) = tokio_postgres::connect(&url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let table = "create schema upsert_locks; create table upsert_locks.t (k int primary key, v int);
         insert into upsert_locks.t values (1, 1)";
    sql.batch_execute(table).await.unwrap();
    let holding = sql.transaction().await.unwrap();
    let upsert = "insert into upsert_locks.t as r values (1, 2) on conflict (k) do update set v = r.v where false";
    assert_eq!(holding.execute(upsert, &[]).await.unwrap(), 0, "nothing is changed");
    let locked = "select from upsert_locks.t where k = 1 for update skip locked";
    assert_eq!(other.query(locked, &[]).await.unwrap().len(), 0, "and yet it is locked");
    holding.commit().await.unwrap();
    assert_eq!(other.query(locked, &[]).await.unwrap().len(), 1);
    sql.batch_execute("drop schema upsert_locks cascade").await.unwrap();
}

/// No call reads a whole table, whatever comes of it: the database counts the scans of a transaction.
#[tokio::test]
#[ignore = "needs PostgreSQL: tests/run starts one"]
async fn every_way_through_the_functions_uses_the_indexes() {
    let mut sql = sql("index_use").await;
    drop(open("index_use", STEPS).await.unwrap());
    let work = sql.transaction().await.unwrap();
    let run = async |statement: &str| work.batch_execute(statement).await.unwrap();
    run("set local search_path to index_use; insert into namespaces values ('c', 'n', 'tenant', 'verbatim@1', 1)")
        .await;
    let keys = |keys: &str, count: usize| {
        let column = |of: &str| format!("array_fill('{of}'::text, array[{count}])");
        let [n, t, c, a] = ["n", "t", "c", "a"].map(column);
        format!("'{keys}', {n}, {t}, {c}, {a}, {t}")
    };
    let reserve = |names: &str, id: &str, token: &str| {
        let (of, ids) = (keys(names, 2), format!("'{{{id},{id}}}', '{{{token},{token}}}'"));
        format!("select reserve_1(1000, '{{7}}', '{{c}}', '{{n}}', '{{1}}', {of}, {ids}, '{{1,1}}', '{{30000,30000}}')")
    };
    // Two keys a call: `uses` says what becomes of them.
    let append = |version: u32, request: &str, id: &str, token: &str, uses: &str, names: &str| {
        let takes_only = uses == "{0,0}";
        let (of, ids) = (keys(names, 2), format!("'{{{id},{id}}}', '{{{token},{token}}}'"));
        format!(
            "select append_1(1000, '{{5}}', '{{c}}', '{{a}}', '{{t}}', '{{{id}}}', '{{{version}}}', '{{command}}', '{{Do}}', \
             '{{{request}}}', \
             array['\\x00'::bytea], '{{{token}}}', '{{0}}', array['[]'], array['[]'], array[null::text], \
             '{{7}}', '{{c}}', '{{n}}', '{{1}}', '{{1,1}}', '{{1,1}}', '{{0,1}}', '{uses}', {takes_only}, {of}, {ids})"
        )
    };
    let token = |number: u32| format!("00000000-0000-0000-0000-{number:012}");
    run(&reserve("{k1,k2}", "one", &token(1))).await;
    run(&reserve("{k1,k3}", "two", &token(2))).await;
    run(&append(1, "r1", "one", &token(1), "{0,0}", "{k1,k2}")).await;
    run(&append(1, "r2", "two", &token(2), "{0,0}", "{k1,k3}")).await;
    run(&append(2, "r3", "one", &token(3), "{1,2}", "{k1,k2}")).await;
    run(&append(2, "r4", "one", &token(4), "{2,2}", "{k1,k4}")).await;
    run(&append(3, "r1", "one", &token(5), "{2,2}", "{k1,k4}")).await;
    run("select settle_1(1000, 5, 'c', 'a', 't', 'one', 9, gen_random_uuid(), '{k1}', '{n}', '{t}', '{c}', '{a}', '{t}', '{one}',
         array[gen_random_uuid()])")
    .await;
    run("select check_1(1000, '{5}', '{c}', '{a}', '{t}', '{one}', '{r9}')").await;
    run("select load_1('one', 'a', 'c', 't', 0, 1); select first_1('r1', 'a', 'c', 't'); select version_1('one', 'a', 'c', 't')").await;
    let scans = "select relname, seq_scan from pg_stat_xact_user_tables
         where schemaname = 'index_use' and relname in ('commits', 'reservations', 'marks', 'tombstones') order by relname";
    let scanned: Vec<(String, i64)> =
        work.query(scans, &[]).await.unwrap().iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(scanned.len(), 4, "{scanned:?}");
    assert!(scanned.iter().all(|(_, scans)| *scans == 0), "{scanned:?}");
    let written: i64 = work.query_one("select count(*) from commits", &[]).await.unwrap().get(0);
    assert_eq!(written, 2, "r1 and r3 are written; a lost key, a conflict and a replay are not");
    drop(work);
    sql.batch_execute("drop schema index_use cascade").await.unwrap();
}

/// R5, C8: closing does what was handed over, also the call that waits for its attempt's one before, and refuses the rest.
#[tokio::test]
#[ignore = "needs PostgreSQL: tests/run starts one"]
async fn closing_leaves_no_call_behind() {
    let sql = sql("closing").await;
    let store = open("closing", STEPS).await.unwrap();
    let give_up = || GiveUp { holder: append(1).stream, token: Token::from_u128(1), keys: Vec::new() };
    let handed_over = [store.give_up(give_up()), store.give_up(give_up())];
    let written = store.append(append(1));
    store.clone().close().await.unwrap();
    for reply in handed_over {
        reply.await.unwrap();
    }
    assert!(matches!(written.await.unwrap(), AppendReply::Written(_)));
    for refused in [store.give_up(give_up()).await.unwrap_err(), store.append(append(2)).await.unwrap_err()] {
        assert_eq!((refused.kind(), refused.surely_not_done()), (StoreErrorKind::Closed, true));
    }
    assert_eq!(store.sweep().await.unwrap_err().kind(), StoreErrorKind::Closed);
    sql.batch_execute("drop schema closing cascade").await.unwrap();
}

/// S6: a store whose runtime has ended says so, and keeps nobody waiting.
#[test]
#[ignore = "needs PostgreSQL: tests/run starts one"]
fn without_its_runtime_a_store_answers_all_the_same() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (first, second) = (runtime(), runtime());
    let sql = second.block_on(sql("orphan"));
    let store = first.block_on(open("orphan", STEPS)).unwrap();
    first.block_on(wrote(&store, 1));
    drop(first);
    second.block_on(async {
        assert_eq!(store.append(append(2)).await.unwrap_err().kind(), StoreErrorKind::Closed);
        store.drain().await.unwrap();
        sql.batch_execute("drop schema orphan cascade").await.unwrap();
    });
}

/// S2, S3: a sequence that is behind the log, as on what was a logical replica, makes no commit of another its own.
#[tokio::test]
#[ignore = "needs PostgreSQL: tests/run starts one"]
async fn a_sequence_that_is_behind_is_told_and_not_taken_for_success() {
    let sql = sql("behind").await;
    let store = open("behind", STEPS).await.unwrap();
    wrote(&store, 1).await;
    sql.batch_execute("select setval('behind.commits_position', 1, false)").await.unwrap();
    let error = store.append(append(2)).await.unwrap_err();
    assert_eq!((error.kind(), error.surely_not_done()), (StoreErrorKind::Corrupt, true), "{error}");
    // What was drawn in vain is not drawn again.
    sql.batch_execute("select setval('behind.commits_position', 1, false)").await.unwrap();
    let error = open("behind", STEPS).await.unwrap_err();
    let advice = r#"select setval('"behind".commits_position', (select max(position) from "behind".commits))"#;
    assert!(error.to_string().contains(advice), "{error}");
    sql.batch_execute(advice).await.unwrap();
    drop(open("behind", STEPS).await.unwrap());
    wrote(&store, 2).await;
    sql.batch_execute("drop schema behind cascade").await.unwrap();
}

/// A store that is dropped leaves no connection behind: its tasks end, the sweep's too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run starts one"]
async fn a_store_that_is_dropped_leaves_no_connection() {
    let sql = sql("dropped").await;
    let separator = if url().contains('?') { '&' } else { '?' };
    let named = format!("{}{separator}application_name=freehold_dropped", url());
    let store = PostgresStore::options().schema("dropped").open(&named).await.unwrap();
    wrote(&store, 1).await;
    let connected = "select count(*) from pg_stat_activity where application_name = 'freehold_dropped'";
    let count = async || -> i64 { sql.query_one(connected, &[]).await.unwrap().get(0) };
    assert!(count().await > 0);
    drop(store);
    let mut left = count().await;
    for _ in 0..5_000 {
        if left == 0 {
            break;
        }
        left = count().await;
    }
    assert_eq!(left, 0, "connections are left");
    sql.batch_execute("drop schema dropped cascade").await.unwrap();
}
