//! Groups: what is committed together, what is answered when, and what one job's failure does to the others.

use super::*;
use crate::reservation::Normalizer;
use crate::store::sqlite::connection::{open_writer, site};
use crate::store::sqlite::files::Files;
use crate::store::sqlite::job::{Answer, Durability, Job};
use crate::store::sqlite::writer::{Writer, sort_in};
use crate::store::{Rekey, RekeyNamespace, Settle, Settled, StoreError, StoreErrorKind, StoreReply};

/// A writer without its thread, so that a test decides what is in a group.
struct Bench {
    writer: Writer,
    scratch: Scratch,
}

type Appended = StoreReply<AppendReply>;

impl Bench {
    fn new() -> Self {
        let scratch = Scratch::new();
        wait(open(&scratch.file(), &Arc::default()).close()).unwrap();
        let site = site(&scratch.file(), false).unwrap();
        let connection = open_writer(&site, false, 1_000, Timestamp::from_millis(0)).unwrap();
        let files = Arc::new(Files::of(&site).unwrap());
        Self { writer: Writer::new(connection, site, files, Arc::<HandClock>::default(), 256), scratch }
    }

    fn sql(&self, sql: &str) {
        self.writer.connection.execute_batch(sql).unwrap();
    }

    fn synchronous(&self) -> i64 {
        self.writer.connection.query_row("PRAGMA synchronous", [], |row| row.get(0)).unwrap()
    }

    /// Commits `appends` as one group.
    fn appends(&mut self, appends: Vec<Append>) -> Vec<Result<AppendReply, StoreError>> {
        let (mut jobs, replies): (Vec<Job>, Vec<Appended>) = appends.into_iter().map(appending).unzip();
        self.writer.run_group(&mut jobs, Durability::Full);
        replies.into_iter().map(wait).collect()
    }

    fn settle(&mut self, number: u128, id: &str, keys: &[&str]) -> Settled {
        let keys = keys.iter().map(|text| name(text)).collect();
        let settle = Settle { stream: brand(id), version: 1, request: request(1).id, token: token(number), keys };
        let (answer, reply) = Answer::pair();
        self.writer.run_group(&mut vec![Job::Settle(settle, answer)], Durability::Full);
        wait(reply).unwrap()
    }
}

fn appending(append: Append) -> (Job, Appended) {
    let (answer, reply) = Answer::pair();
    (Job::Append(Box::new(append), answer), reply)
}

/// S3, S4: a refused append fails nobody else, and leaves nothing.
#[test]
fn one_conflict_in_a_group_and_the_others_land() {
    let mut bench = Bench::new();
    let mut replies = bench.appends(vec![
        append("a", 0, 1, &[("x", KeyUse::Take)]),
        append("a", 0, 2, &[("y", KeyUse::Take)]),
        append("b", 0, 3, &[("x", KeyUse::Take), ("z", KeyUse::Take)]),
        append("c", 5, 4, &[]),
        append("d", 0, 1, &[]),
        append("e", 0, 5, &[("y", KeyUse::Take), ("z", KeyUse::Take)]),
    ]);
    let mut next = || replies.remove(0).unwrap();
    assert_eq!(written(next()).position, 1);
    assert!(matches!(refused(next()), Refusal::Conflict));
    assert!(matches!(refused(next()), Refusal::KeyLost));
    assert!(matches!(refused(next()), Refusal::Conflict), "no gaps: version 5 is not there");
    let Refusal::Replay(first) = refused(next()) else { panic!("the request id has its commit") };
    assert_eq!((first.stream.clone(), first.version), (brand("a"), 1));
    assert_eq!(written(next()).position, 2);
}

/// S4: SQLite may roll back everything [seen]. The others' work is done again, and the guilty one gets its error.
#[test]
fn a_group_that_sqlite_rolls_back_wholly_is_run_one_by_one() {
    let mut bench = Bench::new();
    bench.sql(
        "CREATE TEMP TRIGGER poison BEFORE INSERT ON main.commits WHEN NEW.id = 'poison'
         BEGIN SELECT RAISE(ROLLBACK, 'poison'); END",
    );
    let groups = [append("a", 0, 1, &[]), append("poison", 0, 2, &[]), append("b", 0, 3, &[])];
    let replies = bench.appends(groups.to_vec());
    let error = replies[1].as_ref().unwrap_err();
    assert!(error.surely_not_done(), "{error}");
    assert!(!error.to_string().contains("poison"), "SQLite's own text: {error}");
    let positions: Vec<u64> = [0, 2].map(|index| written(replies[index].clone().unwrap()).position).to_vec();
    assert_eq!(positions, [1, 2]);
}

