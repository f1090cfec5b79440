//! Every limit of the crate, with its unit in its name. No behaviour.

use std::time::Duration;

/// The longest key, in bytes of UTF-8 after normalisation (R14).
pub const KEY_BYTES_MAX: usize = 1_024;
/// The longest namespace, tenant, context, aggregate name, aggregate id or request id, in bytes of UTF-8 (R14).
pub const NAME_BYTES_MAX: usize = 255;
/// The most keys that one decision may reserve or release (R17).
pub const KEYS_PER_DECISION_MAX: usize = 10_000;

/// How long a pending reservation lives unless it is settled before (R3).
pub const PENDING_DEFAULT: Duration = Duration::from_secs(30);
/// The shortest and the longest that a namespace or a domain may let a reservation be pending (R3).
pub const PENDING_MIN: Duration = Duration::from_millis(1);
/// See [`PENDING_MIN`].
pub const PENDING_MAX: Duration = Duration::from_secs(24 * 3_600);
/// How often a command is decided anew after conflicts before it fails (R6).
pub const ATTEMPTS_DEFAULT: u32 = 12;
/// The longest pause between two attempts of one command (R6).
pub const RETRY_PAUSE_MAX: Duration = Duration::from_millis(64);
/// How long a command waits for pending keys of others to settle, in all (R21).
pub const PENDING_WAIT_DEFAULT: Duration = Duration::from_secs(1);
/// How often a store call whose answer was lost is asked again (R5, R9).
pub const ASKED_AGAIN_MAX: u32 = 3;
/// How many commands may wait for one aggregate in one process before more are refused as overload (C7, S6).
pub const LANE_WAITERS_MAX: usize = 4_096;
/// How long an append may be on its way at the most: after that its tombstone, or the mark of its request, is swept (R9, C4).
pub const LATE_APPEND_MAX: Duration = Duration::from_secs(24 * 3_600);
/// How many aggregates' states a domain keeps warm (C1).
pub const WARM_STATES_DEFAULT: usize = 10_000;
/// How many versions lie between two snapshots of an aggregate.
pub const SNAPSHOT_EVERY_DEFAULT: u32 = 100;
/// How many jobs may wait for a store's writer before more are refused as overload (S6).
pub const STORE_QUEUE_MAX: usize = 16_384;

const _: () = {
    assert!(ATTEMPTS_DEFAULT >= 10, "R6 asks for at least ten tries");
    assert!(PENDING_DEFAULT.as_millis() > PENDING_WAIT_DEFAULT.as_millis());
    assert!(KEY_BYTES_MAX >= NAME_BYTES_MAX);
};
