//! The connection is cut at each place of an append's way (R9, S6): what the caller is told is the truth, or that it is not
//! known; the same request sent again gives the truth; there is one commit, and its key goes with it (R4). And the append
//! that comes late: it was settled as not written (R9), or its request was answered otherwise (C4), and does not land.

use crate::crowd::{assert_fit, domain, happen, release};
use crate::proxy::{Cut, Proxy};
use freehold::store::postgres::PostgresOptions;
use freehold::{AggregateId, Domain, Error, Outcome, PostgresStore};
use freehold_testkit::conformance::commands::{holds, scripted};
use freehold_testkit::script::{Change, Create, Ensure, NAMES, Script, Scripted};
use freehold_tests::audit::{Told, audit};
use freehold_tests::postgres::{Schema, Server, Sql};
use std::time::Duration;

/// A domain behind a proxy, and one beside it.
struct Scene {
    schema: Schema,
    proxy: Proxy,
    behind: Domain,
    beside: Domain,
    sql: Sql,
}

const NAME: &str = "secret-name";

impl Scene {
    async fn new(server: &Server) -> Self {
        let schema = Schema::new(&server.url("postgres"));
        let proxy = Proxy::before(server.port()).await;
        let options = options(&schema);
        let (beside, _) = domain(&options, schema.url()).await;
        let (behind, _) = domain(&options, &proxy.url(schema.url())).await;
        let sql = schema.sql();
        Self { schema, proxy, behind, beside, sql }
    }

    /// How many commits there are under `request`.
    fn commits(&self, request: &str) -> usize {
        let sql = format!("select 1 from {}.commits where request_id = '{request}'", self.schema.name());
        self.sql.rows(&sql).len()
    }

    fn check(&self, told: &[Told]) {
        let breaches = audit(&self.sql, self.schema.name(), told);
        assert!(breaches.is_empty(), "{breaches:#?}");
    }

    async fn close(self) {
        self.proxy.set_down(true);
        self.beside.close().await.expect("closed");
        self.behind.close().await.expect("closed");
    }
}

/// What is not answered is given up soon.
fn options(schema: &Schema) -> PostgresOptions {
    PostgresStore::options().schema(schema.name()).call_timeout(Duration::from_secs(1))
}

async fn create(domain: &Domain, id: &AggregateId<Scripted>, request: &str) -> Result<Outcome<Scripted>, Error> {
    domain.send(id, Create(Script::take(NAME))).request_id(request).await
}

/// Whether it is committed, and whether as a replay.
#[track_caller]
fn committed(outcome: Result<Outcome<Scripted>, Error>) -> bool {
    match outcome {
        Ok(Outcome::Committed(done)) => {
            assert_eq!(done.version, 1);
            done.replayed
        }
        other => panic!("{other:?}"),
    }
}

/// R9: cut before the statement, after it, and after the commit; and where nobody says that it is cut.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn whatever_the_place_of_the_cut_the_caller_gets_the_truth() {
    let server = Server::start();
    // The server has the append, so settling finds it (R9).
    let found = [Cut::After, Cut::Answered, Cut::Silent];
    for how in [Cut::Before, Cut::After, Cut::Answered, Cut::Lost, Cut::Silent] {
        let scene = Scene::new(&server).await;
        let id = scripted("a");
        scene.proxy.meet("append_1", how);
        let outcome = create(&scene.behind, &id, "r").await;
        assert_eq!(scene.proxy.met(), 1, "{how:?}");
        if found.contains(&how) {
            assert!(!committed(outcome), "{how:?}: it was written for this very caller");
            assert!(committed(create(&scene.behind, &id, "r").await), "{how:?}: a replay");
        } else {
            let error = outcome.expect_err("it never reached the server, and was settled as not written");
            assert_fit(&error);
            assert!(matches!(error, Error::NotWritten { .. }), "{how:?}: {error:?}");
            assert_eq!(scene.commits("r"), 0, "{how:?}");
            assert!(!holds(&scene.beside, "a", NAMES, NAME).await, "{how:?}: nothing is held");
            let other = scripted("quick");
            scene.beside.send(&other, Create(Script::take(NAME))).await.expect("and the name is free at once (R5)");
            scene.beside.send(&other, Change(release(NAME))).await.expect("released");
            assert!(!committed(create(&scene.behind, &id, "r").await), "{how:?}: sent again, it is written");
        }
        assert_eq!(scene.commits("r"), 1, "{how:?}");
        assert!(holds(&scene.beside, "a", NAMES, NAME).await, "{how:?}");
        scene.check(&[Told::Committed { id: "a".into(), version: 1, request: "r".into() }]);
        scene.close().await;
    }
}

