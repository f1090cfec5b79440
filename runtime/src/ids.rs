//! Identity: of aggregates, streams, tenants, requests and attempts, and where fresh ids come from.

use crate::aggregate::Aggregate;
use crate::error::InvalidId;
use crate::limits::NAME_BYTES_MAX;
use crate::text::Text;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::marker::PhantomData;
use uuid::Uuid;

/// The tenant of a command that names none (R12): a tenant like any other.
pub const DEFAULT_TENANT: &str = "default";

/// Checks R14 for a name: 1 to 255 bytes, no NUL.
pub(crate) fn check_name(what: &'static str, text: &str) -> Result<(), InvalidId> {
    let problem = match text.len() {
        0 => "is empty",
        length if length > NAME_BYTES_MAX => "is longer than 255 bytes",
        _ if text.contains('\0') => "holds a NUL character",
        _ => return Ok(()),
    };
    Err(InvalidId::new(what, problem))
}

/// The type of an aggregate: its bounded context and its name in it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AggregateType {
    /// The bounded context, such as `eshop-catalog`.
    pub context: Text,
    /// The name in the context, such as `brand`.
    pub name: Text,
}

impl AggregateType {
    /// The type of `A`.
    #[must_use]
    pub const fn of<A: Aggregate>() -> Self {
        Self { context: Text::from_static(A::CONTEXT), name: Text::from_static(A::NAME) }
    }
}

impl fmt::Display for AggregateType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.context, self.name)
    }
}

impl fmt::Debug for AggregateType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One aggregate's stream, which is also the holder of its reservations: type, tenant and id.
///
/// Brand 1 is not category 1, and brand 1 of one tenant is not brand 1 of another. The parts are compared one by
/// one, never joined into one text (R14).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StreamId {
    /// The aggregate's type.
    pub aggregate: AggregateType,
    /// The tenant it belongs to.
    pub tenant: Text,
    /// Its id, unique within type and tenant.
    pub id: Text,
}

impl StreamId {
    /// Checks the length and content of every part (R14).
    ///
    /// # Errors
    ///
    /// [`InvalidId`] for a part that is empty, longer than 255 bytes, or holds NUL.
    pub fn check(&self) -> Result<(), InvalidId> {
        check_name("context", &self.aggregate.context)?;
        check_name("aggregate name", &self.aggregate.name)?;
        check_name("tenant", &self.tenant)?;
        check_name("aggregate id", &self.id)
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} of tenant {:?}", self.aggregate, self.id.as_str(), self.tenant.as_str())
    }
}

impl fmt::Debug for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The id of an aggregate of type `A`, with its tenant.
///
/// ```standalone_crate
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/guide/brand.rs"));
/// # fn main() -> Result<(), freehold::InvalidId> {
/// let brand = AggregateId::<Brand>::new("contoso")?.tenant("acme")?;
/// assert_eq!(brand.id(), "contoso");
/// assert!(AggregateId::<Brand>::new("").is_err());
/// # Ok(())
/// # }
/// ```
pub struct AggregateId<A> {
    stream: StreamId,
    aggregate: PhantomData<fn() -> A>,
}

impl<A: Aggregate> AggregateId<A> {
    /// The aggregate `id` of the default tenant.
    ///
    /// # Errors
    ///
    /// [`InvalidId`] when `id` is empty, longer than 255 bytes, or holds NUL (R14).
    pub fn new(id: impl Into<Text>) -> Result<Self, InvalidId> {
        let id = id.into();
        check_name("aggregate id", &id)?;
        let tenant = Text::from_static(DEFAULT_TENANT);
        Ok(Self { stream: StreamId { aggregate: AggregateType::of::<A>(), tenant, id }, aggregate: PhantomData })
    }

    /// The same id, of `tenant`.
    ///
    /// # Errors
    ///
    /// [`InvalidId`] when `tenant` is empty, longer than 255 bytes, or holds NUL (R14).
    pub fn tenant(mut self, tenant: impl Into<Text>) -> Result<Self, InvalidId> {
        self.stream.tenant = tenant.into();
        check_name("tenant", &self.stream.tenant)?;
        Ok(self)
    }

    /// The id that a stream of this aggregate has.
    ///
    /// # Errors
    ///
    /// [`InvalidId`] when the stream is of another type of aggregate.
    pub fn from_stream(stream: StreamId) -> Result<Self, InvalidId> {
        if stream.aggregate != AggregateType::of::<A>() {
            return Err(InvalidId::new("stream", "belongs to another type of aggregate"));
        }
        stream.check()?;
        Ok(Self { stream, aggregate: PhantomData })
    }

    /// The id alone.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.stream.id
    }

    /// The tenant.
    #[must_use]
    pub fn tenant_name(&self) -> &str {
        &self.stream.tenant
    }

    /// The stream: type, tenant and id.
    #[must_use]
    pub fn stream(&self) -> &StreamId {
        &self.stream
    }
}

impl<A> Clone for AggregateId<A> {
    fn clone(&self) -> Self {
        Self { stream: self.stream.clone(), aggregate: PhantomData }
    }
}

impl<A> PartialEq for AggregateId<A> {
    fn eq(&self, other: &Self) -> bool {
        self.stream == other.stream
    }
}

impl<A> Eq for AggregateId<A> {}

impl<A> std::hash::Hash for AggregateId<A> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.stream.hash(state);
    }
}

impl<A> fmt::Debug for AggregateId<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.stream, f)
    }
}

impl<A> fmt::Display for AggregateId<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.stream.id)
    }
}

/// The id of a request, unique per aggregate type and tenant (C4).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(Text);

impl RequestId {
    /// A request id of the caller's.
    ///
    /// # Errors
    ///
    /// [`InvalidId`] when it is empty, longer than 255 bytes, or holds NUL (R14).
    pub fn new(id: impl Into<Text>) -> Result<Self, InvalidId> {
        let id = id.into();
        check_name("request id", &id)?;
        Ok(Self(id))
    }

    pub(crate) fn generated(id: Uuid) -> Self {
        let mut buffer = Uuid::encode_buffer();
        Self(Text::from(&*id.hyphenated().encode_lower(&mut buffer)))
    }

    /// As read back from a store, unchecked.
    #[must_use]
    pub fn from_stored(id: Text) -> Self {
        Self(id)
    }

    /// The id's characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// What makes one attempt to decide a command recognisable: its pending reservations carry it (R3), and its commit
/// is known by it (R9).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(Uuid);

impl Token {
    /// The token with these bits.
    #[must_use]
    pub const fn from_u128(bits: u128) -> Self {
        Self(Uuid::from_u128(bits))
    }

    /// The token's bits.
    #[must_use]
    pub const fn as_u128(self) -> u128 {
        self.0.as_u128()
    }

    /// The token written as `text`, or none when it is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Uuid::try_parse(text).ok().map(Self)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Where fresh ids come from: randomness, or a sequence that a test can repeat.
///
/// Two calls never return the same id, in this process or another.
pub trait IdSource: fmt::Debug + Send + Sync + 'static {
    /// A fresh id of 128 bits.
    fn next(&self) -> u128;
}

/// Time-ordered random ids (UUID version 7, RFC 9562), which keep the pages of a database's index together.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl IdSource for RandomIds {
    fn next(&self) -> u128 {
        #[expect(clippy::disallowed_methods, reason = "the one place that draws randomness")]
        Uuid::now_v7().as_u128()
    }
}
