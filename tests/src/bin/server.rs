//! Starts a PostgreSQL server for the tests, prints its URL, and stops it when its own input ends.
//!
//! `server check` only says whether PostgreSQL is installed, by its exit code.

use freehold_tests::postgres::{Server, is_installed};
use std::io::Read;
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("check") {
        return ExitCode::from(u8::from(!is_installed()));
    }
    let server = Server::start();
    println!("{}", server.url("postgres"));
    // Whatever comes: the end is what counts, and a broken input is one.
    drop(std::io::stdin().read_to_end(&mut Vec::new()));
    ExitCode::SUCCESS
}
