//! `DecideScope`: what a handler may ask while it decides. What becomes of its reservations is in `engine::attempt`.

use crate::clock::Timestamp;
use crate::command::CommandContext;
use crate::decision::{DecideError, Rejection, RejectionCode};
use crate::engine::attempt::Attempt;
use crate::error::InvalidKey;
use crate::ids::{RequestId, StreamId};
use crate::reservation::{Namespace, Reserved};
use std::fmt;

/// What a handler may ask while it decides: to reserve and release keys, and under which circumstances it decides.
///
/// # Cancel safety
///
/// A handler may be dropped at any await point, its scope with it: what it reserved is given up (R5).
pub struct DecideScope<'a> {
    attempt: &'a mut Attempt,
}

impl<'a> DecideScope<'a> {
    pub(crate) const fn new(attempt: &'a mut Attempt) -> Self {
        Self { attempt }
    }

    /// Reserves `key` in `namespace` for the deciding aggregate (R1).
    ///
    /// A key that was free is pending until the decision's events are written, which confirms it in the same write
    /// (R4). When they surely are not, it is given up (R5). Reserving twice is reserving once (R11).
    ///
    /// ```standalone_crate
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/guide/brand.rs"));
    /// async fn take(name: &str, scope: &mut DecideScope<'_>) -> Result<(), DecideError> {
    ///     scope.reserve(BRAND_NAMES, name).await?.or_reject(NAME_TAKEN, "another brand has this name")?;
    ///     Ok(())
    /// }
    /// # fn main() {}
    /// ```
    ///
    /// # Errors
    ///
    /// An invalid key (R14), an unregistered namespace (R12), too many keys (R17), or a store that can't be used: then
    /// the attempt can't commit any more, whatever the handler returns (R2).
    pub async fn reserve(&mut self, namespace: Namespace, key: &str) -> Result<Reserved, DecideError> {
        let answers = self.attempt.reserve(namespace, &[key]).await?;
        Ok(answers[0])
    }

    /// Reserves many keys in one round trip, and answers in their order.
    ///
    /// # Errors
    ///
    /// As [`reserve`](Self::reserve); then none of them is reserved.
    pub async fn reserve_all<K: AsRef<str>>(
        &mut self,
        namespace: Namespace,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Reserved>, DecideError> {
        let keys: Vec<K> = keys.into_iter().collect();
        let keys: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
        self.attempt.reserve(namespace, &keys).await
    }

    /// Releases `key` in `namespace`, in the same write as the decision's events (R10).
    ///
    /// Without events nothing is released. Releasing what the aggregate does not hold does nothing, and frees nobody's
    /// key. The last call on a key wins: `reserve` after `release` keeps it (R11). A key that is not valid is held by
    /// nobody, so releasing it does nothing either.
    pub fn release(&mut self, namespace: Namespace, key: &str) {
        self.attempt.release(namespace, key);
    }

    /// Whether the aggregate holds `key`, confirmed; what this decision reserved does not count (R16).
    ///
    /// # Errors
    ///
    /// As [`reserve`](Self::reserve).
    pub async fn holds(&mut self, namespace: Namespace, key: &str) -> Result<bool, DecideError> {
        self.attempt.holds(namespace, key).await
    }

    /// The deciding aggregate: type, tenant and id.
    #[must_use]
    pub fn stream(&self) -> &StreamId {
        &self.attempt.context().stream
    }

    /// The deciding aggregate's id.
    #[must_use]
    pub fn aggregate_id(&self) -> &str {
        &self.stream().id
    }

    /// The deciding aggregate's tenant.
    #[must_use]
    pub fn tenant(&self) -> &str {
        &self.stream().tenant
    }

    /// The request's id, given by the caller or generated.
    #[must_use]
    pub fn request_id(&self) -> &RequestId {
        &self.attempt.context().request_id
    }

    /// The version of the state that decides; 0 before the first commit.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.attempt.version()
    }

    /// Whether the aggregate exists: has a domain event (C2).
    #[must_use]
    pub const fn exists(&self) -> bool {
        self.attempt.exists()
    }

    /// Whether the aggregate is deleted (C10).
    #[must_use]
    pub const fn is_deleted(&self) -> bool {
        self.attempt.is_deleted()
    }

    /// Which attempt at the command this is, from 1 (R6).
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt.context().attempt
    }

    /// The present, on the domain's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.attempt.now()
    }

    /// The command's circumstances.
    #[must_use]
    pub fn context(&self) -> &CommandContext {
        self.attempt.context()
    }

    pub(crate) fn inner(&self) -> &Attempt {
        self.attempt
    }
}

impl fmt::Debug for DecideScope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecideScope").field("context", self.context()).finish_non_exhaustive()
    }
}

impl Reserved {
    /// Turns a taken key into a rejection; the handler goes on when the key is its own.
    ///
    /// The rejection is provisional when the key is only pending (R21).
    ///
    /// # Errors
    ///
    /// The rejection with this code and message.
    pub fn or_reject(self, code: impl Into<RejectionCode>, message: impl Into<String>) -> Result<(), Rejection> {
        if self.is_ours() {
            return Ok(());
        }
        let mut rejection = Rejection::new(code, message);
        rejection.provisional = matches!(self, Self::TakenPending { .. });
        Err(rejection)
    }
}

/// The refusal of more keys than one decision may have (R17).
pub(crate) const fn too_many_keys(namespace: &'static str) -> InvalidKey {
    InvalidKey::new(namespace, "is one more than the 10000 keys that one decision may reserve and release")
}
