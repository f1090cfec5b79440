//! Losing the server (S6): whatever happens to it while commands are under way, they end in typed errors that are worth
//! another try, the store heals by itself, and every request comes to one truth (R9, C4, S4).

use crate::crowd::{Crowd, assert_fit, domain, happen, release};
use freehold::{Domain, Error, Outcome, PostgresStore, StoreErrorKind};
use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::{Change, Create, Script};
use freehold_tests::audit::audit;
use freehold_tests::postgres::{Schema, Server, Sql, Stop};

/// A server of the test's own, its superuser, a schema, and a user whose settings a test may change.
struct Scene {
    server: Server,
    sql: Sql,
}

const SCHEMA: &str = "freehold";

impl Scene {
    fn new() -> Self {
        let server = Server::start();
        let sql = Sql::connect(&server.url("postgres"));
        sql.run("create role client login password 'freehold'");
        sql.run("grant create on database postgres to client");
        Self { server, sql }
    }

    fn url(&self) -> String {
        self.server.url("postgres").replace("postgres:freehold@", "client:freehold@")
    }

    async fn domain(&self) -> Domain {
        domain(&PostgresStore::options(), &self.url()).await.0
    }

    /// Ends every connection of the store, and says how many.
    fn terminate(&self) -> usize {
        self.sql.rows("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'client'").len()
    }

    /// Stops the crowd, and has the auditor look at what it was told.
    async fn finish(self, crowd: Crowd, domain: Domain) {
        let told = crowd.finish().await;
        domain.close().await.expect("closed");
        let breaches = audit(&Sql::connect(&self.server.url("postgres")), SCHEMA, &told);
        assert!(breaches.is_empty(), "{breaches:#?}");
    }
}

/// S6: the server is stopped in order, crashes, loses its power, and comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn a_server_that_comes_back_is_used_again() {
    let mut scene = Scene::new();
    let domain = scene.domain().await;
    let mut crowd = Crowd::start(&domain);
    for end in [Some(Stop::Fast), Some(Stop::Immediate), None] {
        crowd.hear_everyone().await;
        match end {
            Some(how) => scene.server.stop(how),
            None => scene.server.kill(),
        }
        crowd.hear_trouble().await;
        scene.server.start_again();
    }
    crowd.hear_everyone().await;
    scene.finish(crowd, domain).await;
}

/// S6: back ends are terminated, all at once, again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn terminated_back_ends_are_replaced() {
    let scene = Scene::new();
    let domain = scene.domain().await;
    let mut crowd = Crowd::start(&domain);
    let mut terminated = 0;
    while terminated < 100 {
        terminated += scene.terminate();
        crowd.hear_everyone().await;
    }
    scene.finish(crowd, domain).await;
}

/// S6: there is no connection left: commands fail until there is one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn a_full_connection_limit_passes() {
    let scene = Scene::new();
    let domain = scene.domain().await;
    let mut crowd = Crowd::start(&domain);
    for limit in [0, 1] {
        scene.sql.run(&format!("alter role client connection limit {limit}"));
        scene.terminate();
        crowd.hear_trouble().await;
        if limit == 0 {
            let error = PostgresStore::open(&scene.url()).await.expect_err("there is no connection left");
            assert!(error.is_retryable() && error.to_string().contains("connection"), "{error:?}");
        }
        scene.sql.run("alter role client connection limit -1");
        crowd.hear_everyone().await;
    }
    scene.finish(crowd, domain).await;
}

/// S6: the server takes no writes for a while, as one that was demoted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn a_server_that_is_read_only_for_a_while_is_used_again() {
    let scene = Scene::new();
    let domain = scene.domain().await;
    let mut crowd = Crowd::start(&domain);
    for _ in 0..3 {
        crowd.hear_everyone().await;
        scene.sql.run("alter system set default_transaction_read_only = on");
        scene.sql.run("select pg_reload_conf()");
        crowd.hear_trouble().await;
        scene.sql.run("alter system set default_transaction_read_only = off");
        scene.sql.run("select pg_reload_conf()");
    }
    crowd.hear_everyone().await;
    scene.finish(crowd, domain).await;
}

