//! One of the processes that race for keys. Reads `lanes FIRST END` (a task for each race) or `all FIRST END` (all tasks
//! in each race), and answers with a line for each task and race, and `done`.

use freehold::{AggregateId, Domain, Outcome};
use freehold_tests::client::{Target, listen, say};
use freehold_tests::runner::{ARENA, Enter, Exchange, Race, Runner, TASKS, TRACK};
use std::error::Error;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [place, schema, process] = &arguments[..] else { return Err("usage: racer URL SCHEMA PROCESS".into()) };
    let process: usize = process.parse()?;
    let (sender, mut orders) = mpsc::unbounded_channel();
    listen(move |line| drop(sender.send(line)));
    let target = Target { place: place.clone(), schema: Some(schema.clone()) };
    let domain = target.domain(|builder| {
        // However slow the machine is, nobody gives way for ever (R21).
        let patience = Duration::from_secs(30);
        builder.aggregate::<Runner>().namespace(TRACK).namespace(ARENA).pending_wait(patience)
    });
    let domain = domain.await?;
    let racer =
        |task| Racer { domain: domain.clone(), who: format!("{process}.{task}"), tenant: Race::tenant(process) };
    let racers: Vec<Arc<Racer>> = (0..TASKS).map(racer).map(Arc::new).collect();
    say("done");
    while let Some(order) = orders.recv().await {
        let words: Vec<&str> = order.split(' ').collect();
        let [how, first, end] = words[..] else { return Err(format!("no order: {order}").into()) };
        let races: Range<usize> = first.parse()?..end.parse()?;
        let mut run = JoinSet::new();
        for (task, racer) in racers.iter().map(Arc::clone).enumerate() {
            let mine: Vec<usize> = races.clone().filter(|race| how == "all" || race % TASKS == task).collect();
            run.spawn(async move {
                for race in mine {
                    racer.race(Race::of(race)).await;
                }
            });
        }
        run.join_all().await;
        say("done");
    }
    Ok(())
}

/// One task, which enters a new runner for each race.
struct Racer {
    domain: Domain,
    who: String,
    tenant: &'static str,
}

impl Racer {
    async fn race(&self, race: Race) {
        let (prizes, request) = (race.wanted(), format!("race-{}-{}", race.number, self.who));
        let id = AggregateId::<Runner>::new(&*request).and_then(|id| id.tenant(self.tenant)).expect("an id");
        let enter = |prizes| self.domain.send(&id, Enter { prizes, for_all: race.for_all });
        if race.by_rename {
            // It has a prize to leave; that is none of the race's.
            let entered = enter(vec![format!("start of {request}")]).await;
            entered.expect("nobody else wants this one");
        }
        tokio::time::sleep(Duration::from_micros(fastrand::u64(..1_500))).await;
        let sent = if race.by_rename {
            let exchange = self.domain.send(&id, Exchange { prizes: prizes.clone() });
            self.send(exchange, race, &request).await
        } else {
            self.send(enter(prizes.clone()), race, &request).await
        };
        say(&match sent {
            Ok(Outcome::Committed(won)) => {
                let request = won.request_id;
                let (id, version, prizes) = (won.id.id().to_owned(), won.version, prizes.join(","));
                format!("won {} {} {id} {version} {request} {prizes}", race.number, self.tenant)
            }
            Err(error) => match error.rejection() {
                Some(told) if told.is_provisional() => format!("lost {} {request} for-now", race.number),
                Some(_) => format!("lost {} {request} for-good", race.number),
                None => format!("trouble in race {}: {error:?}", race.number),
            },
            other => format!("trouble in race {}: {other:?}", race.number),
        });
    }

    /// With an id of the request in every other race: the two ways to answer without a commit differ (C4).
    async fn send<C: freehold::Command>(
        &self,
        command: freehold::SendCommand<Runner, C>,
        race: Race,
        request: &str,
    ) -> Result<Outcome<Runner>, freehold::Error>
    where
        Runner: freehold::Decide<C>,
    {
        if race.number.is_multiple_of(2) { command.request_id(request).await } else { command.await }
    }
}
