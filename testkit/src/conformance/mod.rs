//! The conformance suite: what every store has to pass (S1). Plain functions over a [`Subject`], one test each.
//!
//! A store of your own is put to it with [`conformance!`](macro@crate::conformance):
//!
//! ```no_run
//! use freehold::MemoryStore;
//! use freehold_testkit::ManualClock;
//! use freehold_testkit::conformance::Subject;
//! use std::sync::Arc;
//!
//! freehold_testkit::conformance!(memory, || async {
//!     let clock = ManualClock::default();
//!     let store = MemoryStore::with_clock(Arc::new(clock.clone()));
//!     Subject::new(store, move |duration| clock.advance(duration))
//! });
//! ```
//!
//! Every case starts on a store of its own, runs on a tokio runtime with several threads, and cites the rule it proves.
//! The suite grows with the rules: a new case is no breaking change.

mod actor;
pub mod append;
pub mod commands;
pub mod concurrency;
pub mod expiry;
pub mod keys;
pub mod namespaces;
pub mod recovery;
pub mod release;
pub mod requests;
pub mod reserve;
pub mod tenancy;

use freehold::Store;
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// A boxed future that may cross threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

type Reopen = Arc<dyn Fn() -> BoxFuture<'static, Arc<dyn Store>> + Send + Sync>;

/// A store under test: new, empty, with a clock that can be moved.
#[derive(Clone)]
pub struct Subject {
    store: Arc<dyn Store>,
    advance: Arc<dyn Fn(Duration) + Send + Sync>,
    reopen: Option<Reopen>,
    kept: Vec<Arc<dyn Any + Send + Sync>>,
}

impl Subject {
    /// A subject; `advance` moves the clock by which the store judges expiry (R7).
    pub fn new(store: impl Store, advance: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        Self { store: Arc::new(store), advance: Arc::new(advance), reopen: None, kept: Vec::new() }
    }

