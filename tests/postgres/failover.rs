//! Failover (S6, S4): a primary with a synchronous standby dies, the standby is promoted, and the clients go on over the
//! same store: nothing that they were told is lost, keys stay unique, and the log goes on where it was.

use crate::crowd::{Crowd, assert_fit, domain, happen};
use freehold::store::CommitRecord;
use freehold::{Error, PostgresStore, Store};
use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::{Change, Create};
use freehold_tests::audit::audit;
use freehold_tests::postgres::{Server, Sql, Stop};
use std::time::Duration;

/// Both hosts, of which the one that takes writes is meant.
fn url(primary: &Server, standby: &Server) -> String {
    let (first, second) = (format!("127.0.0.1:{}", primary.port()), format!("127.0.0.1:{}", standby.port()));
    let both = format!("{second},{first}");
    primary.url("postgres").replace(&first, &both) + "?target_session_attrs=read-write&connect_timeout=2"
}

/// The whole log, page by page, from `after` on.
async fn tail(store: &dyn Store, mut after: u64) -> Vec<CommitRecord> {
    let mut read = Vec::new();
    loop {
        let page = store.commits(after, 100).await.expect("the log is read");
        let Some(last) = page.last() else { return read };
        after = last.position;
        read.extend(page);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn the_standby_takes_over_and_nothing_that_was_told_is_lost() {
    let mut primary = Server::start();
    let standby = primary.standby();
    let (domain, store) = domain(&PostgresStore::options(), &url(&primary, &standby)).await;
    let mut crowd = Crowd::start(&domain);
    for _ in 0..5 {
        crowd.hear_everyone().await;
    }
    let mut read = tail(&store, 0).await;
    assert!(!read.is_empty());
    primary.kill();
    crowd.hear_trouble().await;
    standby.promote();
    for _ in 0..5 {
        crowd.hear_everyone().await;
    }
    let told = crowd.finish().await;
    let sql = Sql::connect(&standby.url("postgres"));
    let breaches = audit(&sql, "freehold", &told);
    assert!(breaches.is_empty(), "{breaches:#?}");
    // What was read of the old primary is the beginning of what the new one has: nothing is gone, nothing came behind.
    let before = read.len();
    read.extend(tail(&store, read[before - 1].position).await);
    let read: Vec<String> = read.iter().map(|commit| format!("{} {}", commit.position, commit.request.id)).collect();
    let log = sql.rows("select position, request_id from freehold.commits order by position");
    let log: Vec<String> = log.into_iter().map(|row| row.join(" ")).collect();
    assert_eq!(read, log);
    assert!(read.len() > before, "nothing was written after the failover");
    domain.close().await.expect("closed");
}

/// S4, R9: the standby is gone, so no commit is reported; it is not known, until the standby is back and has it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn what_the_standby_does_not_have_is_not_told() {
    let primary = Server::start();
    let mut standby = primary.standby();
    let options = PostgresStore::options().call_timeout(Duration::from_secs(1));
    let (domain, _) = domain(&options, &primary.url("postgres")).await;
    let id = scripted("a");
    domain.send(&id, Create(happen("created"))).await.expect("created");
    standby.stop(Stop::Fast);
    let change = async || domain.send(&id, Change(happen("changed"))).request_id("r").await;
    for _ in 0..2 {
        let error = change().await.expect_err("no standby has it");
        assert_fit(&error);
        assert!(matches!(error, Error::OutcomeUnknown { .. }), "{error:?}");
    }
    // Ended while it waits, the commit can be seen, though the standby does not have it; it is not told as a replay either.
    let sql = Sql::connect(&primary.url("postgres"));
    while sql.value("select count(*) from freehold.commits") != "2" {
        sql.run("select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'");
    }
    let error = change().await.expect_err("no standby has it yet");
    assert!(matches!(error, Error::OutcomeUnknown { .. }), "{error:?}");
    standby.start_again();
    let changed = loop {
        match change().await {
            Err(error) => assert_fit(&error),
            Ok(changed) => break changed,
        }
    };
    assert_eq!(changed.version(), 2);
    assert_eq!(Sql::connect(&primary.url("postgres")).value("select count(*) from freehold.commits"), "2");
    domain.close().await.expect("closed");
}

/// S6, S5: a standby that refuses writes can be read; commands get an error that says what it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn a_standby_can_be_read_and_refuses_commands() {
    let primary = Server::start();
    let id = scripted("a");
    let standby = primary.standby();
    let refused = PostgresStore::open(&standby.url("postgres")).await.expect_err("there is no schema yet");
    assert!(refused.is_retryable() && refused.to_string().contains("standby"), "{refused:?}");
    let (writing, _) = domain(&PostgresStore::options(), &primary.url("postgres")).await;
    writing.send(&id, Create(happen("created"))).await.expect("created");
    let position = Sql::connect(&primary.url("postgres")).value("select pg_current_wal_lsn()");
    let behind = Sql::connect(&standby.url("postgres"));
    while behind.value(&format!("select pg_last_wal_replay_lsn() >= '{position}'")) == "f" {}
    let (reading, store) = domain(&PostgresStore::options(), &standby.url("postgres")).await;
    assert_eq!(reading.load(&id).await.expect("it is read").version(), 1);
    for request in [None, Some("r")] {
        let send = reading.send(&id, Change(happen("changed")));
        let sent = match request {
            None => send.await,
            Some(request) => send.request_id(request).await,
        };
        let error = sent.expect_err("it takes no writes");
        assert_fit(&error);
        assert!(error.to_string().contains("standby") && error.surely_not_written(), "{error}");
    }
    // Of what is under way on the primary it knows nothing, so it can't say how far the log goes.
    let error = store.commits(0, 10).await.expect_err("the log is followed on the primary");
    assert!(error.is_retryable() && error.to_string().contains("standby"), "{error:?}");
    // Promoted, it is used as it is.
    standby.promote();
    let sent = loop {
        match reading.send(&id, Change(happen("changed"))).request_id("r").await {
            Err(error) => assert_fit(&error),
            Ok(sent) => break sent,
        }
    };
    assert_eq!(sent.version(), 2);
    assert_eq!(tail(&store, 0).await.len(), 2);
    reading.close().await.expect("closed");
    writing.close().await.expect("closed");
}
