//! `Ledger`: which calls are under way. It keeps the calls of one attempt in their order, and knows when all that was
//! handed over before a moment is over. Nothing of what the calls do.

use crate::ids::Token;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tokio::sync::{Notify, oneshot};

/// The calls under way. Cheap to clone; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    calls: Arc<Mutex<Calls>>,
    one_is_over: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Calls {
    next: u64,
    open: BTreeSet<u64>,
    /// The newest call of each attempt, and what tells that it is over.
    newest: HashMap<Token, (u64, oneshot::Receiver<()>)>,
}

/// A call under way. Dropping it says that it is over.
#[derive(Debug)]
pub(super) struct Entry {
    ledger: Ledger,
    number: u64,
    token: Option<Token>,
    /// Dropped with the entry, which wakes the next call of the attempt.
    _over: Option<oneshot::Sender<()>>,
}

/// Completes when the attempt's call before is over.
pub(super) type Before = oneshot::Receiver<()>;

impl Ledger {
    /// Enters a call that was handed over, and says what it has to wait for: calls of one attempt take effect in the
    /// order in which they were handed over (R5).
    pub(super) fn enter(&self, token: Option<Token>) -> (Entry, Option<Before>) {
        let mut calls = self.calls.lock();
        calls.next += 1;
        let number = calls.next;
        calls.open.insert(number);
        let (over, before) = match token {
            None => (None, None),
            Some(token) => {
                let (over, is_over) = oneshot::channel();
                let before = calls.newest.insert(token, (number, is_over));
                (Some(over), before.map(|(_, before)| before))
            }
        };
        (Entry { ledger: self.clone(), number, token, _over: over }, before)
    }

    /// Completes when every call that was entered so far is over.
    pub(super) async fn all_over(&self) {
        let newest = self.calls.lock().next;
        loop {
            let woken = self.one_is_over.notified();
            tokio::pin!(woken);
            // From here on no wake-up is missed, though it is not polled yet.
            woken.as_mut().enable();
            if self.calls.lock().open.first().is_none_or(|oldest| *oldest > newest) {
                return;
            }
            woken.await;
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut calls = self.ledger.calls.lock();
        calls.open.remove(&self.number);
        if let Some(token) = self.token
            && calls.newest.get(&token).is_some_and(|(number, _)| *number == self.number)
        {
            calls.newest.remove(&token);
        }
        drop(calls);
        self.ledger.one_is_over.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_over(before: &mut Before) -> bool {
        before.try_recv() != Err(oneshot::error::TryRecvError::Empty)
    }

    #[test]
    fn calls_of_one_attempt_wait_for_each_other_and_for_nobody_else() {
        let ledger = Ledger::default();
        let (one, two) = (Token::from_u128(1), Token::from_u128(2));
        let (first, before) = ledger.enter(Some(one));
        assert!(before.is_none());
        let (second, before) = ledger.enter(Some(one));
        let mut for_first = before.expect("the first is under way");
        let (third, before) = ledger.enter(Some(one));
        let mut for_second = before.expect("the second is under way");
        assert!(ledger.enter(Some(two)).1.is_none());
        assert!(!is_over(&mut for_first));
        drop(first);
        assert!(is_over(&mut for_first) && !is_over(&mut for_second));
        drop(second);
        assert!(is_over(&mut for_second));
        drop(third);
        assert!(ledger.enter(Some(one)).1.is_none(), "nothing is kept of what is over");
        assert!(ledger.calls.lock().newest.is_empty());
    }

    #[tokio::test]
    async fn all_are_over_when_those_of_before_are() {
        let ledger = Ledger::default();
        ledger.all_over().await;
        let (early, _) = ledger.enter(None);
        let waiting = tokio::spawn({
            let ledger = ledger.clone();
            async move { ledger.all_over().await }
        });
        tokio::task::yield_now().await;
        let (_late, _) = ledger.enter(None);
        assert!(!waiting.is_finished());
        drop(early);
        waiting.await.expect("it does not wait for the late one");
    }
}
