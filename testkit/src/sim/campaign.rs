//! Many schedules: seeds shared out among threads, for as long as one likes.

use super::{Disagreement, Simulation};
use crate::conformance::Subject;
use parking_lot::Mutex;
use std::future::Future;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many schedules share a subject: a new store costs more than a schedule, and a full one is slower.
const SHARE_A_SUBJECT: u64 = 250;

/// What the threads of a campaign share.
struct Campaign {
    seeds: Range<u64>,
    next: AtomicU64,
    done: AtomicU64,
    found: Mutex<Option<Box<Disagreement>>>,
}

/// Runs the schedules of `seeds`, each in the shape whose turn it is, on so many threads, until one fails or `goes_on` says
/// no; it is told how many have been run. Some hundred share a subject. Says how many were run.
///
/// # Errors
///
/// The first [`Disagreement`] that was found, shortened.
///
/// # Panics
///
/// When no runtime can be started.
pub fn run_seeds<F>(
    connect: impl Fn() -> F + Sync,
    seeds: Range<u64>,
    threads: usize,
    goes_on: impl Fn(u64) -> bool + Sync,
) -> Result<u64, Box<Disagreement>>
where
    F: Future<Output = Subject>,
{
    let campaign =
        Campaign { next: AtomicU64::new(seeds.start), done: AtomicU64::new(0), found: Mutex::new(None), seeds };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime starts").block_on(campaign.take_part(&connect, &goes_on));
            });
        }
    });
    match campaign.found.into_inner() {
        Some(disagreement) => Err(disagreement),
        None => Ok(campaign.done.into_inner()),
    }
}

impl Campaign {
    async fn take_part<F: Future<Output = Subject>>(&self, connect: impl Fn() -> F, goes_on: impl Fn(u64) -> bool) {
        loop {
            let first = self.next.fetch_add(SHARE_A_SUBJECT, Ordering::Relaxed);
            if first >= self.seeds.end {
                return;
            }
            let subject = connect().await;
            for seed in first..first.saturating_add(SHARE_A_SUBJECT).min(self.seeds.end) {
                if self.found.lock().is_some() || !goes_on(self.done.load(Ordering::Relaxed)) {
                    return;
                }
                if let Err(disagreement) = Simulation::of_seed(seed).run(&subject, seed).await {
                    self.found.lock().get_or_insert(disagreement);
                    return;
                }
                self.done.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}
