//! Racers: 64 tasks in 4 processes, staggered by moments, ask for one key and for a few (R1, R8, R12, R21, S3): one winner
//! each, the others are told that they came too late, and nobody meets an error.

use freehold::{AggregateId, Domain, DomainBuilder};
use freehold_tests::audit::{Told, audit};
use freehold_tests::client::Target;
use freehold_tests::postgres::Schema;
use freehold_tests::process::Process;
use freehold_tests::runner::{ARENA, PROCESSES, Race, Runner, TASKS, TRACK};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::mpsc;
use std::time::Duration;

/// Races in which a task of each process runs; each task has races of its own.
const LANES: Range<usize> = 0..10_240;
/// How many of them go out with one order: nobody is ever further ahead of the others.
const AT_ONCE: usize = 512;
/// Races in which all run.
const ALL: Range<usize> = 10_240..10_368;
/// How long no racer may be silent.
const PATIENCE: Duration = Duration::from_secs(60);

fn describe(builder: DomainBuilder) -> DomainBuilder {
    builder.aggregate::<Runner>().namespace(TRACK).namespace(ARENA)
}

/// What the racers said of one race.
#[derive(Default)]
struct Finish {
    won: Vec<Win>,
    lost: usize,
}

struct Win {
    tenant: String,
    id: String,
    prizes: Vec<String>,
}

/// The processes, what they say, and what they have said.
struct Judge {
    racers: Vec<Process>,
    lines: mpsc::Receiver<(usize, String)>,
    told: Vec<Told>,
    /// How many races each process has won.
    wins: [usize; PROCESSES],
}

impl Judge {
    fn start(schema: &Schema) -> Self {
        let (sender, lines) = mpsc::channel();
        let start = |process: usize| {
            let arguments = [schema.url(), schema.name(), &process.to_string()];
            let sender = sender.clone();
            Process::start(env!("CARGO_BIN_EXE_racer"), &arguments, move |line| drop(sender.send((process, line))))
        };
        let racers = (0..PROCESSES).map(start).collect();
        let mut judge = Self { racers, lines, told: Vec::new(), wins: [0; PROCESSES] };
        assert!(judge.listen().is_empty(), "nobody races before the start");
        judge
    }

    /// Has some races run.
    fn run(&mut self, how: &str, races: &Range<usize>) -> BTreeMap<usize, Finish> {
        for racer in &mut self.racers {
            racer.say(&format!("{how} {} {}", races.start, races.end));
        }
        self.listen()
    }

    /// What is said until all are done.
    fn listen(&mut self) -> BTreeMap<usize, Finish> {
        let (mut finishes, mut done): (BTreeMap<usize, Finish>, _) = (BTreeMap::new(), 0);
        while done < PROCESSES {
            let (process, line) = self.lines.recv_timeout(PATIENCE).expect("a racer hangs, or has died");
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["done"] => done += 1,
                ["won", race, tenant, id, version, request, prizes] => {
                    let prizes = prizes.split(',').map(str::to_owned).collect();
                    let win = Win { tenant: tenant.to_owned(), id: id.to_owned(), prizes };
                    finishes.entry(number(race)).or_default().won.push(win);
                    self.wins[process] += 1;
                    let (id, version, request) =
                        (id.to_owned(), version.parse().expect("a version"), request.to_owned());
                    self.told.push(Told::Committed { id, version, request });
                }
                // Never for now: they wait until what they were told of is settled (R21).
                ["lost", race, request, "for-good"] => {
                    finishes.entry(number(race)).or_default().lost += 1;
                    self.told.push(Told::Denied { request: request.to_owned() });
                }
                _ => panic!("racer {process}: {line}"),
            }
        }
        finishes
    }
}

fn number(race: &str) -> usize {
    race.parse().expect("a race's number")
}

/// One winner, or one in each tenant; of a few prizes each went to one at most, and not all runners gave way.
fn judge(race: Race, finish: &Finish, runners: usize) {
    assert_eq!(finish.won.len() + finish.lost, runners, "{race:?}: everybody is told something");
    let mut tenants = BTreeSet::new();
    let mut taken = BTreeSet::new();
    for win in &finish.won {
        let unique_within = if race.for_all { "" } else { &*win.tenant };
        tenants.insert(unique_within);
        for prize in &win.prizes {
            assert!(taken.insert((unique_within, prize)), "{race:?}: two winners of {prize}");
        }
    }
    assert_eq!(tenants.len(), race.winners(), "{race:?}: somebody wins");
}

/// The winners' events can be read, by a process that has not written them.
async fn read_back(domain: &Domain, finishes: &BTreeMap<usize, Finish>) {
    let mut reads = tokio::task::JoinSet::new();
    for win in finishes.values().flat_map(|finish| &finish.won) {
        let id = AggregateId::<Runner>::new(&*win.id).and_then(|id| id.tenant(&*win.tenant)).expect("an id");
        let (domain, prizes) = (domain.clone(), win.prizes.clone());
        reads.spawn(async move {
            let runner = domain.load(&id).await.expect("a winner is loaded");
            assert!(runner.state().won.contains(&prizes), "{id:?} has not won {prizes:?}");
        });
        if reads.len() >= TASKS {
            reads.join_next().await.expect("one is read").expect("and is right");
        }
    }
    reads.join_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run starts one"]
async fn each_race_has_one_winner_and_the_others_are_told() {
    let schema = Schema::shared();
    let mut races = Judge::start(&schema);
    let target = Target { place: schema.url().to_owned(), schema: Some(schema.name().to_owned()) };
    let domain = target.domain(describe).await.expect("the judge has a store too");
    let lanes = LANES.step_by(AT_ONCE).map(|first| ("lanes", first..first + AT_ONCE, PROCESSES));
    for (how, range, runners) in lanes.chain([("all", ALL, PROCESSES * TASKS)]) {
        let finishes = races.run(how, &range);
        assert!(finishes.keys().copied().eq(range), "every race was run");
        finishes.iter().for_each(|(number, finish)| judge(Race::of(*number), finish, runners));
        read_back(&domain, &finishes).await;
    }
    assert!(races.wins.iter().all(|wins| *wins > 0), "one process never wins: {:?}", races.wins);
    domain.close().await.expect("closed");
    drop(races.racers);
    let breaches = audit(&schema.sql(), schema.name(), &races.told);
    assert!(breaches.is_empty(), "{breaches:#?}");
}
