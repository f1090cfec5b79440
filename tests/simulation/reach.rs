//! The schedules reach every answer that a store may give: an answer that never comes is never compared.

use freehold::reservation::Reserved;
use freehold::store::{Append, AppendReply, Check, Checked, Refusal, Reserve, ReserveReply, Settle, Settled};
use freehold::{MemoryStore, Store, StoreReply};
use freehold_testkit::conformance::Subject;
use freehold_testkit::store::{Alter, AlteredStore};
use freehold_testkit::{ManualClock, drive};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Counts the answers by kind.
#[derive(Debug)]
struct Counting {
    inner: Arc<dyn Store>,
    seen: Arc<Mutex<BTreeMap<&'static str, u32>>>,
}

impl Counting {
    fn count<T>(&self, reply: StoreReply<T>, kinds: impl Fn(&T) -> Vec<&'static str>) -> StoreReply<T> {
        let answer = drive(reply).expect("answered");
        for kind in kinds(&answer) {
            *self.seen.lock().entry(kind).or_default() += 1;
        }
        StoreReply::ready(Ok(answer))
    }
}

impl Alter for Counting {
    fn inner(&self) -> &Arc<dyn Store> {
        &self.inner
    }

    fn reserve(&self, reserve: Reserve) -> StoreReply<ReserveReply> {
        let kind = |answer: &Reserved| match answer {
            Reserved::Newly => "newly reserved",
            Reserved::AlreadyHeld => "already held",
            Reserved::TakenHeld => "taken, held",
            Reserved::TakenPending { same_request: false, .. } => "taken, pending",
            Reserved::TakenPending { same_request: true, .. } => "taken, pending under the same request",
        };
        self.count(self.inner.reserve(reserve), |reply| reply.answers.iter().map(kind).collect())
    }

    fn append(&self, append: Append) -> StoreReply<AppendReply> {
        let with_mark = append.mark > 0;
        self.count(self.inner.append(append), |reply| {
            vec![match reply {
                AppendReply::Written(_) if with_mark => "written with a mark",
                AppendReply::Written(_) => "written",
                AppendReply::Refused(Refusal::Fenced { mark: 0 }) => "fenced by a tombstone",
                AppendReply::Refused(Refusal::Fenced { .. }) if with_mark => "fenced by a newer mark",
                AppendReply::Refused(Refusal::Fenced { .. }) => "fenced by a mark",
                AppendReply::Refused(Refusal::Replay(_)) => "replay",
                AppendReply::Refused(Refusal::Conflict) => "conflict",
                AppendReply::Refused(Refusal::KeyLost) => "key lost",
            }]
        })
    }

    fn settle(&self, settle: Settle) -> StoreReply<Settled> {
        self.count(self.inner.settle(settle), |settled| {
            vec![if matches!(settled, Settled::Written(_)) { "settled, written" } else { "settled, not written" }]
        })
    }

    fn check(&self, check: Check) -> StoreReply<Checked> {
        let is_of_request = check.request.is_some();
        self.count(self.inner.check(check), |checked| {
            vec![match (is_of_request, &checked.first) {
                (false, _) => "version",
                (true, Some(_)) => "version and commit",
                (true, None) => "version and mark",
            }]
        })
    }

    fn sweep(&self) -> StoreReply<u64> {
        self.count(self.inner.sweep(), |swept| vec![if *swept > 0 { "swept some" } else { "swept none" }])
    }
}

/// S1: of everything that a store may say, two thousand schedules hear more than once or twice.
#[test]
fn the_schedules_reach_every_answer() {
    let clock = ManualClock::default();
    let inner = Arc::new(MemoryStore::with_clock(Arc::new(clock.clone())));
    let seen = Arc::default();
    let store = AlteredStore(Counting { inner, seen: Arc::clone(&seen) });
    let subject = Subject::new(store, move |duration| clock.advance(duration));
    assert!(super::disagreement(&subject, 0..2_000).is_none());
    let seen = seen.lock();
    println!("{seen:?}");
    let rare: Vec<_> = seen.iter().filter(|(_, times)| **times < 10).collect();
    assert_eq!((seen.len(), rare), (20, vec![]), "{seen:?}");
}
