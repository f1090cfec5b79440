//! Opening a store (S5, S6): whatever is wrong with address, server, rights or schema is told in a clear error, with what
//! to do and without a password; what is right opens, however many open it at once. TLS is in `encrypted`.

use crate::crowd::{assert_tells_no_secret, domain, happen, release};
use freehold::store::StoreError;
use freehold::store::postgres::PostgresOptions;
use freehold::{PostgresStore, Store, StoreErrorKind};
use freehold_testkit::conformance::commands::{holds, scripted};
use freehold_testkit::script::{Change, Create, NAMES, Script};
use freehold_tests::postgres::{Schema, Server, Sql};
use freehold_tests::process::Process;
use std::fs;
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;
use tokio::task::JoinSet;

const PASSWORD: &str = "secret-name-of-a-password";

/// That it is refused, as what, and with these words.
#[track_caller]
pub(crate) fn assert_refused(
    opened: Result<PostgresStore, StoreError>,
    kind: StoreErrorKind,
    words: &[&str],
) -> String {
    let error = opened.expect_err("it is refused");
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{error:?}");
    assert!(error.surely_not_done());
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text}");
    }
    assert_tells_no_secret(&format!("{text} {error:?}"));
    text
}

/// That the store works: a command with a key, its release, and a load.
pub(crate) async fn assert_works(options: &PostgresOptions, url: &str) {
    let (domain, _) = domain(options, url).await;
    let (id, name) = (scripted(&format!("id-{}", fastrand::u64(..))), format!("name-{}", fastrand::u64(..)));
    domain.send(&id, Create(Script::take(&name))).request_id(&*name).await.expect("created");
    assert!(holds(&domain, id.id(), NAMES, &name).await);
    domain.send(&id, Change(release(&name))).await.expect("released");
    assert_eq!(domain.load(&id).await.expect("loaded").version(), 2);
    domain.close().await.expect("closed");
}

/// The URL of a user of a server.
fn url_of(server: &Server, user: &str, password: &str, database: &str) -> String {
    format!("postgres://{user}:{password}@127.0.0.1:{}/{database}", server.port())
}

fn superuser(server: &Server) -> Sql {
    Sql::connect(&server.url("postgres"))
}

/// What the message says, in backquotes, to have run.
fn advice(message: &str) -> &str {
    message.split('`').nth(1).unwrap_or_else(|| panic!("no statement in {message}"))
}

#[tokio::test]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn a_server_that_can_not_be_reached_or_refuses_the_client_is_told() {
    use StoreErrorKind::{Unavailable, Unusable};
    let server = Server::start();
    let sql = superuser(&server);
    sql.run(&format!("create role client login password '{PASSWORD}'"));
    let open = async |url: &str| PostgresStore::options().connect_timeout(Duration::from_millis(500)).open(url).await;
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("bound").port();
    let silent = format!("postgres://client:{PASSWORD}@127.0.0.1:{port}/postgres");
    assert_refused(open(&silent).await, Unavailable, &["in time"]);
    drop(free);
    let text =
        assert_refused(open(&silent).await, Unavailable, &["check host, port", &format!("127.0.0.1:{port}/postgres")]);
    assert!(!text.contains("client"), "{text}");
    let nowhere = format!("postgres://client:{PASSWORD}@no-such-host.invalid/postgres");
    assert_refused(open(&nowhere).await, Unavailable, &["check host, port"]);
    let none = url_of(&server, "client", PASSWORD, "no_such_database");
    assert_refused(open(&none).await, Unusable, &["no such database", "create it"]);
    for method in ["password", "scram-sha-256", "md5"] {
        let file = sql.value("show hba_file");
        fs::write(&file, format!("host all postgres 127.0.0.1/32 password\nhost all client 127.0.0.1/32 {method}\n"))
            .expect("the file is written");
        sql.run("select pg_reload_conf()");
        // The new lines are the ones that new connections are let in by, once the postmaster has read them.
        while sql.value("select count(*) from pg_hba_file_rules") != "2" {}
        let wrong = url_of(&server, "client", "secret-name-wrong", "postgres");
        assert_refused(open(&wrong).await, Unusable, &["password", "URL"]);
        let missing = format!("postgres://client@127.0.0.1:{}/postgres", server.port());
        assert_refused(open(&missing).await, Unusable, &["password", "URL"]);
    }
    let stranger = url_of(&server, "nobody", PASSWORD, "postgres");
    assert_refused(open(&stranger).await, Unusable, &["URL", "pg_hba.conf"]);
}

