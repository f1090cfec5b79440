//! One lane an aggregate: commands on it from this process queue up instead of conflicting (C7). Fair, bounded, and
//! gone when nobody waits. Different aggregates never wait for each other.

use crate::error::Error;
use crate::ids::StreamId;
use crate::limits::LANE_WAITERS_MAX;
use foldhash::HashMap;
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use std::hash::BuildHasher;
use std::sync::Arc;
use tokio::sync::OwnedMutexGuard;

const SHARDS: usize = 64;

#[derive(Debug)]
pub(crate) struct Lanes {
    shards: Box<[Mutex<HashMap<StreamId, Lane>>]>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Lane {
    turn: Arc<tokio::sync::Mutex<()>>,
    users: usize,
}

/// A place in a lane; the turn while it lives.
#[derive(Debug)]
pub(crate) struct Turn {
    // Dropped before the place is given back, so that the next in line finds the lane.
    guard: Option<OwnedMutexGuard<()>>,
    _place: Place,
}

#[derive(Debug)]
struct Place {
    lanes: Arc<Lanes>,
    stream: StreamId,
}

impl Lanes {
    pub(crate) fn new() -> Arc<Self> {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Arc::new(Self { shards, hasher: RandomState::default() })
    }

    /// Waits for the turn on `stream`, in order of arrival. Cancel safe: a dropped wait gives its place up.
    pub(crate) async fn turn(self: &Arc<Self>, stream: &StreamId) -> Result<Turn, Error> {
        let (turn, place) = self.enter(stream)?;
        let guard = turn.lock_owned().await;
        Ok(Turn { guard: Some(guard), _place: place })
    }

    fn enter(self: &Arc<Self>, stream: &StreamId) -> Result<(Arc<tokio::sync::Mutex<()>>, Place), Error> {
        let mut shard = self.shard(stream).lock();
        let lane = shard.entry(stream.clone()).or_default();
        if lane.users >= LANE_WAITERS_MAX {
            return Err(Error::Overloaded { reason: format!("{LANE_WAITERS_MAX} commands wait for {stream}") });
        }
        lane.users += 1;
        let turn = Arc::clone(&lane.turn);
        drop(shard);
        Ok((turn, Place { lanes: Arc::clone(self), stream: stream.clone() }))
    }

    #[expect(clippy::cast_possible_truncation, reason = "only the low bits are used")]
    fn shard(&self, stream: &StreamId) -> &Mutex<HashMap<StreamId, Lane>> {
        &self.shards[self.hasher.hash_one(stream) as usize % SHARDS]
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.guard.take();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut shard = self.lanes.shard(&self.stream).lock();
        if let Some(lane) = shard.get_mut(&self.stream) {
            lane.users -= 1;
            if lane.users == 0 {
                shard.remove(&self.stream);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::AggregateType;
    use crate::text::Text;
    use std::task::{Context, Poll, Waker};

    fn stream(id: &str) -> StreamId {
        let aggregate = AggregateType { context: Text::from("c"), name: Text::from("n") };
        StreamId { aggregate, tenant: Text::from("t"), id: Text::from(id) }
    }

    /// C7: in order of arrival; a dropped wait gives its place up; nothing is kept when nobody waits.
    #[test]
    fn turns_come_in_order_and_a_dropped_wait_leaves_no_trace() {
        let lanes = Lanes::new();
        let (a, b) = (stream("a"), stream("b"));
        let mut context = Context::from_waker(Waker::noop());
        let mut first = Box::pin(lanes.turn(&a));
        let Poll::Ready(Ok(first)) = first.as_mut().poll(&mut context) else { panic!("a free lane has no queue") };
        let mut second = Box::pin(lanes.turn(&a));
        let mut third = Box::pin(lanes.turn(&a));
        let mut other = Box::pin(lanes.turn(&b));
        assert!(second.as_mut().poll(&mut context).is_pending());
        assert!(third.as_mut().poll(&mut context).is_pending());
        assert!(other.as_mut().poll(&mut context).is_ready(), "another aggregate does not wait");
        drop(second);
        drop(first);
        assert!(third.as_mut().poll(&mut context).is_ready());
        drop((third, other));
        assert_eq!(lanes.len(), 0);
    }
}