    /// The same, of a store that outlives its process: `reopen` opens it once more, beside the first.
    #[must_use]
    pub fn reopening<F, S>(mut self, reopen: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = S> + Send + 'static,
        S: Store,
    {
        self.reopen = Some(Arc::new(move || {
            let opened = reopen();
            Box::pin(async move { Arc::new(opened.await) as Arc<dyn Store> })
        }));
        self
    }

    /// The same, keeping `guard` (a temporary directory, a server) until the case has ended.
    #[must_use]
    pub fn keeping(mut self, guard: impl Any + Send + Sync) -> Self {
        self.kept.push(Arc::new(guard));
        self
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Moves the store's clock forward.
    pub fn advance(&self, duration: Duration) {
        (self.advance)(duration);
    }

    /// Another handle on the same data, as another process would have; the same one for a store that can't be reopened.
    pub async fn reopened(&self) -> Arc<dyn Store> {
        match &self.reopen {
            Some(reopen) => reopen().await,
            None => Arc::clone(&self.store),
        }
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject").field("store", &self.store).finish_non_exhaustive()
    }
}

/// A case of the suite.
#[derive(Clone, Copy)]
pub struct Case {
    /// Area and name, such as `reserve::a_free_key_is_newly_reserved`.
    pub name: &'static str,
    /// Panics when the store does not conform.
    pub run: fn(Subject) -> BoxFuture<'static, ()>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Runs one case on a new subject.
///
/// # Panics
///
/// When the store does not conform, or no runtime can be started.
pub fn run<F>(connect: impl FnOnce() -> F, case: fn(Subject) -> BoxFuture<'static, ()>)
where
    F: Future<Output = Subject>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
    runtime.expect("a runtime starts").block_on(async { case(connect().await).await });
}

/// Calls a macro with the given arguments and the list of all cases. The one list of the suite.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_cases {
    ([$($callback:tt)*] $($arguments:tt)*) => {
        $($callback)*! { [$($arguments)*]
            append: a_commit_is_read_back_as_it_was_written;
            append: a_version_is_written_once;
            append: an_append_ahead_of_the_stream_conflicts;
            append: a_refused_append_writes_nothing_and_gives_up;
            append: one_conflict_fails_nobody_else;
            append: positions_increase_and_pages_have_no_holes;
            append: snapshots_are_kept_by_shape_and_version;
            append: snapshots_say_what_exists_and_what_is_deleted;
            append: the_log_tells_everything_of_a_commit;
            append: a_lost_key_gives_the_others_up;
            requests: a_request_id_has_one_commit;
            requests: a_replay_comes_before_a_conflict;
            requests: request_ids_are_per_type_and_tenant;
            requests: a_check_finds_version_and_first_commit;
            requests: a_check_is_per_type_and_tenant;
            requests: a_check_without_commit_keeps_late_appends_out;
            requests: each_mark_is_higher_than_those_before;
            requests: marks_are_per_request_type_and_tenant;
            requests: a_check_that_finds_the_commit_leaves_no_mark;
            requests: a_mark_is_there_after_reopening;
            requests: a_check_without_a_request_id_leaves_no_mark;
            reserve: a_free_key_is_newly_reserved_and_a_second_claimant_told_pending;
            reserve: a_second_claimant_never_takes_a_held_key_over;
            reserve: asking_again_with_the_same_token_is_safe;
            reserve: two_attempts_of_one_aggregate_have_one_key_pending;
            reserve: giving_up_is_by_token_and_holder;
            reserve: giving_up_never_frees_a_held_key;
            reserve: a_refused_claim_leaves_the_others_of_the_call;
            reserve: ten_thousand_keys_in_one_decision;
            reserve: a_pending_key_names_the_same_request;
            reserve: an_append_is_fenced_by_every_key;
            reserve: an_expired_lease_that_nobody_took_is_confirmed;
            reserve: a_kept_key_that_is_gone_fences;
            reserve: a_reserve_is_atomic;
            reserve: the_same_request_is_found_among_all_leases;
            reserve: a_reply_carries_the_stores_present;
            release: a_release_commits_with_the_events;
            release: releasing_what_one_does_not_hold_frees_nobody;
            release: a_refused_append_releases_nothing;
            release: reserved_and_released_in_one_decision_is_free;
            release: renaming_away_and_back_leaves_one_record;
            expiry: a_lease_has_ended_at_the_very_instant;
            expiry: an_expired_key_is_free_without_a_sweep;
            expiry: a_late_holder_leaves_the_next_ones_claim_alone;
            expiry: a_sweep_takes_expired_leases_only;
            expiry: a_sweep_leaves_what_one_attempt_still_claims;
            expiry: a_confirmed_key_never_expires;
            expiry: forever_does_not_overflow;
            tenancy: tenants_and_contexts_are_apart;
            tenancy: system_keys_are_one_per_context;
            tenancy: equal_ids_of_two_types_are_two_holders;
            keys: keys_are_compared_byte_for_byte;
            keys: long_keys_are_neither_cut_nor_confused;
            keys: control_characters_and_odd_parts_are_plain_text;
            keys: only_confirmed_keys_are_held;
            keys: held_keys_are_told_in_order;
            namespaces: a_definition_is_recorded_once;
            namespaces: a_stale_epoch_is_refused;
            namespaces: a_reading_carries_epoch_and_the_stores_present;
            namespaces: a_rekey_moves_keys_by_commits;
            namespaces: a_rekey_that_collides_changes_nothing;
            namespaces: every_key_of_an_append_has_its_epoch_checked;
            namespaces: an_append_refused_for_its_namespace_gives_up;
            namespaces: a_rekey_that_was_done_already_changes_nothing;
            namespaces: several_are_rekeyed_together_or_not_at_all;
            namespaces: an_append_is_told_the_first_of_its_reasons;
            recovery: a_settled_append_that_landed_is_found;
            recovery: a_late_append_is_fenced;
            recovery: everything_is_there_after_reopening;
            recovery: held_keys_follow_from_the_log;
            recovery: a_stream_tells_the_keys_of_its_commits;
            concurrency: one_winner_among_racers;
            concurrency: one_stream_takes_one_commit_a_version;
            concurrency: overlapping_sets_in_any_order_never_deadlock;
            concurrency: a_confirmed_key_is_never_lent;
            concurrency: dropped_calls_take_effect_all_the_same;
            concurrency: interleaved_attempts_agree_with_the_model;
            commands: create_rename_and_taken;
            commands: a_rename_to_a_taken_name_is_rejected;
            commands: every_way_out_gives_up;
            commands: what_was_held_before_stays_held;
            commands: a_key_is_reserved_once_however_often_it_is_asked_for;
            commands: refused_keys_leave_the_decision_usable;
            commands: the_last_call_on_a_key_wins;
            commands: deleting_releases_nothing;
            commands: a_request_is_answered_once;
            commands: expected_versions_are_checked_and_not_retried;
            commands: conflicts_are_decided_again;
            commands: swaps_lose_nothing;
            commands: racing_commands_have_one_winner;
            commands: different_keys_never_conflict;
            commands: replaying_never_touches_reservations;
            commands: an_operators_release_is_a_commit;
            commands: too_many_keys_are_refused_before_anything_is_written;
        }
    };
}

/// One test for each case of the conformance suite: `conformance!(name, connect)`, where `connect` is a closure that
/// returns a future of a new [`Subject`].
///
/// A store that needs a server says so, and its tests run when they are asked for, with `cargo test -- --ignored`:
///
/// ```no_run
/// # use freehold::MemoryStore;
/// # use freehold_testkit::ManualClock;
/// # use freehold_testkit::conformance::Subject;
/// # use std::sync::Arc;
/// # async fn connect() -> Subject {
/// #     let clock = ManualClock::default();
/// #     let store = MemoryStore::with_clock(Arc::new(clock.clone()));
/// #     Subject::new(store, move |duration| clock.advance(duration))
/// # }
/// freehold_testkit::conformance!(remote, connect, ignore = "needs a server");
/// ```
#[macro_export]
macro_rules! conformance {
    ($name:ident, $connect:expr) => {
        $crate::__conformance_module! { $name, $connect, }
    };
    ($name:ident, $connect:expr, ignore = $reason:literal) => {
        $crate::__conformance_module! { $name, $connect, #[ignore = $reason] }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_module {
    ($name:ident, $connect:expr, $(#[$ignore:meta])?) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            $crate::__conformance_cases! { [$crate::__conformance_tests] ($(#[$ignore])?) $connect }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_tests {
    ([$ignore:tt $connect:expr] $($area:ident: $case:ident;)*) => {
        $($crate::__conformance_test! { $ignore $connect, $area, $case })*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_test {
    (($(#[$ignore:meta])?) $connect:expr, $area:ident, $case:ident) => {
        #[test]
        $(#[$ignore])?
        fn $case() {
            $crate::conformance::run($connect, |subject| ::std::boxed::Box::pin(async move {
                $crate::conformance::$area::$case(&subject).await;
            }));
        }
    };
}

macro_rules! list {
    ([] $($area:ident: $case:ident;)*) => {
        &[$(Case {
            name: concat!(stringify!($area), "::", stringify!($case)),
            run: |subject| Box::pin(async move { $area::$case(&subject).await }),
        }),*]
    };
}

/// Every case of the suite.
pub const CASES: &[Case] = __conformance_cases!([list]);
