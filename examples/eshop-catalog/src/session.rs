//! One run of the program: the open catalog, whose part of it, and who reads the answers.

use crate::catalog::Catalog;
use crate::cli::Options;
use crate::failure::Failure;
use crate::output::Output;
use eshop_catalog::Brand;
use freehold::{AggregateId, Domain};

/// An open catalog.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) domain: Domain,
    pub(crate) tenant: String,
    pub(crate) output: Output,
    catalog: Catalog,
}

impl Session {
    /// Opens the catalog; `create` says whether to make one when there is none.
    pub(crate) async fn open(options: &Options, create: bool) -> Result<Self, Failure> {
        // A tenant that can't be one is told before a catalog is made for it.
        AggregateId::<Brand>::new("any")?.tenant(&*options.tenant)?;
        let catalog = Catalog::open(options, create).await?;
        let domain = Domain::builder().shared_store(catalog.shared()).build().await?;
        Ok(Self { domain, tenant: options.tenant.clone(), output: Output::new(options.json), catalog })
    }

    /// Waits for what is under way, and closes the catalog.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        let Self { domain, catalog, .. } = self;
        domain.close().await?;
        drop(domain);
        catalog.close().await
    }
}
