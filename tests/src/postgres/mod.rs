//! PostgreSQL for tests: real servers, from the binaries of this machine, and schemas on them. No test, and nothing of
//! the store.

mod install;
mod schema;
mod server;
mod sql;

pub use install::is_installed;
pub use schema::Schema;
pub use server::{Server, Stop};
pub use sql::{Row, Sql};

/// The variable with the URL of the server that the cheap tests share: a database in which they may do as they like.
pub const SHARED: &str = "FREEHOLD_TEST_POSTGRES";

/// The URL of the server that the cheap tests share.
///
/// # Panics
///
/// When nobody has started one.
#[must_use]
pub fn shared() -> String {
    std::env::var(SHARED).unwrap_or_else(|_| {
        panic!("no PostgreSQL to test with: run tests/run, which starts one, or set {SHARED} to the URL of a database")
    })
}
