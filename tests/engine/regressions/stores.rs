//! Stores between whose calls and answers time passes: a late answer, and a queue that a test works off by hand.

use freehold::reservation::{KeyId, Record};
use freehold::{MemoryStore, Store, StoreReply, StreamId, store};
use freehold_testkit::drive;
use freehold_testkit::store::Call;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Implements `Store` by sending every call through `self.around(call, closure)`.
macro_rules! store_around {
    ($store:ty; $($method:ident($call:ident $(, $argument:ident: $type:ty)*) -> $answer:ty;)*) => {
        impl Store for $store {
            $(fn $method(&self $(, $argument: $type)*) -> StoreReply<$answer> {
                self.around(Call::$call, move |inner| inner.$method($($argument),*))
            })*
        }
    };
    ($store:ty) => {
        store_around! { $store;
            register(Register, namespaces: Vec<store::NamespaceRecord>) -> Vec<store::Registered>;
            load(Load, load: store::Load) -> store::LoadedStream;
            check(Check, check: store::Check) -> store::Checked;
            reserve(Reserve, reserve: store::Reserve) -> store::ReserveReply;
            give_up(GiveUp, give_up: store::GiveUp) -> ();
            append(Append, append: store::Append) -> store::AppendReply;
            settle(Settle, settle: store::Settle) -> store::Settled;
            save_snapshot(SaveSnapshot, snapshot: store::SnapshotRecord) -> ();
            commits(Commits, after: u64, limit: usize) -> Vec<store::CommitRecord>;
            reservation(Reservation, key: KeyId) -> Option<Record>;
            held_by(HeldBy, holder: StreamId) -> Vec<KeyId>;
            rekey(Rekey, rekey: store::Rekey) -> store::RekeyReply;
            sweep(Sweep) -> u64;
            drain(Drain) -> ();
        }
    };
}
pub(super) use store_around;

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

store_around!(Late);

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

store_around!(Queued);

impl fmt::Debug for Queued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queued({} job(s))", self.jobs.lock().len())
    }
}
