//! Keys as parameters: one array a column, in the one order in which locks are taken (R18). No call.

use super::session::Hidden;
use crate::codec::digest;
use crate::ids::{RequestId, StreamId, Token};
use crate::reservation::KeyId;
use crate::text::Text;
use foldhash::fast::FixedState;
use std::hash::{BuildHasher, Hash};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// One key of a group: whose, under which token.
#[derive(Clone, Copy)]
pub(super) struct Mention<'c> {
    pub(super) key: &'c KeyId,
    pub(super) holder: &'c StreamId,
    pub(super) token: Token,
}

impl Mention<'_> {
    /// What the rows of reservations are locked by, in this order.
    pub(super) fn order(&self) -> (&str, &str, &str, &str) {
        let KeyId { key, namespace, scope, context } = self.key;
        (key, namespace, scope, context)
    }
}

/// The columns of keys that every call has.
pub(super) struct KeyColumns<'c> {
    key: Hidden<Vec<&'c str>>,
    namespace: Hidden<Vec<&'c str>>,
    scope: Hidden<Vec<&'c str>>,
    context: Hidden<Vec<&'c str>>,
    aggregate: Hidden<Vec<&'c str>>,
    tenant: Hidden<Vec<&'c str>>,
    id: Hidden<Vec<&'c str>>,
    token: Hidden<Vec<Uuid>>,
}

impl<'c> KeyColumns<'c> {
    /// The columns of `mentions`, which are in their order already.
    pub(super) fn of(mentions: &(impl Iterator<Item = Mention<'c>> + Clone)) -> Self {
        let column =
            |part: fn(&Mention<'c>) -> &'c str| Hidden(mentions.clone().map(|mention| part(&mention)).collect());
        Self {
            key: column(|mention| &mention.key.key),
            namespace: column(|mention| &mention.key.namespace),
            scope: column(|mention| &mention.key.scope),
            context: column(|mention| &mention.key.context),
            aggregate: column(|mention| &mention.holder.aggregate.name),
            tenant: column(|mention| &mention.holder.tenant),
            id: column(|mention| &mention.holder.id),
            token: Hidden(mentions.clone().map(|mention| uuid(mention.token)).collect()),
        }
    }
}

impl KeyColumns<'_> {
    /// The columns as the functions of the schema take them, one after the other.
    pub(super) fn params(&self) -> [&(dyn ToSql + Sync); 8] {
        let Self { key, namespace, scope, context, aggregate, tenant, id, token } = self;
        [key, namespace, scope, context, aggregate, tenant, id, token]
    }
}

pub(super) fn uuid(token: Token) -> Uuid {
    Uuid::from_u128(token.as_u128())
}

/// The number of the lock on a request; the server mixes the schema's own number in.
pub(super) fn request_lock(stream: &StreamId, request: &RequestId) -> i64 {
    let StreamId { aggregate, tenant, .. } = stream;
    lock(&["request", &aggregate.context, &aggregate.name, tenant, request.as_str()])
}

/// The number of the lock on a namespace.
pub(super) fn namespace_lock(context: &Text, name: &Text) -> i64 {
    lock(&["namespace", context, name])
}

/// What two calls of this process share that name the same stream, or the same key. A collision costs a wait.
pub(super) fn name(of: &impl Hash) -> u64 {
    FixedState::with_seed(0).hash_one(of)
}

/// Stands for the parts in locks, where a collision costs a wait and nothing else (R14). Every process must come to the
/// same number.
fn lock(parts: &[&str]) -> i64 {
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    let first = *digest(&parts).first_chunk().expect("a digest has 32 bytes");
    i64::from_le_bytes(first)
}

/// The namespaces of a group, each once, in the order of their locks, with the epoch that the callers were built with.
#[derive(Default)]
pub(super) struct Namespaces<'c> {
    known: Vec<Known<'c>>,
}

struct Known<'c> {
    lock: i64,
    context: &'c Text,
    name: &'c Text,
    epoch: u64,
}

impl<'c> Namespaces<'c> {
    /// Of keys with the epochs of their calls.
    pub(super) fn of(keys: impl Iterator<Item = (&'c KeyId, u64)>) -> Self {
        let mut known: Vec<Known<'c>> = Vec::new();
        for (KeyId { context, namespace: name, .. }, epoch) in keys {
            let same = |other: &Known<'_>| other.name == name && other.context == context && other.epoch == epoch;
            if !known.iter().any(same) {
                known.push(Known { lock: namespace_lock(context, name), context, name, epoch });
            }
        }
        known.sort_by_key(|known| (known.lock, known.epoch));
        Self { known }
    }

    /// The place of a key's namespace, from 1, as arrays count on the server.
    pub(super) fn place(&self, key: &KeyId, epoch: u64) -> i32 {
        let is_it =
            |known: &Known<'_>| known.epoch == epoch && *known.name == key.namespace && *known.context == key.context;
        let place = self.known.iter().position(is_it).map_or(0, |place| place + 1);
        i32::try_from(place).unwrap_or(i32::MAX)
    }

    pub(super) fn locks(&self) -> Vec<i64> {
        self.known.iter().map(|known| known.lock).collect()
    }

    pub(super) fn contexts(&self) -> Vec<&'c str> {
        self.known.iter().map(|known| known.context.as_str()).collect()
    }

    pub(super) fn names(&self) -> Vec<&'c str> {
        self.known.iter().map(|known| known.name.as_str()).collect()
    }

    pub(super) fn epochs(&self) -> Vec<i64> {
        self.known.iter().map(|known| integer(known.epoch)).collect()
    }
}

/// A position, version or epoch as the server's integer. None is ever so large that it does not fit.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
