//! `RecordingStore`: which calls are made on a store, in order.

use freehold::{Store, StoreReply};
use parking_lot::Mutex;
use std::sync::Arc;

/// A call on a store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each is the method of `Store` of that name")]
pub enum Call {
    Register,
    Load,
    Check,
    Reserve,
    GiveUp,
    Append,
    Settle,
    SaveSnapshot,
    Commits,
    Reservation,
    HeldBy,
    Rekey,
    Sweep,
    Drain,
}

/// Records the calls made on the store inside. Clones share the record.
///
/// ```
/// use freehold::{Domain, MemoryStore};
/// use freehold_testkit::store::{Call, RecordingStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), freehold::BuildError> {
/// let store = RecordingStore::new(MemoryStore::new());
/// let domain = Domain::builder().store(store.clone()).build().await?;
/// assert_eq!(store.calls(), [Call::Register]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RecordingStore {
    inner: Arc<dyn Store>,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl RecordingStore {
    /// Wraps `store`.
    pub fn new(store: impl Store) -> Self {
        Self { inner: Arc::new(store), calls: Arc::default() }
    }

    /// The calls so far, in the order in which they were handed over.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().clone()
    }

    /// The calls so far, and forgets them.
    #[must_use]
    pub fn take_calls(&self) -> Vec<Call> {
        std::mem::take(&mut *self.calls.lock())
    }

    fn around<T>(&self, call: Call, perform: impl FnOnce(&dyn Store) -> StoreReply<T>) -> StoreReply<T> {
        self.calls.lock().push(call);
        perform(&*self.inner)
    }
}

crate::store_around!(RecordingStore);
