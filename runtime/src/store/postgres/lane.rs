//! `Lane`: calls that wait for a connection, and leave together as a group. What a group does is in `append` and `leases`.
//!
//! A worker takes whatever waits, with no timer: at low load a call leaves alone and at once, and the more there is to
//! do, the larger the groups. Two calls that name one stream or one key never leave in one group, for a statement can't
//! write one row twice; the later one stays, and nothing that it names is taken before it.

use super::Core;
use super::errors::Trouble;
use crate::store::{StoreError, StoreErrorKind, StoreReply};
use parking_lot::Mutex;
use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::{Notify, oneshot};

/// How often a group is run again because the database gave it up for another transaction (R18).
const RUNS_MAX: u32 = 8;
/// How many keys a group has at most, unless one call has more.
const KEYS_MAX: usize = 2_000;
/// How many bytes of payload a group has at most, unless one call has more.
const BYTES_MAX: usize = 8 << 20;

/// How long a lock of the server is waited for, in milliseconds.
pub(super) type LockWait = i32;

/// For a group: whoever holds the lock will hardly be longer about it.
pub(super) const GROUP_WAIT_MS: LockWait = 2_000;
/// For a call of a group that has waited in vain, and is run again alone: all the others wait for it.
const ALONE_WAIT_MS: LockWait = 250;

/// A call that can leave together with others of its kind.
pub(super) trait Job: Sized + Send + 'static {
    /// The hashes of what it names: two calls that share one don't leave together.
    fn names(&self) -> &[u64];

    /// How many bytes of payload it sends, roughly.
    fn bytes(&self) -> usize;

    /// Makes the calls, in one transaction, and keeps their answers. An error means that none has taken effect, or that
    /// nobody knows, as it says; what was kept is void then. A lock is waited for as long as `wait` says.
    fn call(core: &Core, wait: LockWait, jobs: &mut [Self]) -> impl Future<Output = Result<(), Trouble>> + Send;

    /// Gives the answer that was kept.
    fn answer(self, core: &Arc<Core>);

    /// Answers with the error.
    fn fail(self, error: &StoreError);
}

/// Calls that wait.
pub(super) struct Lane<J> {
    queue: Mutex<VecDeque<J>>,
    woken: Notify,
    is_closed: AtomicBool,
    /// How many workers there are; none before the first, and none after the last has ended.
    workers: AtomicUsize,
    has_died: AtomicBool,
    queue_max: usize,
    group_max: usize,
}

impl<J: Job> Lane<J> {
    pub(super) fn new(queue_max: usize, group_max: usize) -> Self {
        let (queue, woken, workers) = (Mutex::default(), Notify::new(), AtomicUsize::new(0));
        let (is_closed, has_died) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { queue, woken, is_closed, workers, has_died, queue_max, group_max }
    }

    /// Puts a call at the end of the queue; whether it is too long for that (S6).
    pub(super) fn is_full(&self) -> bool {
        self.queue.lock().len() >= self.queue_max
    }

    /// Without a worker left, a call is dropped, which answers it.
    pub(super) fn push(&self, job: J) {
        let mut queue = self.queue.lock();
        if !self.has_died.load(Ordering::Acquire) {
            queue.push_back(job);
            drop(queue);
            self.woken.notify_one();
        }
    }

    /// Enters a worker. When the last one is dropped, with the runtime it may be, so is what waits.
    pub(super) fn enter(self: &Arc<Self>) -> Working<J> {
        self.workers.fetch_add(1, Ordering::AcqRel);
        Working(Arc::clone(self))
    }

    /// What waits is still done; then the workers end.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.woken.notify_waiters();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// The next group; none when the lane is closed and empty.
    async fn group(&self) -> Option<Vec<J>> {
        loop {
            let woken = self.woken.notified();
            tokio::pin!(woken);
            woken.as_mut().enable();
            let group = self.take();
            if !group.is_empty() {
                return Some(group);
            }
            if self.is_closed() {
                return None;
            }
            woken.await;
        }
    }

    fn take(&self) -> Vec<J> {
        let mut queue = self.queue.lock();
        let (group, rest) = pick(&mut queue, self.group_max);
        if rest {
            self.woken.notify_one();
        }
        group
    }

    /// Works until the lane is closed and empty.
    pub(super) async fn work(&self, core: &Arc<Core>) {
        while let Some(group) = self.group().await {
            run(core, group).await;
        }
    }
}

/// A worker of a lane.
pub(super) struct Working<J: Job>(Arc<Lane<J>>);

impl<J: Job> Working<J> {
    /// The lane.
    pub(super) fn lane(&self) -> &Arc<Lane<J>> {
        &self.0
    }
}

impl<J: Job> Drop for Working<J> {
    fn drop(&mut self) {
        if self.0.workers.fetch_sub(1, Ordering::AcqRel) == 1 {
            let mut queue = self.0.queue.lock();
            self.0.has_died.store(true, Ordering::Release);
            let left = std::mem::take(&mut *queue);
            // Their answers wake whoever waits, which must not meet the lock.
            drop(queue);
            drop(left);
        }
    }
}

