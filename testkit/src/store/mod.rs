//! Stores that wrap another one: to see which calls are made, and to make them fail. No store of its own.

mod faulty;
mod recording;

pub use faulty::{Fault, FaultyStore, Held};
pub use recording::{Call, RecordingStore};

/// Implements `Store` by sending every call through `self.around(call, closure)`.
macro_rules! store_around {
    ($wrapper:ty) => {
        impl ::freehold::Store for $wrapper {
            $crate::store::store_around! { @methods
                register(Register, namespaces: Vec<store::NamespaceRecord>) -> Vec<store::Registered>;
                load(Load, load: store::Load) -> store::LoadedStream;
                check(Check, check: store::Check) -> store::Checked;
                reserve(Reserve, reserve: store::Reserve) -> store::ReserveReply;
                give_up(GiveUp, give_up: store::GiveUp) -> ();
                append(Append, append: store::Append) -> store::AppendReply;
                settle(Settle, settle: store::Settle) -> store::Settled;
                save_snapshot(SaveSnapshot, snapshot: store::SnapshotRecord) -> ();
                reservation(Reservation, key: KeyId) -> Option<Record>;
                held_by(HeldBy, holder: StreamId) -> Vec<KeyId>;
                rekey(Rekey, rekey: store::Rekey) -> store::RekeyReply;
            }

            fn commits(&self, after_position: u64, limit: usize) -> StoreReply<Vec<store::CommitRecord>> {
                self.around(Call::Commits, move |inner| inner.commits(after_position, limit))
            }

            fn sweep(&self) -> StoreReply<u64> {
                self.around(Call::Sweep, |inner| inner.sweep())
            }

            fn drain(&self) -> StoreReply<()> {
                self.around(Call::Drain, |inner| inner.drain())
            }
        }
    };
    (@methods $($method:ident($call:ident, $argument:ident: $type:ty) -> $answer:ty;)*) => {
        $(fn $method(&self, $argument: $type) -> StoreReply<$answer> {
            self.around(Call::$call, move |inner| inner.$method($argument))
        })*
    };
}
use store_around;
