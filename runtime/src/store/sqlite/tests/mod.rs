//! What is SQLite's own: opening, groups, query plans, and the fast paths beside the state machine. What every store
//! must do is in the conformance suite.

mod beneath;
mod edges;
mod groups;
mod keys;
mod late;
mod opening;
mod plans;
mod racing;

use super::SqliteStore;
use crate::clock::{Clock, Sleep, Timestamp};
use crate::codec::EncodedEvent;
use crate::ids::{AggregateType, RequestId, StreamId, Token};
use crate::reservation::lifecycle::KeyUse;
use crate::reservation::{KeyId, RequestHash, Tenancy};
use crate::store::{
    Append, AppendReply, CommitKind, Fingerprint, GiveUp, KeyClaim, NamespaceRecord, Refusal, RequestKey, Reserve,
    ReserveKey, Store, Written,
};
use crate::text::Text;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

const PENDING_MS: u64 = 30_000;

/// Waits for `future` without any async runtime: the store needs none.
fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// A directory that is gone when the test is over.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("freehold-sqlite-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        Self(directory)
    }

    fn file(&self) -> PathBuf {
        self.0.join("store.db")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A clock that stands still until a test moves it.
#[derive(Debug, Default)]
struct HandClock(AtomicI64);

impl HandClock {
    fn forward(&self, millis: u64) {
        self.0.fetch_add(millis.cast_signed(), Ordering::SeqCst);
    }

    fn back(&self, millis: u64) {
        self.0.fetch_sub(millis.cast_signed(), Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }

    fn sleep(&self, _: Duration) -> Sleep<'_> {
        Box::pin(std::future::pending())
    }
}

fn open(path: &Path, clock: &Arc<HandClock>) -> SqliteStore {
    let store = wait(SqliteStore::options().clock(clock.clone()).open(path)).unwrap();
    wait(store.register(vec![names("verbatim@1")])).unwrap();
    store
}

fn names(normalizer: &str) -> NamespaceRecord {
    let (context, name) = (Text::from_static("shop"), Text::from_static("names"));
    NamespaceRecord { context, name, tenancy: Tenancy::Tenant, normalizer: Text::from(normalizer) }
}

fn brand(id: &str) -> StreamId {
    let aggregate = AggregateType { context: Text::from_static("shop"), name: Text::from_static("brand") };
    StreamId { aggregate, tenant: Text::from_static("acme"), id: Text::from(id) }
}

fn name(text: &str) -> KeyId {
    KeyId {
        key: Text::from(text),
        namespace: Text::from_static("names"),
        scope: Text::from_static("acme"),
        context: Text::from_static("shop"),
    }
}

fn token(number: u128) -> Token {
    Token::from_u128(number)
}

fn reserve(holder: &str, number: u128, keys: &[&str]) -> Reserve {
    let key = |text: &&str| ReserveKey {
        key: name(text),
        epoch: 1,
        token: token(number),
        request: RequestHash(number.to_le_bytes()[0].into()),
        pending_ms: PENDING_MS,
    };
    Reserve { holder: brand(holder), keys: keys.iter().map(key).collect() }
}

fn give_up(holder: &str, number: u128, keys: &[&str]) -> GiveUp {
    GiveUp { holder: brand(holder), token: token(number), keys: keys.iter().map(|text| name(text)).collect() }
}

fn request(number: u128) -> RequestKey {
    RequestKey {
        id: RequestId::from_stored(Text::from(format!("request-{number}"))),
        fingerprint: Fingerprint([number.to_le_bytes()[0]; 32]),
    }
}

fn append(id: &str, expected_version: u64, number: u128, keys: &[(&str, KeyUse)]) -> Append {
    let claim = |&(text, key_use): &(&str, KeyUse)| KeyClaim { key: name(text), epoch: 1, key_use };
    let data = serde_json::value::to_raw_value(&number.to_string()).unwrap();
    Append {
        stream: brand(id),
        expected_version,
        kind: CommitKind::Command,
        command: Text::from_static("Change"),
        request: request(number),
        token: token(number),
        mark: 0,
        events: vec![EncodedEvent { name: Text::from_static("Changed"), version: 1, data }],
        keys: keys.iter().map(claim).collect(),
        metadata: None,
    }
}

#[track_caller]
fn written(reply: AppendReply) -> Written {
    match reply {
        AppendReply::Written(written) => written,
        AppendReply::Refused(refusal) => panic!("refused: {refusal:?}"),
    }
}

#[track_caller]
fn refused(reply: AppendReply) -> Refusal {
    match reply {
        AppendReply::Refused(refusal) => refusal,
        AppendReply::Written(written) => panic!("written: {written:?}"),
    }
}