/// Rights that are missing are told by what to grant, and granting just that is enough.
/// S6: of several hosts, one that takes connections and never answers costs its own time limit, and the next one is used.
#[tokio::test]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn a_host_that_is_silent_is_passed_over() {
    let server = Server::start();
    let silent = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let (port, silent_port) = (server.port(), silent.local_addr().expect("it is bound").port());
    let hosts = format!("127.0.0.1:{silent_port},127.0.0.1:{port}");
    let url = server.url("postgres").replace(&format!("127.0.0.1:{port}"), &hosts);
    let options = PostgresStore::options().connect_timeout(Duration::from_secs(1));
    let store = options.open(&url).await.expect("the second host answers");
    assert!(store.commits(0, 1).await.expect("it is read").is_empty());
    store.close().await.expect("closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn rights_that_are_missing_are_told_by_what_to_grant() {
    use StoreErrorKind::Unusable;
    let server = Server::start();
    let sql = superuser(&server);
    sql.run("revoke all on database postgres from public; revoke all on schema public from public");
    let client = async |schema: &str, user: &str| {
        PostgresStore::options().schema(schema).open(&url_of(&server, user, PASSWORD, "postgres")).await
    };
    let work = async |schema: &str, user: &str| {
        assert_works(&PostgresStore::options().schema(schema), &url_of(&server, user, PASSWORD, "postgres")).await;
    };
    for user in ["ana", "O'Brien \"B\""] {
        let name = user.replace('"', "\"\"");
        sql.run(&format!(
            "create role \"{name}\" login password '{PASSWORD}'; grant connect on database postgres to \"{name}\""
        ));
    }
    let quoted = "O%27Brien%20%22B%22";
    // No schema, and one that may not be written to.
    let message = assert_refused(client("of_ana", "ana").await, Unusable, &["create schema", "ana"]);
    sql.run(advice(&message));
    work("of_ana", "ana").await;
    sql.run("create schema \"Of \"\"B\"\"'s\"");
    let message = assert_refused(client("Of \"B\"'s", quoted).await, Unusable, &["grant usage, create on schema"]);
    sql.run(advice(&message));
    work("Of \"B\"'s", quoted).await;
    // Tables of somebody else's.
    let message = assert_refused(client("of_ana", quoted).await, Unusable, &["grant usage on schema"]);
    sql.run(advice(&message));
    work("of_ana", quoted).await;
    let rights = [
        ("insert on of_ana.commits", "commits (insert)"),
        ("delete on of_ana.marks", "marks (delete)"),
        ("usage on sequence of_ana.commits_position", "commits_position"),
        ("select on of_ana.freehold_schema", "grant"),
        ("execute on function of_ana.now_ms()", "functions (execute)"),
        ("usage on schema of_ana", "grant usage on schema"),
    ];
    for (right, word) in rights {
        sql.run(&format!("revoke {right} from \"O'Brien \"\"B\"\"\", public"));
        let message = assert_refused(client("of_ana", quoted).await, Unusable, &[word]);
        sql.run(advice(&message));
        work("of_ana", quoted).await;
    }
    // Tables of a release before: only their owner can change them.
    sql.run("update of_ana.freehold_schema set version = 0");
    assert_refused(client("of_ana", quoted).await, Unusable, &["older", "as their owner"]);
    sql.run("update of_ana.freehold_schema set version = 1");
    // Taken away while the store is open.
    let options = PostgresStore::options().schema("of_ana");
    let (domain, _) = domain(&options, &url_of(&server, quoted, PASSWORD, "postgres")).await;
    sql.run("revoke insert on of_ana.commits from \"O'Brien \"\"B\"\"\"");
    let error = domain.send(&scripted("a"), Create(happen("x"))).await.expect_err("a right is missing");
    assert_eq!(error.code(), "STORE_UNUSABLE");
    assert!(error.to_string().contains("grant"), "{error}");
    assert_tells_no_secret(&error.to_string());
    domain.close().await.expect("closed");
}

