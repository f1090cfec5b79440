//! What a new normaliser would do to the keys of a namespace, as a pure plan that every store applies (R13). No I/O.

use super::record::{KeyChange, RekeyCollision};
use crate::ids::StreamId;
use crate::limits::KEY_BYTES_MAX;
use crate::reservation::{KeyId, Normalizer};
use crate::text::Text;
use std::collections::{BTreeMap, HashMap};

/// What becomes of the confirmed keys of a namespace.
#[derive(Debug, Default)]
pub(crate) struct RekeyPlan {
    /// The keys that change, by holder: old and new form.
    pub(crate) moves: BTreeMap<StreamId, Vec<(KeyId, KeyId)>>,
}

impl RekeyPlan {
    /// Plans the change of `held`, or lists what is in the way: two holders' keys that would be one, or a key that
    /// would be none. Two keys of one holder may become one.
    pub(crate) fn new(
        held: impl IntoIterator<Item = (KeyId, StreamId)>,
        normalizer: Normalizer,
    ) -> Result<Self, Vec<RekeyCollision>> {
        let mut plan = Self::default();
        let mut owners: HashMap<KeyId, StreamId> = HashMap::new();
        let mut collisions = Vec::new();
        for (old, holder) in held {
            let new = normalizer.apply(&old.key).filter(|key| is_key(key));
            let Some(new) = new.map(|key| KeyId { key: Text::from(&*key), ..old.clone() }) else {
                collisions.push(RekeyCollision { holder, other: None });
                continue;
            };
            match owners.get(&new) {
                Some(other) if *other != holder => {
                    collisions.push(RekeyCollision { holder: other.clone(), other: Some(holder) });
                    continue;
                }
                _ => owners.insert(new.clone(), holder.clone()),
            };
            if new != old {
                plan.moves.entry(holder).or_default().push((old, new));
            }
        }
        if collisions.is_empty() { Ok(plan) } else { Err(collisions) }
    }

    /// How many keys have another form now.
    pub(crate) fn moved(&self) -> u64 {
        self.moves.values().map(|moves| moves.len() as u64).sum()
    }

    /// What the holder's commit records of `moves` (R20).
    pub(crate) fn key_changes(moves: &[(KeyId, KeyId)]) -> Vec<KeyChange> {
        let change = |key: &KeyId, taken| KeyChange {
            namespace: key.namespace.clone(),
            scope: key.scope.clone(),
            key: key.key.clone(),
            taken,
        };
        moves.iter().flat_map(|(old, new)| [change(old, false), change(new, true)]).collect()
    }
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.len() <= KEY_BYTES_MAX && !key.contains('\0')
}
