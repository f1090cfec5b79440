//! Stores between whose calls and answers time passes: a late answer, and a queue that a test works off by hand.

use freehold::{MemoryStore, StoreReply};
use freehold_testkit::drive;
use freehold_testkit::store::Call;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Does what is asked at once, and answers one kind of call a little later, as every store but one in memory does.
#[derive(Debug, Clone)]
pub(super) struct Late {
    pub(super) inner: MemoryStore,
    pub(super) call: Call,
    pub(super) by: Duration,
}

impl Late {
    fn around<T: Send + 'static>(
        &self,
        call: Call,
        perform: impl FnOnce(&MemoryStore) -> StoreReply<T>,
    ) -> StoreReply<T> {
        let reply = perform(&self.inner);
        if call != self.call {
            return reply;
        }
        let by = self.by;
        StoreReply::waiting(async move {
            tokio::time::sleep(by).await;
            reply.await
        })
    }
}

freehold_testkit::store_around!(Late);

type Job = Box<dyn FnOnce(&MemoryStore) + Send>;

/// Works behind a queue, one call each time that it is pumped.
#[derive(Clone)]
pub(super) struct Queued {
    inner: MemoryStore,
    jobs: Arc<Mutex<VecDeque<Job>>>,
}

impl Queued {
    pub(super) fn new(inner: MemoryStore) -> Self {
        Self { inner, jobs: Arc::default() }
    }

    /// Does the call that has waited longest: whether there was one.
    pub(super) fn pump(&self) -> bool {
        let job = self.jobs.lock().pop_front();
        job.map(|job| job(&self.inner)).is_some()
    }

    fn around<T: Send + 'static>(
        &self,
        call: Call,
        perform: impl FnOnce(&MemoryStore) -> StoreReply<T> + Send + 'static,
    ) -> StoreReply<T> {
        if matches!(call, Call::Register | Call::Commits) {
            return perform(&self.inner);
        }
        let (answer, answered) = tokio::sync::oneshot::channel();
        self.jobs.lock().push_back(Box::new(move |inner| {
            // Nobody may wait for it any more.
            let _dropped = answer.send(drive(perform(inner)));
        }));
        StoreReply::waiting(async move { answered.await.expect("every job is done") })
    }
}

freehold_testkit::store_around!(Queued);

impl fmt::Debug for Queued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queued({} job(s))", self.jobs.lock().len())
    }
}
