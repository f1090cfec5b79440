//! Stores that wrap another one: to see which calls are made, and to make them fail. No store of its own.

mod altered;
mod faulty;
mod recording;

pub use altered::{Alter, AlteredStore};
pub use faulty::{Fault, FaultyStore, Held};
pub use recording::{Call, RecordingStore};

/// Calls a macro with the given arguments and the methods of [`Store`](freehold::Store). The one list of them.
#[doc(hidden)]
#[macro_export]
macro_rules! __store_methods {
    ([$($callback:tt)*] $($arguments:tt)*) => {
        $($callback)*! { [$($arguments)*]
            register(Register, namespaces: ::std::vec::Vec<::freehold::store::NamespaceRecord>)
                -> ::std::vec::Vec<::freehold::store::Registered>;
            load(Load, load: ::freehold::store::Load) -> ::freehold::store::LoadedStream;
            check(Check, check: ::freehold::store::Check) -> ::freehold::store::Checked;
            reserve(Reserve, reserve: ::freehold::store::Reserve) -> ::freehold::store::ReserveReply;
            give_up(GiveUp, give_up: ::freehold::store::GiveUp) -> ();
            append(Append, append: ::freehold::store::Append) -> ::freehold::store::AppendReply;
            settle(Settle, settle: ::freehold::store::Settle) -> ::freehold::store::Settled;
            save_snapshot(SaveSnapshot, snapshot: ::freehold::store::SnapshotRecord) -> ();
            commits(Commits, after_position: u64, limit: usize)
                -> ::std::vec::Vec<::freehold::store::CommitRecord>;
            reservation(Reservation, key: ::freehold::reservation::KeyId) -> ::freehold::store::KeyReading;
            held_by(HeldBy, holder: ::freehold::StreamId) -> ::std::vec::Vec<::freehold::reservation::KeyId>;
            rekey(Rekey, rekey: ::freehold::store::Rekey) -> ::freehold::store::RekeyReply;
            sweep(Sweep) -> u64;
            drain(Drain) -> ();
        }
    };
}

/// Implements [`Store`](freehold::Store) for a wrapper, by sending every call through a method of its own:
/// `self.around(call, perform)`, where `perform` makes the call on the store inside. For stores that fail, wait or count.
///
/// ```
/// use freehold::{MemoryStore, Store, StoreReply};
/// use freehold_testkit::store::Call;
///
/// #[derive(Debug)]
/// struct Silent(MemoryStore);
///
/// impl Silent {
///     fn around<T>(&self, _: Call, perform: impl FnOnce(&MemoryStore) -> StoreReply<T>) -> StoreReply<T> {
///         perform(&self.0)
///     }
/// }
///
/// freehold_testkit::store_around!(Silent);
/// # let _: &dyn Store = &Silent(MemoryStore::new());
/// ```
#[macro_export]
macro_rules! store_around {
    ($store:ty) => {
        $crate::__store_methods! { [$crate::__store_around] $store }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __store_around {
    ([$store:ty] $($method:ident($call:ident $(, $argument:ident: $type:ty)*) -> $answer:ty;)*) => {
        impl ::freehold::Store for $store {
            $(fn $method(&self $(, $argument: $type)*) -> ::freehold::StoreReply<$answer> {
                self.around($crate::store::Call::$call, move |inner| ::freehold::Store::$method(inner $(, $argument)*))
            })*
        }
    };
}
