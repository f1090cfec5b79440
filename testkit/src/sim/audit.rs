//! The audit at the end of a schedule: what is stored, key by key and stream by stream, against model and log (R20).

use super::judge::{Judge, Verdict, agree};
use crate::model::Model;
use freehold::reservation::{KeyId, Record, RecordState};
use freehold::store::{CommitRecord, Load};
use freehold::{Store, StoreError, StreamId, Timestamp, Token};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is stored.
struct Stored {
    streams: Vec<(StreamId, Vec<Token>)>,
    /// Who holds which key, as the commits say.
    by_log: BTreeMap<KeyId, StreamId>,
    records: Vec<(KeyId, Option<Record>)>,
}

pub(super) async fn audit<'s>(
    store: &dyn Store,
    judge: &mut Judge,
    keys: &[KeyId],
    streams: impl Iterator<Item = &'s StreamId>,
) -> Verdict {
    let mut commits = Vec::new();
    let mut stored = Stored { streams: Vec::new(), by_log: BTreeMap::new(), records: Vec::new() };
    let trouble = |error: StoreError| error.to_string();
    for stream in streams.collect::<BTreeSet<_>>() {
        let load = Load { stream: stream.clone(), after_version: 0, snapshot_of: None };
        let loaded = store.load(load).await.map_err(trouble)?;
        let tokens = loaded.commits.iter().map(|commit| commit.token).collect();
        stored.streams.push((stream.clone(), tokens));
        commits.extend(loaded.commits);
    }
    for key in keys {
        let record = store.reservation(key.clone()).await.map_err(trouble)?.record;
        stored.records.push((key.clone(), record));
    }
    stored.by_log = replay(commits, keys)?;
    judge.keep(|model| stored.agrees(model))
}

/// Who holds which key, by what the commits took and freed, in the order of their positions.
fn replay(mut commits: Vec<Arc<CommitRecord>>, keys: &[KeyId]) -> Result<BTreeMap<KeyId, StreamId>, String> {
    let mut holders = BTreeMap::new();
    commits.sort_by_key(|commit| commit.position);
    for commit in commits {
        for change in &commit.keys {
            let key = KeyId { key: change.key.clone(), ..keys[0].clone() };
            match change.taken {
                true => drop(holders.insert(key, commit.stream.clone())),
                false => agree("who frees a key, by the log", &holders.remove(&key), &Some(commit.stream.clone()))?,
            }
        }
    }
    Ok(holders)
}

impl Stored {
    fn agrees(&self, model: &Model) -> Verdict {
        for (stream, tokens) in &self.streams {
            agree("the commits of a stream", &&**tokens, &model.commits(stream))?;
        }
        for (key, record) in &self.records {
            let expected = model.key(key);
            let confirmed = record.as_ref().filter(|record| record.is_confirmed());
            let held_by = confirmed.map(|record| record.holder.clone());
            agree("the holder of a key", &held_by, &expected.held_by)?;
            agree("the holder by the log (R20)", &self.by_log.get(key), &held_by.as_ref())?;
            let leases = record.as_ref().map_or(0, |record| live_leases(&record.state, model.now));
            agree("the live leases of a key", &leases, &expected.live_claims(model.now))?;
        }
        Ok(())
    }
}

fn live_leases(state: &RecordState, now: Timestamp) -> usize {
    match state {
        RecordState::Pending(leases) => leases.iter().filter(|lease| now < lease.expires_at).count(),
        RecordState::Confirmed(_) => 0,
    }
}
