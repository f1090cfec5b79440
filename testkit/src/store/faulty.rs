//! `FaultyStore`: makes calls on a store fail, get lost, hang, or arrive late, at chosen places.

use super::Call;
use freehold::{Store, StoreError, StoreErrorKind, StoreReply};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::future::pending;
use std::sync::Arc;
use tokio::sync::Notify;

/// What goes wrong with a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// It fails, surely without effect.
    FailBefore,
    /// It has no effect, and its answer is lost: the caller can't know that.
    LostBefore,
    /// It has its effect, and its answer is lost.
    LostAfter,
    /// It has no effect, and no answer ever comes: the process died before it, or waits for ever.
    HangBefore,
    /// It has its effect, and no answer ever comes: the process died after it.
    HangAfter,
    /// Its answer is lost, and it has its effect only when [`FaultyStore::release_held`] lets it through.
    Late,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 6] =
        [Self::FailBefore, Self::LostBefore, Self::LostAfter, Self::HangBefore, Self::HangAfter, Self::Late];

    /// Whether an answer comes at all.
    #[must_use]
    pub const fn hangs(self) -> bool {
        matches!(self, Self::HangBefore | Self::HangAfter)
    }
}

/// Makes calls on the store inside fail. Clones share the plan.
///
/// ```
/// use freehold::{MemoryStore, Store};
/// use freehold_testkit::store::{Call, Fault, FaultyStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let store = FaultyStore::new(MemoryStore::new());
/// store.fail(Call::Sweep, 2, Fault::FailBefore);
/// assert!(store.sweep().await.is_ok());
/// assert!(store.sweep().await.is_err(), "the second one fails");
/// assert!(store.sweep().await.is_ok());
/// # }
/// ```
#[derive(Clone)]
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    state: Arc<Mutex<State>>,
    hung: Arc<Notify>,
}

#[derive(Default)]
struct State {
    calls: Vec<Call>,
    by_number: HashMap<usize, Fault>,
    by_name: HashMap<(Call, usize), Fault>,
    held: Vec<Held>,
}

type Perform = Box<dyn FnOnce(&dyn Store) + Send>;

/// A call that is held back.
pub struct Held(Perform);

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held(..)")
    }
}

impl FaultyStore {
    /// Wraps `store`; nothing fails yet.
    pub fn new(store: impl Store) -> Self {
        Self::around_shared(Arc::new(store))
    }

    /// Wraps a store that others use too.
    #[must_use]
    pub fn around_shared(store: Arc<dyn Store>) -> Self {
        Self { inner: store, state: Arc::default(), hung: Arc::default() }
    }

    /// Completes once a call hangs, so that a test can drop what waits for it.
    pub async fn until_hung(&self) {
        self.hung.notified().await;
    }

    /// Makes the call number `number` fail, counted from 1 over all calls from now on.
    pub fn fail_number(&self, number: usize, fault: Fault) {
        let mut state = self.state.lock();
        let number = state.calls.len() + number;
        state.by_number.insert(number, fault);
    }

    /// Makes the `occurrence`-th call of this name fail, counted from 1 from now on.
    pub fn fail(&self, call: Call, occurrence: usize, fault: Fault) {
        let mut state = self.state.lock();
        let so_far = state.calls.iter().filter(|made| **made == call).count();
        state.by_name.insert((call, so_far + occurrence), fault);
    }

    /// Nothing fails any more.
    pub fn heal(&self) {
        let mut state = self.state.lock();
        state.by_name.clear();
        state.by_number.clear();
    }

    /// The calls so far.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.state.lock().calls.clone()
    }

    /// Lets the calls through that are held back by [`Fault::Late`], and says how many there were.
    #[expect(clippy::must_use_candidate, reason = "it is called for what it lets through")]
    pub fn release_held(&self) -> usize {
        let held = std::mem::take(&mut self.state.lock().held);
        let count = held.len();
        held.into_iter().for_each(|Held(perform)| perform(&*self.inner));
        count
    }

    fn next_fault(&self, call: Call) -> Option<Fault> {
        let mut state = self.state.lock();
        state.calls.push(call);
        let number = state.calls.len();
        let occurrence = state.calls.iter().filter(|made| **made == call).count();
        state.by_number.remove(&number).or_else(|| state.by_name.remove(&(call, occurrence)))
    }

    fn around<T: Send + 'static>(
        &self,
        call: Call,
        perform: impl FnOnce(&dyn Store) -> StoreReply<T> + Send + 'static,
    ) -> StoreReply<T> {
        let lost =
            || StoreError::unknown(StoreErrorKind::Unavailable, format!("{call:?}: the answer was lost on purpose"));
        match self.next_fault(call) {
            None => perform(&*self.inner),
            Some(Fault::FailBefore) => StoreReply::ready(Err(StoreError::not_done(
                StoreErrorKind::Unavailable,
                format!("{call:?} failed on purpose"),
            ))),
            Some(Fault::LostBefore) => StoreReply::ready(Err(lost())),
            Some(Fault::HangBefore) => {
                let hung = Arc::clone(&self.hung);
                StoreReply::waiting(async move {
                    hung.notify_one();
                    pending().await
                })
            }
            Some(Fault::Late) => {
                self.state.lock().held.push(Held(Box::new(move |inner| drop(perform(inner)))));
                StoreReply::ready(Err(lost()))
            }
            Some(Fault::LostAfter) => {
                let (reply, lost) = (perform(&*self.inner), lost());
                StoreReply::waiting(async move {
                    // The answer is on its way when it is lost.
                    drop(reply.await);
                    Err(lost)
                })
            }
            Some(Fault::HangAfter) => {
                let (reply, hung) = (perform(&*self.inner), Arc::clone(&self.hung));
                StoreReply::waiting(async move {
                    drop(reply.await);
                    hung.notify_one();
                    pending().await
                })
            }
        }
    }
}

crate::store_around!(FaultyStore);

impl fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyStore").field("inner", &self.inner).finish_non_exhaustive()
    }
}
