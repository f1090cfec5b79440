//! A process that writes to a SQLite file until somebody kills it. Reports each commit on a line of its own, after it was
//! told that the commit stands.

use freehold::{Domain, Outcome, SqliteStore};
use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::{Change, Create, DOMAINS, Ending, NAMES, Script, Scripted, Step};
use std::error::Error;
use std::io::Write;
use std::time::Duration;

/// How many names the victims fight for.
const NAMES_IN_ALL: usize = 300;
const AT_ONCE: u64 = 12;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(who)) = (arguments.next(), arguments.next()) else {
        return Err("usage: victim FILE NAME".into());
    };
    let domain = Domain::builder()
        .without_discovery()
        .aggregate::<Scripted>()
        .namespace(NAMES)
        .namespace(DOMAINS)
        .pending_for(Duration::from_millis(500))
        .pending_wait(Duration::from_millis(5))
        .store(SqliteStore::open(file).await?)
        .build()
        .await?;
    let workers = (0..AT_ONCE).map(|number| {
        let (domain, who) = (domain.clone(), format!("{who}-{number}"));
        tokio::spawn(async move { work(&domain, &who).await })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await?;
    }
    Ok(())
}

async fn work(domain: &Domain, who: &str) {
    let mut random = fastrand::Rng::new();
    let mut mine: Vec<(String, String)> = Vec::new();
    for number in 0_u64.. {
        let (name, request) = (format!("name-{}", random.usize(..NAMES_IN_ALL)), format!("{who}-{number}"));
        if mine.len() < 4 || random.u8(..4) == 0 {
            let id = scripted(&request);
            let created = domain.send(&id, Create(Script::take(&name))).request_id(&*request).await;
            let taken = created.as_ref().is_err_and(|error| error.rejection().is_some_and(|no| !no.is_provisional()));
            if report(&created) {
                mine.push((request, name));
            } else if taken {
                free(domain, &name, &format!("{who}-{number}-free")).await;
            }
        } else {
            let one = random.usize(..mine.len());
            let id = scripted(&mine[one].0);
            let script = match random.u8(..3) {
                0 => Script::new([Step::Release(mine[one].1.clone())], Ending::Happen("released".into())),
                _ => Script::swap(&mine[one].1, &name),
            };
            let released = script.steps.len() == 1;
            if report(&domain.send(&id, Change(script)).request_id(&*request).await) {
                match released {
                    true => drop(mine.swap_remove(one)),
                    false => mine[one].1 = name,
                }
            }
        }
    }
}

/// Has whoever holds `name` release it, so that the names never run out though their holders' processes are dead.
async fn free(domain: &Domain, name: &str, request: &str) {
    let Ok(Some(holding)) = domain.reservations().holder("scripted", NAMES, Some("acme"), name).await else { return };
    if holding.position.is_none() {
        return;
    }
    let script = Script::new([Step::Release(name.to_owned())], Ending::Happen("freed".into()));
    report(&domain.send(&scripted(&holding.holder.id), Change(script)).request_id(request).await);
}

fn report(sent: &Result<Outcome<Scripted>, freehold::Error>) -> bool {
    let mut out = std::io::stdout().lock();
    let line = match sent {
        Ok(Outcome::Committed(committed)) => {
            format!("committed {} {} {}\n", committed.id.id(), committed.version, committed.request_id)
        }
        Err(error) if error.rejection().is_none() && !error.is_retryable() => format!("trouble {error}\n"),
        _ => return false,
    };
    // One write a line, so that a kill cuts between lines or not at all.
    let written = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    written.is_ok() && sent.is_ok()
}