/// S4, R9: the commit itself failed, so nobody knows; settling makes it known.
#[test]
fn a_commit_that_failed_is_unknown_and_can_be_settled() {
    let mut bench = Bench::new();
    bench.sql(
        "CREATE TABLE parent (id INTEGER PRIMARY KEY);
         CREATE TABLE child (id REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
         CREATE TRIGGER broken AFTER INSERT ON commits BEGIN INSERT INTO child VALUES (1); END;
         PRAGMA foreign_keys = ON;",
    );
    let replies = bench.appends(vec![append("a", 0, 1, &[("x", KeyUse::Take)]), append("b", 0, 2, &[])]);
    for reply in &replies {
        assert!(!reply.as_ref().unwrap_err().surely_not_done());
    }
    assert!(bench.writer.connection.is_autocommit(), "the failed transaction is rolled back");
    bench.sql("DROP TRIGGER broken");
    assert!(matches!(bench.settle(1, "a", &["x"]), Settled::NotWritten));
    let late = bench.appends(vec![append("a", 0, 1, &[("x", KeyUse::Take)])]).remove(0);
    assert!(matches!(refused(late.unwrap()), Refusal::Fenced { mark: 0 }));
    assert!(written(bench.appends(vec![append("a", 0, 3, &[])]).remove(0).unwrap()).position > 0);
    assert!(matches!(bench.settle(3, "a", &[]), Settled::Written(_)));
    assert!(matches!(bench.settle(4, "a", &[]), Settled::NotWritten), "another attempt's commit is not this one's");
}

/// R9: "not written" is said of what is known. A row whose token can't be read may be the append's own.
#[test]
fn a_commit_whose_token_can_not_be_read_is_not_settled() {
    let mut bench = Bench::new();
    written(bench.appends(vec![append("a", 0, 1, &[("x", KeyUse::Take)])]).remove(0).unwrap());
    bench.sql("UPDATE commits SET token = 'no uuid'");
    let (answer, reply) = Answer::pair();
    let settle =
        Settle { stream: brand("a"), version: 1, request: request(1).id, token: token(1), keys: vec![name("x")] };
    bench.writer.run_group(&mut vec![Job::Settle(settle, answer)], Durability::Full);
    assert_eq!(wait(reply).unwrap_err().kind(), StoreErrorKind::Corrupt);
}

/// A normaliser of the user's own that panics costs its rekey, and not the appends beside it.
#[test]
fn a_panic_costs_the_job_that_panicked() {
    fn panicking(_: &str) -> String {
        panic!("a normaliser that does not know what to do")
    }
    let mut bench = Bench::new();
    written(bench.appends(vec![append("a", 0, 1, &[("x", KeyUse::Take)])]).remove(0).unwrap());
    let normalizer = Normalizer::named("panicking", 1, panicking);
    let (rekey, rekeyed) = Answer::pair();
    let asked = Rekey {
        namespaces: vec![RekeyNamespace {
            namespace: names(&normalizer.to_string()),
            normalizer,
            command: Text::from_static("operator: try"),
        }],
        tokens: Arc::new(|| token(99)),
    };
    let ((before, first), (after, second)) =
        (appending(append("b", 0, 2, &[("y", KeyUse::Take)])), appending(append("c", 0, 3, &[("z", KeyUse::Take)])));
    bench.writer.run_group(&mut vec![before, Job::Rekey(Box::new(asked), rekey), after], Durability::Full);
    assert_eq!([written(wait(first).unwrap()).position, written(wait(second).unwrap()).position], [2, 3]);
    let error = wait(rekeyed).unwrap_err();
    assert!(error.surely_not_done() && error.to_string().contains("panicked"), "{error:?}");
    assert!(bench.writer.connection.is_autocommit());
}

/// A caller that panics when it is woken is its own executor's business: the others of its group have their answers.
#[test]
fn a_caller_that_panics_when_it_is_woken_costs_nobody_else_the_answer() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("an executor that is gone")
        }
    }
    let mut bench = Bench::new();
    let ((one, mut first), (two, second)) = (appending(append("a", 0, 1, &[])), appending(append("b", 0, 2, &[])));
    assert!(pin!(&mut first).poll(&mut Context::from_waker(&Arc::new(Panics).into())).is_pending());
    bench.writer.run_group(&mut vec![one, two], Durability::Full);
    written(wait(second).unwrap());
    written(wait(first).unwrap());
}

