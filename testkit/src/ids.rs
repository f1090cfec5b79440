//! `SequentialIds`: ids that a test can repeat.

use freehold::IdSource;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ids counted up from 1, the same in every run. Clones draw from the same sequence.
///
/// Two domains on one store must share a sequence, or have lanes of their own: tokens are unique (R3).
///
/// ```
/// use freehold::IdSource;
/// use freehold_testkit::SequentialIds;
///
/// let ids = SequentialIds::new();
/// assert_eq!((ids.next(), ids.next()), (1, 2));
/// assert_ne!(SequentialIds::in_lane(7).next(), SequentialIds::new().next());
/// ```
#[derive(Debug, Clone, Default)]
pub struct SequentialIds {
    lane: u32,
    drawn: Arc<AtomicU64>,
}

impl SequentialIds {
    /// A sequence of its own: 1, 2, 3.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A sequence that never meets that of another lane: for processes that a test plays.
    #[must_use]
    pub fn in_lane(lane: u32) -> Self {
        Self { lane, drawn: Arc::default() }
    }
}

impl IdSource for SequentialIds {
    fn next(&self) -> u128 {
        let count = self.drawn.fetch_add(1, Ordering::Relaxed) + 1;
        (u128::from(self.lane) << 64) | u128::from(count)
    }
}
