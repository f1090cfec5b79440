//! Reading the log while it is written (the design's section on events): nothing ever appears behind a reader's cursor,
//! however slow the append that drew the earlier position is; and no reader waits without end.

use crate::crowd::{Crowd, domain, happen};
use freehold::store::postgres::PostgresOptions;
use freehold::{Domain, PostgresStore, Store, StoreErrorKind};
use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::{Change, Ensure};
use freehold_tests::postgres::{Server, Sql};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// An append of one commit and no keys, as a statement; its transaction is the caller's.
fn append(id: &str) -> String {
    let texts = |text: &str| format!("array['{text}']");
    let none = "'{}'";
    let commit = [
        format!("array[{}]", fastrand::i64(..)),
        texts("scripted"),
        texts("scripted"),
        texts("acme"),
        texts(id),
        "array[1]".to_owned(),
        texts("command"),
        texts("Slow"),
        texts(&format!("request of {id}")),
        "array[decode(repeat('00', 32), 'hex')]".to_owned(),
        "array[gen_random_uuid()]".to_owned(),
        "array[0]".to_owned(),
        texts(r#"[{"type":"Happened","v":1,"data":{"what":"slow"}}]"#),
        "array[null]".to_owned(),
        "array[null]".to_owned(),
    ];
    let keys = [[none; 4].as_slice(), &[none; 4], &["true"], &[none; 8]].concat();
    format!("select (freehold.append_1(2000, {}, {})).positions[1]", commit.join(", "), keys.join(", "))
}

/// A server of the test's own: transactions that stay open concern every reader on theirs.
async fn scene(options: PostgresOptions) -> (Server, Domain, PostgresStore) {
    let server = Server::start();
    let (domain, store) = domain(&options, &server.url("postgres")).await;
    (server, domain, store)
}

fn connect(server: &Server) -> Sql {
    Sql::connect(&server.url("postgres"))
}

async fn change(domain: &Domain, id: &str) {
    domain.send(&scripted(id), Ensure(happen("fast"))).await.expect("appended");
}

async fn positions(store: &dyn Store, after: u64, limit: usize) -> Vec<u64> {
    let page = store.commits(after, limit).await.expect("the log is read");
    page.iter().map(|commit| commit.position).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn a_reader_does_not_pass_an_append_that_is_under_way() {
    let (server, domain, store) = scene(PostgresStore::options()).await;
    change(&domain, "before").await;
    for end in ["commit", "rollback"] {
        let cursor = positions(&store, 0, 1_000).await.pop().expect("a commit");
        let slow = connect(&server);
        slow.run("begin");
        let drawn: u64 = slow.value(&append(&format!("slow-{end}"))).parse().expect("a position");
        // Nothing has ended since it began, so that no snapshot has heard of it.
        let settled = connect(&server).value("select until is not null from freehold.horizon_1()");
        assert_eq!(settled, "f", "the log is not settled up to {drawn}");
        for number in 0..5 {
            change(&domain, &format!("fast-{number}")).await;
        }
        let reader = store.clone();
        let reading = tokio::spawn(async move { positions(&reader, cursor, 1_000).await });
        for number in 0..20 {
            change(&domain, &format!("fast-{number}")).await;
        }
        assert!(!reading.is_finished(), "it has passed {drawn}");
        slow.run(end);
        let read = reading.await.expect("it ends");
        assert!(read.is_sorted() && read.len() >= 5, "{read:?}");
        assert_eq!(read.first() == Some(&drawn), end == "commit", "{drawn} was to come first: {read:?}");
    }
    domain.close().await.expect("closed");
}

/// Ends the writers, however the test ends.
#[derive(Default)]
struct Over(Arc<AtomicBool>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Many slow appends among many fast ones, and a reader that is always at the end: it reads the log as it is in the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn a_tail_is_the_log_however_appends_overlap() {
    let (server, domain, store) = scene(PostgresStore::options().append_connections(3)).await;
    let is_over = Over::default();
    let slow = (0..4).map(|writer| {
        let (sql, is_over) = (connect(&server), Arc::clone(&is_over.0));
        tokio::task::spawn_blocking(move || {
            let mut number = 0;
            while !is_over.load(Ordering::Relaxed) {
                sql.run("begin");
                sql.run(&append(&format!("slow-{writer}-{number}")));
                (0..fastrand::usize(..20)).for_each(|_| sql.run("select 1"));
                sql.run(if fastrand::u8(..4) == 0 { "rollback" } else { "commit" });
                number += 1;
            }
        })
    });
    let slow: Vec<_> = slow.collect();
    let crowd = Crowd::start(&domain);
    let mut read: Vec<u64> = Vec::new();
    // Pages that reach the end of the log: what is under way is there.
    while read.len() < 3_000 {
        read.extend(positions(&store, read.last().copied().unwrap_or(0), fastrand::usize(1..1_000)).await);
    }
    crowd.finish().await;
    drop(is_over);
    for writer in slow {
        writer.await.expect("a writer ends");
    }
    loop {
        let page = positions(&store, *read.last().expect("much was read"), 100).await;
        if page.is_empty() {
            break;
        }
        read.extend(page);
    }
    let log = connect(&server).rows("select position from freehold.commits order by position");
    let log: Vec<u64> = log.iter().map(|row| row[0].parse().expect("a position")).collect();
    assert_eq!(read, log);
    domain.close().await.expect("closed");
}

/// S6: an append that never ends keeps no reader for longer than a call may take.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn a_transaction_that_stays_open_does_not_keep_a_reader_for_ever() {
    let (server, domain, store) = scene(PostgresStore::options().call_timeout(Duration::from_secs(1))).await;
    change(&domain, "before").await;
    let cursor = positions(&store, 0, 10).await.pop().expect("a commit");
    let slow = connect(&server);
    slow.run("begin");
    slow.run(&append("slow"));
    change(&domain, "after").await;
    let error = store.commits(cursor, 10).await.expect_err("the slow one is under way");
    assert!(error.kind() == StoreErrorKind::Unavailable && error.is_retryable(), "{error:?}");
    assert!(error.to_string().contains("pg_stat_activity"), "{error}");
    domain.load(&scripted("after")).await.expect("streams are read meanwhile");
    slow.run("rollback");
    assert_eq!(positions(&store, cursor, 10).await.len(), 1);
    domain.close().await.expect("closed");
}

/// A crash takes numbers back that no commit has used. What a reader learnt of them before it is void.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn a_reader_passes_nothing_after_a_crash_that_took_positions_back() {
    // Only commits write the server's log to the disk.
    let mut server = Server::with(&[("wal_writer_delay", "10s")]);
    let (domain, store) = domain(&PostgresStore::options(), &server.url("postgres")).await;
    change(&domain, "a").await;
    // Whatever else was in the server's log may have taken the numbers to the disk: then once more.
    for _ in 0..10 {
        let cursor = draw_in_vain(&server, &domain, &store).await;
        server.kill();
        server.start_again();
        let slow = connect(&server);
        slow.run("begin");
        let drawn: u64 = slow.value(&append(&format!("slow-{cursor}"))).parse().expect("a position");
        while domain.send(&scripted("a"), Change(happen("changed"))).await.is_err() {}
        if drawn == cursor + 1 {
            change(&domain, "a").await;
            let reader = store.clone();
            let reading = tokio::spawn(async move { positions(&reader, cursor, 2).await });
            for _ in 0..20 {
                change(&domain, "a").await;
            }
            slow.run("commit");
            assert_eq!(reading.await.expect("it ends"), [drawn, drawn + 1]);
            domain.close().await.expect("closed");
            return;
        }
        slow.run("rollback");
    }
    panic!("no crash takes positions back");
}

/// Has the reader hear of positions that are drawn and given back, and of which the server's disk knows nothing. Returns
/// the newest position of a commit.
async fn draw_in_vain(server: &Server, domain: &Domain, store: &PostgresStore) -> u64 {
    let sql = connect(server);
    // The sequence is logged ahead: the numbers until this is 0 are not lost.
    while sql.value("select log_cnt from freehold.commits_position") != "0" {
        change(domain, "a").await;
    }
    store.drain().await.expect("snapshots are kept, and on the disk");
    let cursor = sql.value("select max(position) from freehold.commits").parse().expect("a position");
    sql.run("begin");
    sql.run("select nextval('freehold.commits_position') from generate_series(1, 10)");
    sql.run("rollback");
    assert!(positions(store, cursor, 10).await.is_empty());
    cursor
}
