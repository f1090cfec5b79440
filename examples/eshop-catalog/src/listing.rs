//! A list of all items, built from the commits: a projection, as small as one can be.

use crate::item::Item;
use freehold::store::{CommitKind, CommitRecord, DELETED, RESTORED};
use freehold::{AggregateType, CodecError, Domain, Error, EventSet, Text};
use std::collections::BTreeMap;

/// How many commits are read at a time.
const BATCH: usize = 1_000;

/// The items of one tenant, by id.
#[derive(Debug)]
pub struct Listing<T> {
    /// The items.
    pub items: BTreeMap<Text, Listed<T>>,
    /// How many commits made them.
    pub commits: u64,
    tenant: Text,
    position: u64,
}

/// An item of a [`Listing`].
#[derive(Debug, Default)]
pub struct Listed<T> {
    /// Its state.
    pub state: T,
    /// Its version.
    pub version: u64,
    /// Whether it is deleted.
    pub deleted: bool,
}

impl<T: Item> Listing<T> {
    /// An empty list of what `tenant` has.
    #[must_use]
    pub fn new(tenant: &str) -> Self {
        Self { items: BTreeMap::new(), commits: 0, tenant: Text::from(tenant), position: 0 }
    }

    /// Reads the commits that were written since the last call. Nothing ever appears behind a position once read.
    ///
    /// # Errors
    ///
    /// When the store can't be read, or holds an event that this program does not know.
    pub async fn catch_up(&mut self, domain: &Domain) -> Result<(), Error> {
        loop {
            let commits = domain.commits(self.position, BATCH).await?;
            let Some(last) = commits.last() else { return Ok(()) };
            for commit in &commits {
                let undecodable = |problem: CodecError| Error::Undecodable {
                    stream: Box::new(commit.stream.clone()),
                    problem: problem.to_string(),
                };
                self.apply(commit).map_err(undecodable)?;
            }
            self.position = last.position;
        }
    }

    fn apply(&mut self, commit: &CommitRecord) -> Result<(), CodecError> {
        if commit.stream.tenant != self.tenant || commit.stream.aggregate != AggregateType::of::<T>() {
            return Ok(());
        }
        self.commits += 1;
        let item = self.items.entry(commit.stream.id.clone()).or_default();
        item.version = commit.version;
        if commit.kind != CommitKind::Command {
            return Ok(());
        }
        for event in &commit.events {
            match event.name.as_str() {
                DELETED => item.deleted = true,
                RESTORED => item.deleted = false,
                _ => item.state.evolve(&T::Event::decode(event)?),
            }
        }
        Ok(())
    }
}
