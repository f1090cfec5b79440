//! The numbers of marks: what a check leaves under a request id that has no commit, so that no append of before lands
//! after it (C4). For whoever writes a store.

use crate::clock::Timestamp;

/// The mark after `last` (0 for none): higher than every one before it, also when those were swept, and it tells when it
/// was left.
#[must_use]
pub fn next_mark(last: u64, now: Timestamp) -> u64 {
    let now = u64::try_from(now.as_millis()).unwrap_or_default();
    now.max(last.saturating_add(1))
}

/// When a mark was left, or not long before it.
#[must_use]
pub fn left_at(mark: u64) -> Timestamp {
    Timestamp::from_millis(i64::try_from(mark).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_higher_than_all_before_it() {
        let at = Timestamp::from_millis;
        assert_eq!(next_mark(0, at(5)), 5);
        assert_eq!(next_mark(5, at(5)), 6);
        assert_eq!(next_mark(9, at(5)), 10, "the clock was set back");
        assert_eq!(next_mark(0, at(0)), 1, "0 means none");
        assert_eq!(next_mark(0, at(-7)), 1);
        assert_eq!(next_mark(u64::MAX, at(5)), u64::MAX);
        assert_eq!(left_at(next_mark(0, at(5))), at(5));
    }
}
