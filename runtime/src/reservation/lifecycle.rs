//! The life cycle of a reservation as pure functions: record, operation, time in; change and answer out. No I/O.
//!
//! Every store takes its answers from here, so that no two can disagree. The testkit's reference model does not, so that a
//! mistake here does not stand there as well.
//! A change is computed from the record as read under the store's own lock (S2), and applied as a whole.
//!
//! | record | reserve | give up | confirm | release |
//! | --- | --- | --- | --- | --- |
//! | none | pending | - | confirmed (lost, when it was already held) | - |
//! | mine, pending | pending, one more lease | lease removed | confirmed | lease removed |
//! | mine, confirmed | - (already held) | - | - | removed |
//! | another's, live | - (taken) | - | - (lost) | - |
//! | another's, expired | pending, mine | - | confirmed, mine | - |

use super::{Lease, Record, RecordState, Reserved};
use crate::clock::Timestamp;
use crate::ids::{StreamId, Token};

/// What to do with a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Leave it as it is.
    Keep,
    /// Write this one in its place.
    Put(Record),
    /// Remove it.
    Delete,
}

/// What an append does with a key (R4, R8, R10).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum KeyUse {
    /// Confirm it: `reserve` answered that it was newly reserved.
    Take,
    /// Check that it is still held: `reserve` answered that it was held already.
    Keep,
    /// Free it, if it is held; and drop the attempt's own lease, if there is one.
    Release,
}

/// A key that the append was to confirm is another's by now (R8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost;

/// Reserves a key for `holder` (R1, R3).
pub fn reserve(record: Option<&Record>, holder: &StreamId, lease: Lease, now: Timestamp) -> (Change, Reserved) {
    let pending = |leases| Change::Put(Record { holder: holder.clone(), state: RecordState::Pending(leases) });
    let Some(record) = record else { return (pending(vec![lease]), Reserved::Newly) };
    match &record.state {
        RecordState::Confirmed(_) if record.holder == *holder => (Change::Keep, Reserved::AlreadyHeld),
        RecordState::Confirmed(_) => (Change::Keep, Reserved::TakenHeld),
        RecordState::Pending(leases) => {
            let live = leases.iter().filter(|other| other.is_live(now));
            if record.holder == *holder {
                let mut kept: Vec<Lease> = live.filter(|other| other.token != lease.token).copied().collect();
                kept.push(lease);
                return (pending(kept), Reserved::Newly);
            }
            match live.clone().map(|other| other.expires_at).max() {
                None => (pending(vec![lease]), Reserved::Newly),
                Some(until) => {
                    let same_request = live.clone().any(|other| other.request == lease.request);
                    (Change::Keep, Reserved::TakenPending { until, same_request })
                }
            }
        }
    }
}

/// Gives up the lease `token` of `holder`, and nothing else (R5, U08).
#[must_use]
pub fn give_up(record: Option<&Record>, holder: &StreamId, token: Token) -> Change {
    let Some(Record { holder: owner, state: RecordState::Pending(leases) }) = record else { return Change::Keep };
    if owner != holder || !leases.iter().any(|lease| lease.token == token) {
        return Change::Keep;
    }
    let kept: Vec<Lease> = leases.iter().filter(|lease| lease.token != token).copied().collect();
    if kept.is_empty() {
        return Change::Delete;
    }
    Change::Put(Record { holder: owner.clone(), state: RecordState::Pending(kept) })
}

/// Confirms a key for `holder` with the commit at `position` (R4, R8).
///
/// # Errors
///
/// [`Lost`] when the key is another's by now, or when a key that was to be kept is no longer held.
pub fn confirm(
    record: Option<&Record>,
    holder: &StreamId,
    position: u64,
    keep: bool,
    now: Timestamp,
) -> Result<Change, Lost> {
    let confirmed = || Change::Put(Record { holder: holder.clone(), state: RecordState::Confirmed(position) });
    match record {
        Some(Record { holder: owner, state: RecordState::Confirmed(_) }) if owner == holder => Ok(Change::Keep),
        // What was held and is held no longer was released by a commit of this stream: decide again.
        _ if keep => Err(Lost),
        Some(record) if record.holder != *holder && record.is_live(now) => Err(Lost),
        _ => Ok(confirmed()),
    }
}

/// Frees a key that `holder` holds; otherwise drops the lease `token` of `holder`, if there is one (R10, R4).
#[must_use]
pub fn release(record: Option<&Record>, holder: &StreamId, token: Token) -> Change {
    match record {
        Some(Record { holder: owner, state: RecordState::Confirmed(_) }) if owner == holder => Change::Delete,
        _ => give_up(record, holder, token),
    }
}

/// Removes a record that has expired (R7). Housekeeping: never needed for a key to be free again.
#[must_use]
pub fn sweep(record: Option<&Record>, now: Timestamp) -> Change {
    match record {
        Some(record) if !record.is_live(now) => Change::Delete,
        _ => Change::Keep,
    }
}

/// What an append does to the record of one of its keys.
///
/// # Errors
///
/// [`Lost`] as in [`confirm`].
pub fn append(
    record: Option<&Record>,
    key_use: KeyUse,
    holder: &StreamId,
    token: Token,
    position: u64,
    now: Timestamp,
) -> Result<Change, Lost> {
    match key_use {
        KeyUse::Take => confirm(record, holder, position, false, now),
        KeyUse::Keep => confirm(record, holder, position, true, now),
        KeyUse::Release => Ok(release(record, holder, token)),
    }
}