/// S6, S3: somebody keeps a row of one append locked. That append alone fails, whether the server's own limit ends it or
/// the store's, and all that left with it are written.
async fn one_that_is_locked_out_fails_alone(statement_timeout: &str) {
    let scene = Scene::new();
    scene.sql.run(&format!("alter role client set statement_timeout = '{statement_timeout}'"));
    let domain = scene.domain().await;
    let locked_out = scripted("locked-out");
    domain.send(&locked_out, Create(Script::take("secret-name-1"))).await.expect("created");
    let others: Vec<_> = (0..8).map(|number| scripted(&format!("other-{number}"))).collect();
    for other in &others {
        domain.send(other, Create(happen("created"))).await.expect("created");
    }
    let positions = || -> u64 {
        scene.sql.value(&format!("select last_value from {SCHEMA}.commits_position")).parse().expect("a number")
    };
    let before = positions();
    let operator = Sql::connect(&scene.server.url("postgres"));
    operator.run("begin");
    operator.run(&format!("select * from {SCHEMA}.reservations for update"));
    // They are all handed over before the store's own task has a turn.
    let send =
        |id, script| IntoFuture::into_future(domain.send(id, Change(script)).request_id(format!("of {}", id.id())));
    let changes = others.iter().map(|other| send(other, happen("changed")));
    let all: Vec<_> = [send(&locked_out, release("secret-name-1"))].into_iter().chain(changes).collect();
    let mut outcomes = join_all(all).await.into_iter();
    let error = outcomes.next().expect("the first").expect_err("a row of it is locked");
    assert_fit(&error);
    let Error::Unavailable(store_error) = &error else { panic!("{error:?}") };
    assert!(error.surely_not_written() && store_error.kind() == StoreErrorKind::Unavailable, "{error:?}");
    for outcome in outcomes {
        assert!(matches!(outcome, Ok(Outcome::Committed(_))), "{outcome:?}");
    }
    // Each position was drawn twice: by the group, and by each alone.
    assert_eq!(positions() - before, 2 * 9, "they did not leave together");
    operator.run("rollback");
    let again = send(&locked_out, release("secret-name-1")).await.expect("nobody is in the way any more");
    assert!(matches!(again, Outcome::Committed(done) if !done.replayed && done.version == 2));
    domain.close().await.expect("closed");
}

/// All of them, polled in their order before anything else runs.
async fn join_all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(move |context| {
        for (future, done) in futures.iter_mut().filter(|(_, done)| done.is_none()) {
            if let std::task::Poll::Ready(output) = future.as_mut().poll(context) {
                *done = Some(output);
            }
        }
        match futures.iter().all(|(_, done)| done.is_some()) {
            true => std::task::Poll::Ready(futures.iter_mut().filter_map(|(_, done)| done.take()).collect()),
            false => std::task::Poll::Pending,
        }
    })
    .await
}

#[tokio::test]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn an_append_that_the_servers_statement_timeout_ends_fails_alone() {
    one_that_is_locked_out_fails_alone("3s").await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn an_append_that_waits_for_a_lock_for_too_long_fails_alone() {
    one_that_is_locked_out_fails_alone("0").await;
}

/// S6, R2: somebody keeps a key locked. Whoever asks for it is told, and all that asked together with it get theirs.
#[tokio::test]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn a_reserve_that_waits_for_a_lock_for_too_long_fails_alone() {
    let scene = Scene::new();
    scene.sql.run("alter role client set statement_timeout = '3s'");
    let domain = scene.domain().await;
    domain.send(&scripted("holder"), Create(Script::take("secret-name-0"))).await.expect("created");
    let operator = Sql::connect(&scene.server.url("postgres"));
    operator.run("begin");
    operator.run(&format!("select * from {SCHEMA}.reservations for update"));
    let send = |number| {
        let (id, name) = (scripted(&format!("a-{number}")), format!("secret-name-{number}"));
        IntoFuture::into_future(domain.send(&id, Create(Script::take(&name))).request_id(format!("r-{number}")))
    };
    let mut outcomes = join_all((0..9).map(send).collect()).await.into_iter();
    let error = outcomes.next().expect("the first").expect_err("its key is locked");
    assert_fit(&error);
    assert!(error.surely_not_written(), "{error:?}");
    for outcome in outcomes {
        assert!(matches!(outcome, Ok(Outcome::Committed(_))), "{outcome:?}");
    }
    operator.run("rollback");
    let taken = send(0).await.expect_err("the key is another's, as ever");
    assert!(taken.rejection().is_some_and(|rejection| !rejection.is_provisional()), "{taken:?}");
    domain.close().await.expect("closed");
}

/// S6: a group whose locks never come free does not keep the store's other calls: they have connections of their own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run starts one"]
async fn while_an_append_waits_for_a_lock_everything_else_goes_on() {
    let schema = Schema::shared();
    let (domain, _) = domain(&PostgresStore::options().schema(schema.name()), schema.url()).await;
    let (waits, other) = (scripted("waits"), scripted("other"));
    domain.send(&waits, Create(Script::take("secret-name-1"))).await.expect("created");
    let operator = schema.sql();
    operator.run("begin");
    operator.run(&format!("select * from {}.reservations for update", schema.name()));
    let send = tokio::spawn(IntoFuture::into_future(domain.send(&waits, Change(release("secret-name-1")))));
    let watcher = schema.sql();
    let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and application_name = '";
    while watcher.value(&format!("{waiting}{}'", schema.name())) == "0" {}
    domain.load(&waits).await.expect("reads go on");
    assert!(domain.load(&other).await.is_err_and(|error| error.code() == "NOT_FOUND"));
    domain
        .reservations()
        .holder("scripted", freehold_testkit::script::NAMES, Some("acme"), "secret-name-2")
        .await
        .expect("read");
    assert!(!send.is_finished(), "it waits still");
    operator.run("rollback");
    send.await.expect("it ends").expect("once the row is free it is written");
    domain.send(&other, Create(Script::take("secret-name-1"))).await.expect("and the name is free");
}
