//! Chaos (R4, R7, R9, C4, S4, S6): 4 processes under load, killed and started again, on a server that is stopped, crashed
//! and killed, at random. In the end the survivors finish in order, and the auditor reads the tables alone.

use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::{Create, DOMAINS, NAMES, Script, Scripted};
use freehold_tests::audit::{Told, audit};
use freehold_tests::client::{Target, insist};
use freehold_tests::postgres::{Server, Stop};
use freehold_tests::process::Process;
use std::sync::mpsc;
use std::time::Duration;

const VICTIMS: usize = 4;
const ROUNDS: usize = 100;
/// How long it may take until somebody is told something again.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the store names its schema when nobody says otherwise.
const SCHEMA: &str = "freehold";

struct Chaos {
    random: fastrand::Rng,
    server: Server,
    victims: Vec<Process>,
    started: usize,
    sender: mpsc::Sender<String>,
    receiver: mpsc::Receiver<String>,
    lines: Vec<String>,
}

impl Chaos {
    fn start_victim(&mut self) -> Process {
        self.started += 1;
        let (sender, name) = (self.sender.clone(), format!("v{}", self.started));
        let arguments = [&*self.server.url("postgres"), &name];
        Process::start(env!("CARGO_BIN_EXE_victim"), &arguments, move |line| drop(sender.send(line)))
    }

    fn round(&mut self) {
        // Sometimes at once, so that one blow meets who has not got up from the one before.
        let lines_wanted = if self.random.u8(..4) == 0 { 0 } else { self.random.usize(1..100) };
        for _ in 0..lines_wanted {
            let line = self.receiver.recv_timeout(PATIENCE);
            self.lines.push(line.unwrap_or_else(|_| panic!("nobody gets anything done:\n{}", self.server.log())));
        }
        match self.random.u8(..10) {
            0..6 => {
                let victim = self.random.usize(..VICTIMS);
                self.victims.swap_remove(victim).kill();
                let victim = self.start_victim();
                self.victims.push(victim);
            }
            6..8 => self.server.stop(Stop::Immediate),
            8 => self.server.stop(Stop::Fast),
            _ => self.server.kill(),
        }
        if !self.server.is_running() {
            self.server.start_again();
        }
    }

    /// Lets the victims finish what they have begun: none of them hangs for having lost its server.
    fn finish(self) -> (Server, Vec<String>) {
        for mut victim in self.victims {
            victim.say("finish");
            victim.wait();
        }
        drop(self.sender);
        (self.server, self.lines.into_iter().chain(self.receiver).collect())
    }
}

#[test]
#[ignore = "needs PostgreSQL: tests/run installs it"]
fn nothing_that_a_client_was_told_is_lost_whoever_dies() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let (sender, receiver) = mpsc::channel();
    let mut chaos = Chaos {
        random: fastrand::Rng::with_seed(seed),
        server: Server::start(),
        victims: Vec::new(),
        started: 0,
        sender,
        receiver,
        lines: Vec::new(),
    };
    chaos.victims = (0..VICTIMS).map(|_| chaos.start_victim()).collect();
    (0..ROUNDS).for_each(|_| chaos.round());
    let (mut server, lines) = chaos.finish();
    // What the dead have left on its way ends with their connections.
    server.stop(Stop::Fast);
    server.start_again();
    let trouble: Vec<&String> = lines.iter().filter(|line| Told::parse(line).is_none()).collect();
    assert!(
        trouble.is_empty(),
        "{} of {} lines, such as {:#?}",
        trouble.len(),
        lines.len(),
        &trouble[..trouble.len().min(20)]
    );
    let told: Vec<Told> = lines.iter().filter_map(|line| Told::parse(line)).collect();
    let committed = told.iter().filter(|told| matches!(told, Told::Committed { .. })).count();
    println!("{committed} of {} requests committed", told.len());
    assert!(committed > ROUNDS, "only {committed} of {} requests were committed", told.len());
    let sql = freehold_tests::postgres::Sql::connect(&server.url("postgres"));
    let check = || {
        let breaches = audit(&sql, SCHEMA, &told);
        assert!(breaches.is_empty(), "{breaches:#?}");
    };
    check();
    take_what_is_pending(&server);
    check();
}

/// Nothing that is pending blocks for longer than it may (R7): somebody else gets each such key.
#[tokio::main(flavor = "current_thread")]
async fn take_what_is_pending(server: &Server) {
    let sql = freehold_tests::postgres::Sql::connect(&server.url("postgres"));
    let pending = sql.rows(&format!("select key from {SCHEMA}.reservations where position is null"));
    let target = Target { place: server.url("postgres"), schema: None };
    let domain = target.domain(|builder| builder.aggregate::<Scripted>().namespace(NAMES).namespace(DOMAINS));
    let domain = domain.await.expect("the auditor has a store too");
    for key in pending.iter().map(|row| &row[0]) {
        let request = format!("after all, {key}");
        let taken = insist(&domain, &scripted(&request), || Create(Script::take(key)), &request).await;
        assert!(taken.is_ok(), "{key} is pending, and never ends: {taken:?}");
    }
    domain.close().await.expect("closed");
}