/// S5: whose tables they are, and which release's, is looked at before anything is changed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run starts one"]
async fn a_schema_of_others_or_of_a_release_to_come_is_refused() {
    use StoreErrorKind::Incompatible;
    let schema = Schema::shared();
    let (sql, name) = (schema.sql(), schema.name());
    let options = PostgresStore::options().schema(name);
    sql.run(&format!("create schema {name}; create table {name}.commits(mine int)"));
    assert_refused(options.open(schema.url()).await, Incompatible, &["another program", "PostgresOptions::schema"]);
    assert_eq!(sql.value(&format!("select count(*) from pg_tables where schemaname = '{name}'")), "1");
    sql.run(&format!("drop table {name}.commits"));
    assert_works(&options, schema.url()).await;
    // Merely newer: the release before goes on, also one that is open already (a rolling deploy).
    let (running, _) = domain(&options, schema.url()).await;
    sql.run(&format!("update {name}.freehold_schema set version = version + 1"));
    assert_works(&options, schema.url()).await;
    running.send(&scripted("running"), Create(happen("x"))).await.expect("it goes on");
    running.close().await.expect("closed");
    sql.run(&format!("update {name}.freehold_schema set lowest_reader = version"));
    assert_refused(options.open(schema.url()).await, Incompatible, &["Deploy the newer release"]);
    sql.run(&format!(
        "drop schema {name} cascade; create schema {name}; create table {name}.freehold_schema(other int)"
    ));
    let error = options.open(schema.url()).await.expect_err("that table is another's");
    assert!(!error.is_retryable(), "{error:?}");
    assert_tells_no_secret(&error.to_string());
}

#[tokio::test]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn a_database_that_can_not_store_every_text_is_refused() {
    let server = Server::start();
    for encoding in ["LATIN1", "SQL_ASCII"] {
        let name = encoding.to_lowercase();
        let create =
            format!("create database {name} encoding '{encoding}' lc_collate 'C' lc_ctype 'C' template template0");
        superuser(&server).run(&create);
        let opened = PostgresStore::open(&server.url(&name)).await;
        assert_refused(opened, StoreErrorKind::Incompatible, &[encoding, "UTF8"]);
    }
}

/// S5: a fresh schema is made once, whoever comes first, tasks and processes alike.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run starts one"]
async fn ten_tasks_and_ten_processes_open_a_fresh_schema_at_once() {
    let schema = Schema::shared();
    let (sender, lines) = mpsc::channel();
    let start = |number: usize| {
        let sender = sender.clone();
        let arguments = [schema.url(), &format!("p{number}"), schema.name()];
        let say = move |line: String| drop(sender.send((number, line)));
        Process::start(env!("CARGO_BIN_EXE_victim"), &arguments, say)
    };
    let mut processes: Vec<Process> = (0..10).map(start).collect();
    let tasks: JoinSet<()> = (0..10)
        .map(|_| {
            let (options, url) = (PostgresStore::options().schema(schema.name()), schema.url().to_owned());
            async move { assert_works(&options, &url).await }
        })
        .collect();
    tasks.join_all().await;
    let mut waited_for: Vec<usize> = (0..10).collect();
    while !waited_for.is_empty() {
        let (number, line) = lines.recv_timeout(Duration::from_secs(60)).expect("a process hangs, or has died");
        assert!(!line.starts_with("trouble"), "{line}");
        waited_for.retain(|other| *other != number);
    }
    processes.iter_mut().for_each(|process| process.say("finish"));
    processes.into_iter().for_each(Process::wait);
}