/// R9: the append is still being written when it is settled: settling waits for its end, and finds it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn settling_waits_for_an_append_that_is_being_written() {
    let server = Server::start();
    let scene = Scene::new(&server).await;
    let id = scripted("a");
    scene.behind.send(&id, Create(Script::take(NAME))).await.expect("created");
    let operator = scene.schema.sql();
    operator.run("begin");
    operator.run(&format!("select * from {}.reservations for update", scene.schema.name()));
    scene.proxy.meet("append_1", Cut::After);
    let send = tokio::spawn(IntoFuture::into_future(scene.behind.send(&id, Change(release(NAME))).request_id("r")));
    let waiting = |what: &str| format!("select count(*) from pg_locks where not granted and locktype = '{what}'");
    while scene.sql.value(&waiting("advisory")) == "0" {
        assert!(!send.is_finished(), "nobody can know yet");
    }
    operator.run("rollback");
    let outcome = send.await.expect("it ends").expect("it was written");
    assert!(matches!(outcome, Outcome::Committed(done) if done.version == 2 && !done.replayed));
    assert_eq!(scene.commits("r"), 1);
    assert!(!holds(&scene.beside, "a", NAMES, NAME).await, "released (R10)");
    scene.close().await;
}

/// R9: while nobody can be asked, the caller hears that it is not known, and nothing is given up; later the same id tells.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn while_nobody_can_be_asked_the_outcome_is_unknown() {
    let server = Server::start();
    for how in [Cut::After, Cut::Answered, Cut::Held] {
        let scene = Scene::new(&server).await;
        let id = scripted("a");
        scene.proxy.meet("append_1", how);
        let send = {
            let (domain, id) = (scene.behind.clone(), id.clone());
            tokio::spawn(async move { create(&domain, &id, "r").await })
        };
        scene.proxy.has_met(1).await;
        scene.proxy.set_down(true);
        let outcome = send.await.expect("it ends");
        if let Err(error) = outcome {
            assert_fit(&error);
            assert!(
                matches!(&error, Error::OutcomeUnknown { request_id, .. } if request_id.as_str() == "r"),
                "{how:?}: {error:?}"
            );
            assert!(!error.surely_not_written());
        } else {
            assert!(how == Cut::After, "settled before the proxy was down: {outcome:?}");
        }
        scene.proxy.set_down(false);
        // The one that was held up went down with its connection.
        assert_eq!(committed(until_known(&scene.behind, &id, "r").await), how != Cut::Held, "{how:?}");
        assert_eq!(scene.commits("r"), 1, "{how:?}");
        assert!(holds(&scene.beside, "a", NAMES, NAME).await, "{how:?}");
        scene.check(&[Told::Committed { id: "a".into(), version: 1, request: "r".into() }]);
        scene.close().await;
    }
}

async fn until_known(domain: &Domain, id: &AggregateId<Scripted>, request: &str) -> Result<Outcome<Scripted>, Error> {
    loop {
        match create(domain, id, request).await {
            Err(error) if error.is_retryable() => assert_fit(&error),
            known => return known,
        }
    }
}

/// R5, R9: a reserve whose answer is lost is asked again with its token, and so is the settling of an append.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn what_may_be_asked_again_is_asked_again() {
    let server = Server::start();
    let scene = Scene::new(&server).await;
    let mut number = 0;
    for how in [Cut::Before, Cut::After, Cut::Answered, Cut::Lost, Cut::Silent] {
        for calls in [&["reserve_1"][..], &["reserve_1", "reserve_1"], &["append_1", "settle_1", "settle_1"]] {
            number += 1;
            let (id, request) = (scripted(&format!("a-{number}")), format!("r-{number}"));
            let before = scene.proxy.met();
            for call in calls {
                // Only where the append itself is written, its outcome is that it is.
                scene.proxy.meet(call, if *call == "append_1" { Cut::Answered } else { how });
            }
            assert!(!committed(create(&scene.behind, &id, &request).await), "{how:?} of {calls:?}");
            assert_eq!(scene.proxy.met() - before, calls.len(), "{how:?} of {calls:?}");
            assert_eq!(scene.commits(&request), 1);
            scene.behind.send(&id, Change(release(NAME))).await.expect("released");
        }
    }
    scene.check(&[]);
    scene.close().await;
}

/// C4: the look after a decision without append is lost: nobody is told what nobody knows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn a_rejection_whose_look_at_the_request_is_lost_is_not_told() {
    let server = Server::start();
    let scene = Scene::new(&server).await;
    scene.beside.send(&scripted("holder"), Create(Script::take(NAME))).await.expect("created");
    for how in [Cut::Before, Cut::After, Cut::Answered, Cut::Lost, Cut::Silent] {
        let met = scene.proxy.met();
        scene.proxy.meet("check_1", how);
        let error = create(&scene.behind, &scripted("a"), "r").await.expect_err("the name is taken");
        assert_eq!(scene.proxy.met() - met, 1, "{how:?}");
        assert_fit(&error);
        let told = create(&scene.behind, &scripted("a"), "r").await.expect_err("the name is taken");
        assert!(matches!(told, Error::Rejected(_)), "{how:?}: {told:?}");
    }
    scene.check(&[Told::Denied { request: "r".into() }]);
    scene.close().await;
}

