//! What only a real PostgreSQL server can show. Every test here needs one; `tests/run` starts the shared one, and those
//! that stop or break theirs start their own.

mod audit;
mod bouncer;
mod chaos;
mod clock;
mod crowd;
mod cutting;
mod encrypted;
mod failover;
mod locks;
mod opening;
mod outage;
mod proxy;
mod racers;
mod server;
mod tailing;