/// A full disk: what does not fit fails, what fits lands, and nothing is reported that is not there.
#[test]
fn a_full_disk_fails_what_does_not_fit() {
    let mut bench = Bench::new();
    let pages: i64 = bench.writer.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    bench.writer.connection.query_row(&format!("PRAGMA max_page_count = {}", pages + 8), [], |_| Ok(())).unwrap();
    let mut large = append("large", 0, 2, &[]);
    large.events[0].data = serde_json::value::to_raw_value(&"x".repeat(100_000)).unwrap();
    let replies = bench.appends(vec![append("a", 0, 1, &[]), large, append("b", 0, 3, &[])]);
    written(replies[0].clone().unwrap());
    written(replies[2].clone().unwrap());
    let error = replies[1].as_ref().unwrap_err();
    assert_eq!((error.kind(), error.surely_not_done()), (StoreErrorKind::Unusable, true));
    assert!(error.to_string().contains("full"), "{error}");
}

/// R8: a pending record may be lost in a power cut, so it waits for no disk; a commit does (S4).
#[test]
fn pending_waits_for_no_disk_and_a_commit_does() {
    let mut bench = Bench::new();
    let (answer, reply) = Answer::pair();
    bench.writer.run_group(&mut vec![Job::Reserve(reserve("a", 1, &["x"]), answer)], Durability::Lazy);
    assert!(wait(reply).unwrap().answers[0].is_ours());
    assert_eq!(bench.synchronous(), 1, "NORMAL");
    written(bench.appends(vec![append("a", 0, 1, &[("x", KeyUse::Take)])]).remove(0).unwrap());
    assert_eq!(bench.synchronous(), 2, "FULL");
    wait(open(&bench.scratch.file(), &Arc::default()).close()).unwrap();
}

/// R5: calls of one attempt take effect in the order of their handing over.
#[test]
fn a_call_stays_behind_its_own_attempts_append() {
    let (mut lazy, mut full) = (Vec::new(), Vec::new());
    let jobs = [
        Job::Reserve(reserve("a", 1, &["x"]), Answer::pair().0),
        appending(append("a", 0, 1, &[("x", KeyUse::Take)])).0,
        Job::GiveUp(give_up("a", 1, &["x"]), Answer::pair().0),
        Job::Reserve(reserve("b", 2, &["x"]), Answer::pair().0),
        Job::GiveUp(give_up("b", 2, &["x"]), Answer::pair().0),
        Job::Reserve(reserve("b", 2, &["x"]), Answer::pair().0),
    ];
    for job in jobs {
        sort_in(job, &mut lazy, &mut full);
    }
    let attempts = |jobs: &[Job]| jobs.iter().map(|job| job.attempt().unwrap().as_u128()).collect::<Vec<_>>();
    assert_eq!((attempts(&lazy), attempts(&full)), (vec![1, 2, 2, 2], vec![1, 1]));
}

/// C8: what was handed over is done, whoever still waits.
#[test]
fn a_dropped_reply_withdraws_nothing() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let store = open(&scratch.file(), &clock);
    drop(store.reserve(reserve("a", 1, &["x"])));
    drop(store.append(append("a", 0, 1, &[("x", KeyUse::Take)])));
    wait(store.drain()).unwrap();
    assert_eq!(wait(store.held_by(brand("a"))).unwrap(), [name("x")]);
    // And a dropped store works off its queue.
    drop(store.append(append("b", 0, 2, &[])));
    drop(store);
    let store = open(&scratch.file(), &clock);
    wait(store.drain()).unwrap();
    let is_there = || wait(store.commits(0, 10)).unwrap().len() == 2;
    while !is_there() {
        thread::yield_now();
    }
}

/// S6: too much is refused at once, and giving up never is.
#[test]
fn a_full_queue_refuses_work_and_takes_give_ups() {
    let scratch = Scratch::new();
    let store = wait(SqliteStore::options().queue_limit(0).open(scratch.file())).unwrap();
    for error in [
        wait(store.reserve(reserve("a", 1, &["x"]))).unwrap_err(),
        wait(store.append(append("a", 0, 1, &[]))).unwrap_err(),
        wait(store.commits(0, 1)).unwrap_err(),
    ] {
        assert_eq!((error.kind(), error.surely_not_done()), (StoreErrorKind::Overloaded, true));
    }
    wait(store.give_up(give_up("a", 1, &["x"]))).unwrap();
    let settle = Settle { stream: brand("a"), version: 1, request: request(1).id, token: token(1), keys: vec![] };
    assert!(matches!(wait(store.settle(settle)).unwrap(), Settled::NotWritten));
}