/// R9: an append is held up on its way and settled as not written. When it arrives it must fail: whether its key is
/// another's by now, or it could be written as well as ever, but for the tombstone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn an_append_that_comes_late_does_not_land() {
    let server = Server::start();
    for is_taken in [true, false] {
        let scene = Scene::new(&server).await;
        let (late, other) = (scripted("late"), scripted("other"));
        scene.behind.send(&late, Create(happen("created"))).await.expect("created");
        scene.proxy.meet("append_1", Cut::Held);
        // Without an id of the caller's there is no mark, which would keep it out as well.
        let send = IntoFuture::into_future(scene.behind.send(&late, Change(Script::take(NAME))));
        let error = send.await.expect_err("it is on its way");
        assert!(matches!(error, Error::NotWritten { .. }), "{error:?}");
        assert_eq!(scene.sql.value(&format!("select count(*) from {}.tombstones", scene.schema.name())), "1");
        scene.beside.send(&other, Create(Script::take(NAME))).await.expect("the name is free");
        if !is_taken {
            scene.beside.send(&other, Change(release(NAME))).await.expect("and free once more");
        }
        scene.proxy.let_go().await;
        assert_eq!(scene.beside.load(&late).await.expect("loaded").version(), 1, "it has landed");
        assert!(!holds(&scene.beside, "late", NAMES, NAME).await);
        assert_eq!(holds(&scene.beside, "other", NAMES, NAME).await, is_taken);
        let again = scene.behind.send(&late, Change(Script::take(NAME))).await;
        assert_eq!(again.is_ok(), !is_taken, "{again:?}");
        scene.check(&[]);
        scene.close().await;
    }
}

/// C4: a process dies while its append is on its way. The same request, sent again elsewhere, is answered without a
/// commit; from then on the late append must not land, though nothing else is in its way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn an_append_of_the_dead_does_not_land_once_its_request_was_answered() {
    let server = Server::start();
    let scene = Scene::new(&server).await;
    let (id, other) = (scripted("a"), scripted("other"));
    let process =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let (url, options) = (scene.proxy.url(scene.schema.url()), options(&scene.schema));
    scene.proxy.meet("append_1", Cut::Held);
    let sent = id.clone();
    process.spawn(async move {
        let (domain, _) = domain(&options, &url).await;
        create(&domain, &sent, "r").await
    });
    scene.proxy.has_met(1).await;
    process.shutdown_background();
    // Its lease ends (R7), and somebody else has the name for a while.
    loop {
        match scene.beside.send(&other, Create(Script::take(NAME))).await {
            Err(Error::Rejected(rejection)) => assert!(rejection.is_provisional(), "{rejection:?}"),
            created => break drop(created.expect("created")),
        }
    }
    let denied = create(&scene.beside, &id, "r").await.expect_err("the name is another's");
    assert!(matches!(&denied, Error::Rejected(rejection) if !rejection.is_provisional()), "{denied:?}");
    scene.beside.send(&other, Change(release(NAME))).await.expect("the name is free again");
    scene.proxy.let_go().await;
    assert_eq!(scene.commits("r"), 0, "it has landed after somebody was told that it had not");
    assert!(scene.beside.load(&id).await.is_err_and(|error| error.code() == "NOT_FOUND"));
    scene.check(&[Told::Denied { request: "r".into() }]);
    // One that is alive meets the mark, and decides again.
    assert!(!committed(create(&scene.beside, &id, "r").await));
    scene.check(&[Told::Committed { id: "a".into(), version: 1, request: "r".into() }]);
    scene.close().await;
}

/// R5: a give-up that is lost is given up by time (R7), and nobody is kept longer than that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn a_give_up_that_is_lost_ends_with_the_lease() {
    let server = Server::start();
    let scene = Scene::new(&server).await;
    for how in [Cut::Before, Cut::Lost] {
        scene.proxy.meet("give_up_1", how);
        let script =
            Script::new([freehold_testkit::script::Step::Reserve(NAME.into())], freehold_testkit::script::Ending::NoOp);
        let outcome = scene.behind.send(&scripted("a"), Ensure(script)).await;
        assert!(matches!(outcome, Ok(Outcome::NoOp { .. })), "{how:?}: {outcome:?}");
        let id = scripted(&format!("next-{how:?}"));
        loop {
            match scene.beside.send(&id, Create(Script::take(NAME))).await {
                Err(Error::Rejected(rejection)) => assert!(rejection.is_provisional(), "{rejection:?}"),
                created => break drop(created.expect("created")),
            }
        }
        scene.beside.send(&id, Change(release(NAME))).await.expect("released");
    }
    scene.check(&[]);
    scene.close().await;
}
