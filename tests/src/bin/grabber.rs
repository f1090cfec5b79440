//! One of the processes that reserve most of the same few keys, in every order, over several connections, and share
//! aggregates and request ids. Says what came of each request, and `trouble` for what no client may meet.

use freehold::{Domain, Error, Outcome, PostgresStore};
use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::{DOMAINS, Ending, Ensure, NAMES, Script, Scripted, Step};
use freehold_tests::client::{listen, say};
use std::time::Duration;

const KEYS: usize = 60;
const GRABBED: usize = 50;
const AT_ONCE: usize = 8;
const AGGREGATES: usize = 6;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, schema, rounds] = &arguments[..] else { return Err("usage: grabber URL SCHEMA ROUNDS".into()) };
    let rounds: usize = rounds.parse()?;
    listen(drop);
    let options = PostgresStore::options().schema(schema).append_connections(3).reserve_connections(3);
    let builder = Domain::builder().without_discovery().aggregate::<Scripted>().namespace(NAMES).namespace(DOMAINS);
    let builder = builder.pending_for(Duration::from_millis(500)).pending_wait(Duration::from_millis(20));
    let domain = builder.store(options.open(url).await?).build().await?;
    let grabbers = (0..AT_ONCE).map(|grabber| tokio::spawn(grab(domain.clone(), grabber, rounds)));
    for grabber in grabbers.collect::<Vec<_>>() {
        grabber.await?;
    }
    domain.close().await?;
    Ok(())
}

async fn grab(domain: Domain, grabber: usize, rounds: usize) {
    for round in 0..rounds {
        let id = format!("a-{}", fastrand::usize(..AGGREGATES));
        // The other process has requests of the same names, for other keys.
        let request = format!("r-{grabber}-{round}");
        let (all, each) = (Step::ReserveAll(keys()), Step::TryReserveAll(keys()));
        let first = [all, each][usize::from(fastrand::u8(..4) == 0)].clone();
        let releases = keys().into_iter().map(Step::Release);
        send(&domain, &id, Script::new([first], Ending::Happen(request.clone())), &request).await;
        send(&domain, &id, Script::new(releases, Ending::Happen(request.clone())), &format!("{request}-end")).await;
    }
}

/// Most of the keys, in some order.
fn keys() -> Vec<String> {
    let mut keys: Vec<String> = (0..KEYS).map(|key| format!("key-{key}")).collect();
    fastrand::shuffle(&mut keys);
    keys.truncate(GRABBED);
    keys
}

async fn send(domain: &Domain, id: &str, script: Script, request: &str) {
    say(&match domain.send(&scripted(id), Ensure(script)).request_id(request).await {
        Ok(Outcome::Committed(done)) => format!("committed {} {} {request}", done.id.id(), done.version),
        Ok(other) => format!("trouble {other:?}"),
        Err(Error::Rejected(_) | Error::RequestIdReused { .. } | Error::Conflict { .. }) => "lost".to_owned(),
        // The other process is at the same request (C4).
        Err(Error::OutcomeUnknown { reason, .. }) if reason.starts_with("The same request") => "lost".to_owned(),
        Err(error) => format!("trouble {} {error}", error.code()),
    });
}
