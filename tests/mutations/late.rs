//! Mistakes about what keeps an append out that arrives too late: the marks of requests; and about reading a key.

use freehold::reservation::KeyId;
use freehold::store::{Append, AppendReply, Check, Checked, GiveUp, KeyReading, Refusal, RequestKey};
use freehold::{MemoryStore, RequestId, Store, StoreReply, StreamId, Timestamp, Token};
use freehold_testkit::conformance::Subject;
use freehold_testkit::store::{Alter, AlteredStore};
use freehold_testkit::{ManualClock, drive};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// What a store does wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mistake {
    /// None; the suite must pass.
    None,
    /// A check says a mark and leaves none.
    LeavesNoMark,
    /// An append that meets a mark leaves its leases.
    FencedKeepsLeases,
    /// A second check says the mark of the first.
    MarkStandsStill,
    /// A mark is one of the request id, whatever the type and tenant.
    MarksEveryType,
    /// A mark is met by appends to the stream that was asked about, and by no other.
    MarksOneStream,
    /// A check that finds the commit leaves a mark as well.
    MarksTheCommitted,
    /// Marks are kept by the process.
    ForgetsMarks,
    /// A check without a request id leaves a mark under some other.
    MarksWithoutRequest,
    /// Who reads a key is told the epoch of the beginning.
    ReadingKnowsFirstEpochOnly,
    /// Who reads a key is not told when.
    ReadingNowIsZero,
}

type Marks = HashMap<(Option<StreamId>, RequestId), u64>;

/// A memory store that fences no append; its marks are kept here.
#[derive(Debug, Clone)]
struct Mutant {
    inner: Arc<dyn Store>,
    mistake: Mistake,
    marks: Arc<Mutex<Marks>>,
}

impl Mutant {
    /// What a mark is of.
    fn place(&self, stream: &StreamId, request: &RequestId) -> (Option<StreamId>, RequestId) {
        let of = match self.mistake {
            Mistake::MarksEveryType => None,
            Mistake::MarksOneStream => Some(stream.clone()),
            _ => Some(StreamId { id: "whichever".into(), ..stream.clone() }),
        };
        (of, request.clone())
    }
}

impl Alter for Mutant {
    fn inner(&self) -> &Arc<dyn Store> {
        &self.inner
    }

    fn check(&self, mut check: Check) -> StoreReply<Checked> {
        if self.mistake == Mistake::MarksWithoutRequest {
            check.request.get_or_insert_with(|| RequestKey::of_token(Token::from_u128(0)).id);
        }
        let Check { stream, request } = check.clone();
        let mut checked = drive(self.inner.check(check)).expect("checked");
        let Some(request) = request else { return StoreReply::ready(Ok(checked)) };
        let place = self.place(&stream, &request);
        let mut marks = self.marks.lock();
        if self.mistake == Mistake::MarksTheCommitted && checked.first.is_some() {
            marks.insert(place, u64::MAX);
        } else if checked.first.is_none() && self.mistake != Mistake::LeavesNoMark {
            let mark = marks.entry(place).or_insert(checked.mark);
            if self.mistake != Mistake::MarkStandsStill {
                *mark = checked.mark;
            }
            checked.mark = *mark;
        }
        StoreReply::ready(Ok(checked))
    }

    fn append(&self, mut append: Append) -> StoreReply<AppendReply> {
        let mark = self.marks.lock().get(&self.place(&append.stream, &append.request.id)).copied().unwrap_or_default();
        if mark > append.mark {
            if self.mistake != Mistake::FencedKeepsLeases {
                let keys = append.keys.into_iter().map(|claim| claim.key).collect();
                drop(self.inner.give_up(GiveUp { holder: append.stream, token: append.token, keys }));
            }
            return StoreReply::ready(Ok(AppendReply::Refused(Refusal::Fenced { mark })));
        }
        append.mark = u64::MAX;
        self.inner.append(append)
    }

    fn reservation(&self, key: KeyId) -> StoreReply<KeyReading> {
        let mut reading = drive(self.inner.reservation(key)).expect("read");
        match self.mistake {
            Mistake::ReadingKnowsFirstEpochOnly => reading.epoch = reading.epoch.map(|_| 1),
            Mistake::ReadingNowIsZero => reading.now = Timestamp::from_millis(0),
            _ => {}
        }
        StoreReply::ready(Ok(reading))
    }
}

pub(super) fn subject(mistake: Mistake) -> Subject {
    let clock = ManualClock::default();
    let inner: Arc<dyn Store> = Arc::new(MemoryStore::with_clock(Arc::new(clock.clone())));
    let mutant = Mutant { inner, mistake, marks: Arc::default() };
    let reopened = mutant.clone();
    Subject::new(AlteredStore(mutant), move |duration| clock.advance(duration)).reopening(move || {
        let marks = if mistake == Mistake::ForgetsMarks { Arc::default() } else { reopened.marks.clone() };
        let mutant = Mutant { marks, ..reopened.clone() };
        async move { AlteredStore(mutant) }
    })
}
