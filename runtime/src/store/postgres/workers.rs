//! The store's own tasks: the workers of its lanes, and the sweep that nobody asked for. What they do is elsewhere.

use super::Core;
use super::errors::Trouble;
use super::lane::{Job, Working};
use super::leases::{self, SWEPT_PAGES};
use std::sync::Arc;
use std::time::Duration;

/// How long the store leaves expired records alone.
const SWEEP_EVERY: Duration = Duration::from_mins(1);

/// Starts the tasks. They end when the lanes are closed and empty.
pub(super) fn start(core: &Arc<Core>, appends: usize, leases: usize) {
    for _ in 0..appends {
        keep_working(core, core.appends.enter());
    }
    for _ in 0..leases {
        keep_working(core, core.leases.enter());
    }
    keep_working(core, core.checks.enter());
    let core = Arc::clone(core);
    core.runtime.clone().spawn(async move { keep_sweeping(&core).await });
}

/// A worker, and one in its place should it panic: its group is answered as unknown, and the others go on.
fn keep_working<J: Job>(core: &Arc<Core>, working: Working<J>) {
    let core = Arc::clone(core);
    core.runtime.clone().spawn(async move {
        loop {
            let working = {
                let (core, lane) = (Arc::clone(&core), Arc::clone(working.lane()));
                tokio::spawn(async move { lane.work(&core).await })
            };
            match working.await {
                Err(error) if error.is_panic() => {
                    tracing::error!("a worker of the store panicked, and is started again");
                }
                _ => return,
            }
        }
    });
}

/// Housekeeping: nothing needs it, so nothing hears of its failure (R7). One part of the table after the other, and never
/// much at once; many processes on one table share the work by chance.
async fn keep_sweeping(core: &Core) {
    let mut first = fastrand::i64(0..1 << 20) * SWEPT_PAGES;
    loop {
        let pause = SWEEP_EVERY.mul_f64(0.5 + fastrand::f64());
        tokio::select! {
            () = core.closed.notified() => return,
            () = tokio::time::sleep(pause) => {}
        }
        match sweep_part(core, first).await {
            Ok(next) => first = next,
            Err(trouble) => {
                let error = trouble.explained(core.site());
                tracing::warn!(%error, "expired reservations were not swept");
            }
        }
    }
}

/// Sweeps one part of the table, and says where the next one begins.
async fn sweep_part(core: &Core, first: i64) -> Result<i64, Trouble> {
    let pages = leases::pages(core).await?;
    let first = if first < pages { first } else { first % SWEPT_PAGES.max(pages) / SWEPT_PAGES * SWEPT_PAGES };
    let end = first + SWEPT_PAGES;
    leases::sweep(core, Some((first, end.min(pages)))).await?;
    Ok(if end < pages { end } else { 0 })
}
