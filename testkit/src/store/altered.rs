//! `AlteredStore`: some calls are answered by a test, and the others by the store inside. Mostly for stores that are wrong
//! on purpose.

use freehold::{Store, StoreReply};
use std::fmt;
use std::sync::Arc;

macro_rules! altering {
    ([] $($method:ident($call:ident $(, $argument:ident: $type:ty)*) -> $answer:ty;)*) => {
        /// What is different about a store: the methods that are written anew. The others go on to the store inside.
        ///
        /// ```
        /// use freehold::{MemoryStore, Store, StoreReply};
        /// use freehold_testkit::store::{Alter, AlteredStore};
        /// use std::sync::Arc;
        ///
        /// #[derive(Debug)]
        /// struct NeverSweeps(Arc<dyn Store>);
        ///
        /// impl Alter for NeverSweeps {
        ///     fn inner(&self) -> &Arc<dyn Store> {
        ///         &self.0
        ///     }
        ///
        ///     fn sweep(&self) -> StoreReply<u64> {
        ///         StoreReply::ready(Ok(0))
        ///     }
        /// }
        ///
        /// let store = AlteredStore(NeverSweeps(Arc::new(MemoryStore::new())));
        /// assert_eq!(freehold_testkit::drive(store.sweep()), Ok(0));
        /// ```
        pub trait Alter: fmt::Debug + Send + Sync + 'static {
            /// The store inside.
            fn inner(&self) -> &Arc<dyn Store>;

            $(
                #[doc = concat!("As [`Store::", stringify!($method), "`], of the store inside unless written anew.")]
                fn $method(&self $(, $argument: $type)*) -> StoreReply<$answer> {
                    self.inner().$method($($argument),*)
                }
            )*
        }

        impl<A: Alter> Store for AlteredStore<A> {
            $(fn $method(&self $(, $argument: $type)*) -> StoreReply<$answer> {
                self.0.$method($($argument),*)
            })*
        }
    };
}

/// A store that is another one but for what [`Alter`] says.
#[derive(Debug, Clone)]
pub struct AlteredStore<A>(pub A);

crate::__store_methods!([altering]);
