//! What the programs share that tests start, kill and race: a domain on a file or a server, a request that is asked for
//! until its outcome is known, and lines that say what came of it.

use freehold::{
    Aggregate, AggregateId, Command, Decide, Domain, DomainBuilder, Error, Outcome, PostgresStore, SqliteStore,
};
use std::io::{BufRead, Write};
use std::time::Duration;

/// Where a client's store is: a SQLite file, or a schema of a PostgreSQL server.
#[derive(Debug, Clone)]
pub struct Target {
    /// A file, or a URL that starts with `postgres://`.
    pub place: String,
    /// The schema on a server.
    pub schema: Option<String>,
}

impl Target {
    /// Opens the store and builds a domain on it; while the server is down or full, again and again.
    ///
    /// # Errors
    ///
    /// What trying again does not help against.
    pub async fn domain(self, describe: fn(DomainBuilder) -> DomainBuilder) -> Result<Domain, String> {
        loop {
            let builder = describe(Domain::builder().without_discovery());
            let (problem, is_retryable) = match self.store(builder).await {
                Ok(builder) => match builder.build().await {
                    Ok(domain) => return Ok(domain),
                    Err(error) => (error.to_string(), error.is_retryable()),
                },
                Err(error) => (error.to_string(), error.is_retryable()),
            };
            if !is_retryable {
                return Err(problem);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn store(&self, builder: DomainBuilder) -> Result<DomainBuilder, freehold::store::StoreError> {
        if !self.place.starts_with("postgres://") {
            return Ok(builder.store(SqliteStore::open(&self.place).await?));
        }
        let mut options = PostgresStore::options();
        if let Some(schema) = &self.schema {
            options = options.schema(schema);
        }
        Ok(builder.store(options.open(&self.place).await?))
    }
}

/// Sends a command until it is known what came of it, always under one request id (R9, C4).
///
/// # Errors
///
/// Those that sending again does not help against, and a rejection of any kind.
pub async fn insist<A, C>(
    domain: &Domain,
    id: &AggregateId<A>,
    command: impl Fn() -> C,
    request: &str,
) -> Result<Outcome<A>, Error>
where
    A: Aggregate + Decide<C>,
    C: Command,
{
    loop {
        match domain.send(id, command()).request_id(request).await {
            Err(error) if error.is_retryable() && error.rejection().is_none() => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            known => return known,
        }
    }
}

/// Says what came of a request, for the auditor. Trouble is what no client may meet here.
pub fn report<A: Aggregate>(request: &str, outcome: &Result<Outcome<A>, Error>) {
    say(&match outcome {
        Ok(Outcome::Committed(committed)) => format!("committed {} {} {request}", committed.id.id(), committed.version),
        Ok(_) => format!("denied {request} NO_OP"),
        Err(error) if ["REJECTED", "DELETED"].contains(&error.code()) => format!("denied {request} {}", error.code()),
        Err(error) => format!("trouble {request} {} {error}", error.code()),
    });
}

/// Writes a line in one piece, so that a kill cuts between lines or not at all.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Who listened is gone, and so will be this process, for its input has ended too.
    drop(out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()));
}

/// Hands on the lines of the input, and ends the process when it ends: no test leaves a program behind.
pub fn listen(mut on_line: impl FnMut(String) + Send + 'static) {
    std::thread::spawn(move || {
        std::io::stdin().lock().lines().map_while(Result::ok).for_each(&mut on_line);
        std::process::exit(0);
    });
}
