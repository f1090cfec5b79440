//! Errors as an interface: codes, retryability, certainty (C6), and ids that are none (R14).

use freehold::{AggregateId, Error, InvalidId, Namespace, RequestId, StoreError, StoreErrorKind, StreamId};
use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::Scripted;
use std::collections::BTreeSet;

fn stream() -> StreamId {
    scripted("a").stream().clone()
}

fn one_of_each() -> Vec<(Error, &'static str, bool, bool)> {
    let request_id = RequestId::new("r").expect("an id");
    let rejected = freehold::Rejection::new("NO", "no");
    let conflict = |expected| Error::Conflict { stream: stream().into(), attempts: 1, expected, actual: None };
    let invalid_key = Namespace::new("n").key("").expect_err("an empty key");
    let unavailable = |kind| Error::from(StoreError::not_done(kind, "down"));
    vec![
        (Error::Rejected(rejected), "REJECTED", false, true),
        (Error::Failed { command: "c", stream: stream().into(), source: "x".into() }, "FAILED", false, true),
        (Error::Panicked { during: "x".into(), stream: stream().into() }, "PANICKED", false, true),
        (Error::NotFound { stream: stream().into() }, "NOT_FOUND", false, true),
        (Error::AlreadyExists { stream: stream().into() }, "ALREADY_EXISTS", false, true),
        (Error::Deleted { stream: stream().into() }, "DELETED", false, true),
        (conflict(None), "CONFLICT", true, true),
        (conflict(Some(3)), "CONFLICT", false, true),
        (Error::NotWritten { request_id: request_id.clone(), reason: String::new() }, "NOT_WRITTEN", true, true),
        (
            Error::OutcomeUnknown { request_id: request_id.clone(), reason: String::new() },
            "OUTCOME_UNKNOWN",
            true,
            false,
        ),
        (Error::Timeout { stream: stream().into() }, "TIMEOUT", true, true),
        (unavailable(StoreErrorKind::Overloaded), "OVERLOADED", true, true),
        (unavailable(StoreErrorKind::Unavailable), "STORE_UNAVAILABLE", true, true),
        (unavailable(StoreErrorKind::Unusable), "STORE_UNUSABLE", false, true),
        (unavailable(StoreErrorKind::Incompatible), "STORE_INCOMPATIBLE", false, true),
        (unavailable(StoreErrorKind::Corrupt), "STORE_CORRUPT", false, true),
        (unavailable(StoreErrorKind::Closed), "STORE_CLOSED", false, true),
        (unavailable(StoreErrorKind::NamespaceChanged), "MISCONFIGURED", false, true),
        (Error::RequestIdReused { request_id }, "REQUEST_ID_REUSED", false, true),
        (invalid_key.into(), "INVALID_KEY", false, true),
        (AggregateId::<Scripted>::new("").expect_err("empty").into(), "INVALID_ID", false, true),
        (Error::Undecodable { stream: stream().into(), problem: String::new() }, "UNDECODABLE", false, true),
        (Error::Misconfigured(String::new()), "MISCONFIGURED", false, true),
    ]
}

#[test]
fn c6_every_error_has_a_stable_code_and_says_what_a_caller_may_do() {
    let mut codes = BTreeSet::new();
    for (error, code, retryable, surely_not_written) in one_of_each() {
        assert_eq!(
            (error.code(), error.is_retryable(), error.surely_not_written()),
            (code, retryable, surely_not_written)
        );
        codes.insert(code);
    }
    assert_eq!(codes.len(), 21, "codes are not shared: {codes:?}");
}

#[test]
fn r14_ids_have_1_to_255_bytes_and_no_nul() {
    let id = |text: &str| AggregateId::<Scripted>::new(text).and_then(|id| id.tenant(text)).map(drop);
    for fine in ["a", "\u{e9}", &"x".repeat(255), " ", "\u{1}"] {
        assert_eq!((id(fine), RequestId::new(fine).map(drop)), (Ok(()), Ok(())), "{fine:?}");
    }
    for wrong in ["", "a\0b", "\0", &"x".repeat(256), &"\u{3042}".repeat(86)] {
        let refused: Result<(), InvalidId> = id(wrong);
        assert!(refused.is_err() && RequestId::new(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn r14_keys_have_1_to_1024_bytes_after_normalisation_and_no_nul() {
    let names = Namespace::new("n").normalized(freehold::TRIM_LOWERCASE);
    for fine in ["a", " a ", &"x".repeat(1_024), &format!("{}x", " ".repeat(5_000)), "\u{1}"] {
        assert!(names.key(fine).is_ok(), "{} bytes", fine.len());
    }
    for wrong in ["", " \u{a0}\t", "a\0b", &"x".repeat(1_025), &"\u{3042}".repeat(342)] {
        assert!(names.key(wrong).is_err(), "{} bytes", wrong.len());
    }
}
