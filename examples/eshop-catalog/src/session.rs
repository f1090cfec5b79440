//! One run of the program: the open catalog, whose part of it, and who reads the answers.

use crate::cli::Options;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use eshop_catalog::Brand;
use freehold::{AggregateId, Domain, SqliteStore};

/// An open catalog.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) domain: Domain,
    pub(crate) tenant: String,
    pub(crate) output: Output,
    store: SqliteStore,
}

impl Session {
    /// Opens the catalog's file; `create` says whether to make one when there is none.
    pub(crate) async fn open(options: &Options, create: bool) -> Result<Self, Failure> {
        // A tenant that can't be one is told before a file is made for it.
        AggregateId::<Brand>::new("any")?.tenant(&*options.tenant)?;
        let path = &options.db;
        if !create && path.metadata().map_or(true, |file| file.len() == 0) {
            let failure = Failure::new(Exit::File, "NO_CATALOG", format!("there is no catalog at {}", path.display()));
            return Err(failure.next("Correct `--db`, or make one: `import` and `create` do."));
        }
        let store = SqliteStore::options().create(create).open(path).await?;
        let domain = Domain::builder().store(store.clone()).build().await?;
        Ok(Self { domain, tenant: options.tenant.clone(), output: Output::new(options.json), store })
    }

    /// Waits for what is under way, and closes the file.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        let Self { domain, store, .. } = self;
        domain.close().await?;
        drop(domain);
        Ok(store.close().await?)
    }
}
