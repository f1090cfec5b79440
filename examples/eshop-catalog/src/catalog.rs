//! The catalog's store: a file of this machine, or a server that many share. What is in it is the domain's.

use crate::cli::{Database, Options};
use crate::failure::{Exit, Failure};
use freehold::{PostgresStore, SqliteStore, Store};
use std::path::Path;
use std::sync::Arc;

/// An open store.
#[derive(Debug)]
pub(crate) enum Catalog {
    File(SqliteStore),
    Server(PostgresStore),
}

impl Catalog {
    /// Opens the store; `create` says whether to make one when there is none.
    pub(crate) async fn open(options: &Options, create: bool) -> Result<Self, Failure> {
        match &options.db {
            Database::File(path) => {
                if !create && path.metadata().map_or(true, |file| file.len() == 0) {
                    return Err(missing(path));
                }
                Ok(Self::File(SqliteStore::options().create(create).open(path).await?))
            }
            Database::Server(url) => {
                let store = PostgresStore::options().schema(&options.schema).create(create);
                Ok(Self::Server(store.open(url).await?))
            }
        }
    }

    /// The store, for the domain.
    pub(crate) fn shared(&self) -> Arc<dyn Store> {
        match self {
            Self::File(store) => Arc::new(store.clone()),
            Self::Server(store) => Arc::new(store.clone()),
        }
    }

    /// Waits for what is under way, and closes file or connections.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        match self {
            Self::File(store) => store.close().await?,
            Self::Server(store) => store.close().await?,
        }
        Ok(())
    }
}

fn missing(path: &Path) -> Failure {
    let failure = Failure::new(Exit::File, "NO_CATALOG", format!("there is no catalog at {}", path.display()));
    failure.next("Correct `--db`, or make one: `import` and `create` do.")
}