/// S2: the store is right at `read committed`; where the user's default is another level it says so, and does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn another_isolation_level_is_refused() {
    let server = Server::start();
    let sql = superuser(&server);
    sql.run(&format!("create role client login password '{PASSWORD}'; grant create on database postgres to client"));
    let url = url_of(&server, "client", PASSWORD, "postgres");
    for is_there in [false, true] {
        for level in ["serializable", "repeatable read"] {
            sql.run(&format!("alter role client set default_transaction_isolation = '{level}'"));
            let opened = PostgresStore::open(&url).await;
            assert_refused(opened, StoreErrorKind::Unusable, &["read committed", "default_transaction_isolation"]);
            assert_eq!(sql.rows("select 1 from pg_namespace where nspname = 'freehold'").len(), usize::from(is_there));
        }
        sql.run("alter role client reset default_transaction_isolation");
        assert_works(&PostgresStore::options(), &url).await;
    }
    // Set while the store is open: neither commands nor readers of the log go on as if nothing were.
    let (domain, store) = domain(&PostgresStore::options(), &url).await;
    sql.run("alter role client set default_transaction_isolation = 'repeatable read'");
    sql.run("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'client'");
    let refused = loop {
        match domain.send(&scripted("a"), Create(happen("x"))).await {
            Err(error) if error.is_retryable() => {}
            refused => break refused.expect_err("it is another level"),
        }
    };
    assert!(refused.code() == "STORE_UNUSABLE" && refused.to_string().contains("read committed"), "{refused}");
    let refused = loop {
        match store.commits(0, 10).await {
            Err(error) if error.is_retryable() => {}
            refused => break refused.expect_err("it is another level"),
        }
    };
    assert!(refused.kind() == StoreErrorKind::Unusable && refused.to_string().contains("read committed"), "{refused}");
    domain.close().await.expect("closed");
}

/// S4: what is committed is on the disk, also where the database's default is less.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn a_commit_is_on_the_disk_whatever_the_databases_default_is() {
    // Nothing but a commit writes the log to the disk.
    let settings = [("wal_writer_delay", "10s"), ("synchronous_commit", "off")];
    let mut server = Server::with(&settings);
    let (domain, store) = domain(&PostgresStore::options(), &server.url("postgres")).await;
    let sql = superuser(&server);
    sql.run("create table not_told(number int)");
    domain.send(&scripted("a"), Create(Script::take("name"))).request_id("r").await.expect("created");
    // What is not waited for is lost, or else this shows nothing.
    sql.run("insert into not_told values (1)");
    server.kill();
    server.start_again();
    let sql = superuser(&server);
    assert_eq!(sql.value("select count(*) from freehold.commits where request_id = 'r'"), "1");
    assert_eq!(sql.value("select count(*) from freehold.reservations where position is not null"), "1");
    assert_eq!(sql.value("select count(*) from not_told"), "0", "the server loses nothing");
    drop((domain, store));
}

/// What PostgreSQL's text can't hold is stored as JSON has it, or refused before it is sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run starts one"]
async fn a_payload_with_nul_comes_back_as_it_was() {
    let schema = Schema::shared();
    let options = PostgresStore::options().schema(schema.name());
    let (first, _) = domain(&options, schema.url()).await;
    let texts = ["a\0b", "\0", "\u{10ffff}\u{0}\u{1}", "\\u0000"];
    for (number, text) in texts.iter().enumerate() {
        let id = scripted(&format!("a-{number}"));
        let send = first.send(&id, Create(happen(text))).request_id(format!("r-{number}"));
        send.metadata("note", *text).metadata(*text, 1).await.expect("stored");
        for what in ["two", text, "four"] {
            first.send(&id, Change(happen(what))).await.expect("stored, and a snapshot with it");
        }
        // Another process has no state of its own.
        let (second, _) = domain(&options, schema.url()).await;
        let loaded = second.load(&id).await.expect("loaded");
        assert_eq!(loaded.state().happened, [*text, "two", *text, "four"]);
        let replayed = second.send(&id, Create(happen(text))).request_id(format!("r-{number}")).await.expect("known");
        assert!(replayed.is_replay());
        let error = first.send(&id, Change(Script::take(text))).await;
        assert!(error.is_err_and(|error| error.code() == "INVALID_KEY") == text.contains('\0'));
        second.close().await.expect("closed");
    }
    assert!(freehold::AggregateId::<freehold_testkit::script::Scripted>::new("a\0b").is_err());
    let id = scripted("a-0");
    let error = first.send(&id, Change(happen("x"))).request_id("r\0").await.expect_err("no id has NUL");
    assert_eq!(error.code(), "INVALID_ID");
    let error = PostgresStore::options().schema("a\0b").open(schema.url()).await;
    assert_refused(error, StoreErrorKind::Unusable, &["U+0000"]);
    let metadata = first.commits(0, 1).await.expect("read").remove(0).metadata.expect("it has some");
    let metadata: serde_json::Value = serde_json::from_str(metadata.get()).expect("JSON");
    assert_eq!(metadata, serde_json::json!({ "note": "a\0b", "a\0b": 1 }));
    first.send(&id, Change(happen("works"))).await.expect("it works as before");
    first.close().await.expect("closed");
}