/// Takes the calls that may leave together, in their order, and says whether more are left that could leave now.
fn pick<J: Job>(queue: &mut VecDeque<J>, group_max: usize) -> (Vec<J>, bool) {
    let (mut group, mut named, mut passed) = (Vec::new(), HashSet::new(), 0);
    let (mut keys, mut bytes) = (0, 0);
    while let Some(job) = queue.get(passed) {
        let is_large = keys + job.names().len() > KEYS_MAX || bytes + job.bytes() > BYTES_MAX;
        if group.len() >= group_max || (is_large && !group.is_empty()) {
            return (group, true);
        }
        let is_free = job.names().iter().all(|name| !named.contains(name));
        named.extend(job.names().iter().copied());
        if is_free {
            keys += job.names().len();
            bytes += job.bytes();
            group.extend(queue.remove(passed));
        } else {
            passed += 1;
            // One key that everybody wants must not make every group look through the whole queue.
            if passed > 4 * group_max {
                break;
            }
        }
    }
    (group, false)
}

/// Runs a group until every call of it has its answer.
async fn run<J: Job>(core: &Arc<Core>, mut group: Vec<J>) {
    let trouble = match in_one(core, GROUP_WAIT_MS, &mut group).await {
        Ok(()) => return group.into_iter().for_each(|job| job.answer(core)),
        Err(trouble) => trouble,
    };
    if group.len() == 1 || !trouble.may_be_of_one() {
        return fail(core, group, &trouble);
    }
    // Whose fault it was does not matter: alone each one gets the answer that it deserves.
    tracing::debug!(calls = group.len(), "a group is run again one by one");
    for job in group {
        let mut alone = vec![job];
        match in_one(core, ALONE_WAIT_MS, &mut alone).await {
            Ok(()) => alone.into_iter().for_each(|job| job.answer(core)),
            Err(trouble) => fail(core, alone, &trouble),
        }
    }
}

async fn in_one<J: Job>(core: &Core, wait: LockWait, group: &mut [J]) -> Result<(), Trouble> {
    let mut runs = 1;
    loop {
        match J::call(core, wait, group).await.map_err(Trouble::after_the_call) {
            Err(trouble) if trouble.asks_for_another_run() && runs < RUNS_MAX => runs += 1,
            done => return done,
        }
    }
}

fn fail<J: Job>(core: &Core, group: Vec<J>, trouble: &Trouble) {
    let error = trouble.explained(core.site());
    tracing::debug!(calls = group.len(), %error, "a group failed");
    group.into_iter().for_each(|job| job.fail(&error));
}

impl<J> fmt::Debug for Lane<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane").field("waiting", &self.queue.lock().len()).finish_non_exhaustive()
    }
}

/// Where an answer goes.
#[derive(Debug)]
pub(super) struct Answer<T>(oneshot::Sender<Result<T, StoreError>>);

impl<T: Send + 'static> Answer<T> {
    /// An answer to come, and the reply that waits for it.
    pub(super) fn pair() -> (Self, StoreReply<T>) {
        let (sender, answer) = oneshot::channel();
        let reply = StoreReply::waiting(async move {
            let lost = |_| {
                let message = "the store's runtime ended before it answered; open the store again";
                Err(StoreError::unknown(StoreErrorKind::Closed, message))
            };
            answer.await.unwrap_or_else(lost)
        });
        (Self(sender), reply)
    }

    /// Nobody may be waiting any more: a dropped reply withdraws nothing (C8).
    pub(super) fn give(self, answer: Result<T, StoreError>) {
        let _ = self.0.send(answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named(u32, Vec<u64>);

    impl Job for Named {
        fn names(&self) -> &[u64] {
            &self.1
        }

        fn bytes(&self) -> usize {
            1
        }

        async fn call(_: &Core, _: LockWait, _: &mut [Self]) -> Result<(), Trouble> {
            Ok(())
        }

        fn answer(self, _: &Arc<Core>) {}

        fn fail(self, _: &StoreError) {}
    }

    fn picked(jobs: &[(u32, &[u64])], group_max: usize) -> (Vec<u32>, Vec<u32>, bool) {
        let mut queue: VecDeque<Named> = jobs.iter().map(|(number, names)| Named(*number, names.to_vec())).collect();
        let (group, more) = pick(&mut queue, group_max);
        let numbers = |jobs: &mut dyn Iterator<Item = Named>| jobs.map(|job| job.0).collect();
        (numbers(&mut group.into_iter()), numbers(&mut queue.into_iter()), more)
    }

    #[test]
    fn what_shares_nothing_leaves_together() {
        assert_eq!(picked(&[(1, &[1]), (2, &[2]), (3, &[])], 9), (vec![1, 2, 3], vec![], false));
        assert_eq!(picked(&[(1, &[1]), (2, &[2]), (3, &[3])], 2), (vec![1, 2], vec![3], true));
    }

    #[test]
    fn nobody_overtakes_one_that_stays_for_what_both_name() {
        let jobs: &[(u32, &[u64])] = &[(1, &[7]), (2, &[7, 8]), (3, &[8]), (4, &[9])];
        assert_eq!(picked(jobs, 9), (vec![1, 4], vec![2, 3], false));
    }

    #[test]
    fn a_group_is_bounded_and_a_large_call_leaves_alone() {
        let large: Vec<u64> = (0..10_000).collect();
        assert_eq!(picked(&[(1, &[1]), (2, &large)], 9), (vec![1], vec![2], true), "it names what the first one names");
        assert_eq!(picked(&[(2, &large), (1, &[20_000])], 9), (vec![2], vec![1], true));
    }
}
