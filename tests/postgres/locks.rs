//! No deadlock, whatever the order of keys, streams and request ids, within a process or between two (R18).

use freehold_tests::audit::{Told, audit};
use freehold_tests::postgres::{Schema, Server, Sql};
use freehold_tests::process::Process;
use std::sync::mpsc;
use std::time::Duration;

/// How often each of the 8 tasks of each process reserves 50 of the 60 keys.
const ROUNDS: usize = 100;

#[test]
#[ignore = "needs PostgreSQL: tests/run installs it"]
fn two_processes_that_reserve_the_same_keys_in_any_order_do_not_deadlock() {
    let server = Server::with(&[("deadlock_timeout", "10ms")]);
    let schema = Schema::new(&server.url("postgres"));
    let (sender, lines) = mpsc::channel();
    let start = || {
        let (sender, arguments) = (sender.clone(), [schema.url(), schema.name(), &ROUNDS.to_string()]);
        Process::start(env!("CARGO_BIN_EXE_grabber"), &arguments, move |line| drop(sender.send(line)))
    };
    let processes = [start(), start()];
    drop(sender);
    let mut told = Vec::new();
    let mut lost = 0;
    // Until both have ended, and nobody can say any more.
    while let Ok(line) = lines.recv_timeout(Duration::from_secs(60)).inspect_err(|error| {
        assert_eq!(*error, mpsc::RecvTimeoutError::Disconnected, "a process hangs");
    }) {
        match Told::parse(&line) {
            Some(committed) => told.push(committed),
            None if line == "lost" => lost += 1,
            None => panic!("{line}"),
        }
    }
    processes.into_iter().for_each(Process::wait);
    told.sort();
    // A replay is told twice.
    told.dedup();
    assert!(told.len() > ROUNDS && lost > ROUNDS, "{} committed, {lost} lost: they did not meet", told.len());
    let sql = Sql::connect(&server.url("postgres"));
    sql.run("select pg_stat_force_next_flush()");
    assert_eq!(sql.value("select sum(deadlocks) from pg_stat_database"), "0");
    let breaches = audit(&schema.sql(), schema.name(), &told);
    assert!(breaches.is_empty(), "{breaches:#?}");
}
