//! A process that writes to a SQLite file, or to a PostgreSQL server, until somebody kills it. Reports what came of each
//! request on a line of its own, after it was told. The line `finish` on its input lets it end in order.

use freehold::{Delete, Domain, Outcome, Restore};
use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::{Change, Create, DOMAINS, Ending, NAMES, Script, Scripted, Step};
use freehold_tests::client::{Target, insist, listen, report};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How many names the victims fight for.
const NAMES_IN_ALL: usize = 300;
const AT_ONCE: u64 = 12;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(place), Some(who)) = (arguments.next(), arguments.next()) else {
        return Err("usage: victim FILE|URL NAME [SCHEMA]".into());
    };
    let is_over = Arc::new(AtomicBool::new(false));
    let finish = Arc::clone(&is_over);
    listen(move |_| finish.store(true, Ordering::Relaxed));
    let domain = Target { place, schema: arguments.next() }.domain(|builder| {
        builder
            .aggregate::<Scripted>()
            .namespace(NAMES)
            .namespace(DOMAINS)
            // Some wait longer for their append than their leases last, and find their keys taken (R8).
            .pending_for(Duration::from_millis(if fastrand::bool() { 2 } else { 500 }))
            .pending_wait(Duration::from_millis(5))
    });
    let domain = domain.await?;
    let workers = (0..AT_ONCE).map(|number| {
        let worker = Worker { domain: domain.clone(), who: format!("{who}-{number}"), requests: 0, mine: Vec::new() };
        tokio::spawn(worker.work(Arc::clone(&is_over)))
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await?;
    }
    domain.close().await?;
    Ok(())
}

/// An aggregate of this worker's, and the name that it holds.
struct Mine {
    id: String,
    name: String,
    deleted: bool,
}

struct Worker {
    domain: Domain,
    who: String,
    requests: u64,
    mine: Vec<Mine>,
}

impl Worker {
    async fn work(mut self, is_over: Arc<AtomicBool>) {
        while !is_over.load(Ordering::Relaxed) {
            let one = fastrand::usize(..self.mine.len().max(1));
            match fastrand::u8(..16) {
                _ if self.mine.len() < 4 => self.create().await,
                0..4 => self.create().await,
                4 | 5 => self.release(one).await,
                6 | 7 => self.delete_or_restore(one).await,
                8..11 => self.swap(one).await,
                _ => drop(self.rename(one, &any_name()).await),
            }
        }
    }

    fn request(&mut self) -> String {
        self.requests += 1;
        format!("{}-{}", self.who, self.requests)
    }

    async fn create(&mut self) {
        let (name, request) = (any_name(), self.request());
        let created = insist(&self.domain, &scripted(&request), || Create(Script::take(&name)), &request).await;
        if told(&request, &created) {
            self.mine.push(Mine { id: request, name, deleted: false });
        } else if created.is_err_and(|error| error.rejection().is_some_and(|rejection| !rejection.is_provisional())) {
            self.free(&name).await;
        }
    }

    async fn rename(&mut self, one: usize, name: &str) -> bool {
        let script = Script::swap(&self.mine[one].name, name);
        let renamed = self.change(&self.mine[one].id.clone(), script).await;
        if renamed {
            name.clone_into(&mut self.mine[one].name);
        }
        renamed
    }

    /// Two exchange their names through a third; whoever is quicker may get one of them in between.
    async fn swap(&mut self, one: usize) {
        let other = (one + 1) % self.mine.len();
        let (first, second) = (self.mine[one].name.clone(), self.mine[other].name.clone());
        let all = [(one, any_name()), (other, first), (one, second)];
        for (which, name) in all {
            if !self.rename(which, &name).await {
                return;
            }
        }
    }

    async fn release(&mut self, one: usize) {
        let mine = &self.mine[one];
        let script = Script::new([Step::Release(mine.name.clone())], Ending::Happen("released".into()));
        if self.change(&mine.id.clone(), script).await {
            self.mine.swap_remove(one);
        }
    }

    async fn delete_or_restore(&mut self, one: usize) {
        let (id, request) = (scripted(&self.mine[one].id), self.request());
        let done = match self.mine[one].deleted {
            true => insist(&self.domain, &id, || Restore {}, &request).await,
            false => insist(&self.domain, &id, || Delete {}, &request).await,
        };
        self.mine[one].deleted ^= told(&request, &done);
    }

    async fn change(&mut self, id: &str, script: Script) -> bool {
        let request = self.request();
        told(&request, &insist(&self.domain, &scripted(id), || Change(script.clone()), &request).await)
    }

    /// Has whoever holds `name` release it, so that the names never run out though their holders' processes are dead.
    async fn free(&mut self, name: &str) {
        let Ok(Some(holding)) = self.domain.reservations().holder("scripted", NAMES, Some("acme"), name).await else {
            return;
        };
        if holding.position.is_none() {
            return;
        }
        let id = holding.holder.id.to_string();
        let script = Script::new([Step::Release(name.to_owned())], Ending::Happen("freed".into()));
        if !self.change(&id, script.clone()).await {
            let request = self.request();
            report(&request, &insist(&self.domain, &scripted(&id), || Restore {}, &request).await);
            self.change(&id, script).await;
        }
    }
}

/// Reports what came of a request, and says whether it is committed.
fn told(request: &str, outcome: &Result<Outcome<Scripted>, freehold::Error>) -> bool {
    report(request, outcome);
    matches!(outcome, Ok(Outcome::Committed(_)))
}

fn any_name() -> String {
    format!("name-{}", fastrand::usize(..NAMES_IN_ALL))
}
