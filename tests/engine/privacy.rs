//! What errors and logs never show: a key's text, another holder, another tenant (R2, R19, U62).

use super::{builder, faulty};
use freehold::MemoryStore;
use freehold_testkit::conformance::commands::scripted;
use freehold_testkit::script::{Create, DOMAINS, Ending, NAMES, Script, Step};
use freehold_testkit::store::{Call, Fault};
use std::error::Error as _;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECRET: &str = "ana@example.test";
const HOLDER: &str = "the-holder-of-it";

/// Everything that an error says, to whoever asks.
fn everything(error: &freehold::Error) -> String {
    let mut text = format!("{error} {error:?} {error:#?} {}", error.code());
    let mut source = error.source();
    while let Some(cause) = source {
        let _ = write!(text, " {cause} {cause:?}");
        source = cause.source();
    }
    text
}

#[track_caller]
fn tells_nothing(text: &str) {
    for secret in [SECRET, HOLDER] {
        assert!(!text.contains(secret), "{secret:?} is told: {text}");
    }
}

#[tokio::test]
async fn r19_no_error_shows_a_key_or_its_holder() {
    let (logs, _guard) = logged();
    let store = faulty();
    let domain = builder(store.clone()).pending_wait(Duration::from_millis(1)).build().await.expect("built");
    domain.send(&scripted(HOLDER), Create(Script::take(SECRET))).await.expect("created");
    let take = || domain.send(&scripted("b"), Create(Script::take(SECRET)));
    tells_nothing(&everything(&take().await.expect_err("taken")));
    let long = SECRET.repeat(100);
    for key in [format!("{SECRET}\0"), long] {
        tells_nothing(&everything(
            &domain.send(&scripted("b"), Create(Script::take(&key))).await.expect_err("invalid"),
        ));
    }
    for (call, fault) in
        [(Call::Reserve, Fault::FailBefore), (Call::Append, Fault::LostBefore), (Call::Check, Fault::FailBefore)]
    {
        (1..=3).for_each(|time| store.fail(call, time, fault));
        let fresh = format!("{SECRET}-{call:?}");
        let sent =
            domain.send(&scripted("c"), Create(Script::new([Step::Reserve(fresh)], Ending::Happen("x".into())))).await;
        if let Err(error) = sent {
            tells_nothing(&everything(&error));
        }
        store.heal();
    }
    let other = freehold::Domain::builder().without_discovery().aggregate::<freehold_testkit::script::Scripted>();
    let other = other.namespace(DOMAINS).store(MemoryStore::new()).build().await.expect("built");
    tells_nothing(&everything(
        &other.send(&scripted("b"), Create(Script::take(SECRET))).await.expect_err("unregistered"),
    ));
    drop(domain);
    tells_nothing(&logs.lock().expect("unpoisoned"));
}

#[test]
fn r19_debug_of_our_types_leaves_the_key_out() {
    let id = NAMES.key_id(SECRET, scripted("a").stream()).expect("a key");
    tells_nothing(&format!("{id:?} {id}"));
    let change = freehold::store::KeyChange {
        namespace: id.namespace.clone(),
        scope: id.scope.clone(),
        key: id.key.clone(),
        taken: true,
    };
    tells_nothing(&format!("{change:?}"));
    let claim =
        freehold::store::KeyClaim { key: id, epoch: 1, key_use: freehold::reservation::lifecycle::KeyUse::Take };
    tells_nothing(&format!("{claim:?}"));
    let rejection = freehold::Rejection::new("TAKEN", format!("{SECRET} is taken"));
    tells_nothing(&format!("{rejection:?}"));
}

/// Collects what is logged on this thread, at every level.
fn logged() -> (Arc<Mutex<String>>, tracing::subscriber::DefaultGuard) {
    let logs = Arc::new(Mutex::new(String::new()));
    let writer = Shared(Arc::clone(&logs));
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || writer.clone()).finish();
    (logs, tracing::subscriber::set_default(subscriber))
}

#[derive(Clone)]
struct Shared(Arc<Mutex<String>>);

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("unpoisoned").push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
