//! What a new normaliser does to the keys of a namespace, as a pure plan that every store applies (R13). No I/O.
//!
//! For whoever writes a store: it is a part of the contract, as [`lifecycle`](crate::reservation::lifecycle) is.

use super::record::{KeyChange, RekeyCollision};
use crate::ids::StreamId;
use crate::limits::KEY_BYTES_MAX;
use crate::reservation::{KeyId, Normalizer};
use crate::text::Text;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What becomes of the confirmed keys of a namespace.
///
/// A store frees every key that changes, of all holders, before it takes the first new one: one holder's new form may be
/// another's old one. Then each holder gets one commit.
#[derive(Debug, Default)]
pub struct RekeyPlan {
    /// How many keys have another form now.
    pub moved: u64,
    /// The old forms, of all holders.
    pub freed: Vec<KeyId>,
    /// What each holder's commit takes and frees, each key once.
    pub commits: BTreeMap<StreamId, Vec<(KeyId, Takes)>>,
}

/// Whether a rekey takes a key, or frees it.
pub type Takes = bool;

impl RekeyPlan {
    /// Plans the change of `held`, or lists what is in the way: two holders' keys that would be one, or a key that
    /// would be none, or would change again. Two keys of one holder may become one.
    ///
    /// `held` are the confirmed keys of the namespace with their holders, each key once.
    ///
    /// # Errors
    ///
    /// What is in the way, by holder; nothing is to be changed then.
    pub fn new(held: Vec<(KeyId, StreamId)>, normalizer: Normalizer) -> Result<Self, Vec<RekeyCollision>> {
        let mut plan = Self::default();
        let mut owners: HashMap<KeyId, StreamId> = HashMap::new();
        let mut collisions = Vec::new();
        let unchanged: BTreeSet<KeyId> = held.iter().map(|(key, _)| key.clone()).collect();
        for (old, holder) in held {
            let Some(new) = normalized(&old, normalizer) else {
                collisions.push(RekeyCollision { namespace: old.namespace, holder, other: None });
                continue;
            };
            let before = match owners.get(&new) {
                Some(other) if *other != holder => {
                    let (namespace, other) = (old.namespace, other.clone());
                    collisions.push(RekeyCollision { namespace, holder: other, other: Some(holder) });
                    continue;
                }
                before => before.is_some(),
            };
            owners.insert(new.clone(), holder.clone());
            if new != old {
                plan.moved += 1;
                plan.freed.push(old.clone());
                let changes = plan.commits.entry(holder).or_default();
                changes.push((old, false));
                // A form that was there before keeps its commit.
                if !before && !unchanged.contains(&new) {
                    changes.push((new, true));
                }
            }
        }
        if collisions.is_empty() { Ok(plan) } else { Err(collisions) }
    }
}

/// What a holder's commit records of its changes (R20).
#[must_use]
pub fn key_changes(changes: &[(KeyId, Takes)]) -> Vec<KeyChange> {
    let change = |(key, taken): &(KeyId, Takes)| KeyChange {
        namespace: key.namespace.clone(),
        scope: key.scope.clone(),
        key: key.key.clone(),
        taken: *taken,
    };
    changes.iter().map(change).collect()
}

/// The new form of `key`, when it is a key (R14) and its own normal form (R13).
fn normalized(key: &KeyId, normalizer: Normalizer) -> Option<KeyId> {
    let new = normalizer.apply(&key.key)?;
    let is_key = !new.is_empty() && new.len() <= KEY_BYTES_MAX && !new.contains('\0');
    let is_stable = normalizer.apply(&new).is_some_and(|again| again == new);
    (is_key && is_stable).then(|| KeyId { key: Text::from(&*new), ..key.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::AggregateType;
    use crate::{Normalizer, TRIM_LOWERCASE};

    fn key(text: &str) -> KeyId {
        KeyId { key: text.into(), namespace: "n".into(), scope: "t".into(), context: "c".into() }
    }

    fn holder(id: &str) -> StreamId {
        let aggregate = AggregateType { context: "c".into(), name: "a".into() };
        StreamId { aggregate, tenant: "t".into(), id: id.into() }
    }

    fn plan(held: &[(&str, &str)], normalizer: Normalizer) -> Result<RekeyPlan, Vec<RekeyCollision>> {
        RekeyPlan::new(held.iter().map(|(text, who)| (key(text), holder(who))).collect(), normalizer)
    }

    #[test]
    fn each_key_is_freed_and_taken_once_though_forms_merge() {
        let plan = plan(&[("X", "a"), (" x", "a"), ("x", "a"), ("Y", "b"), ("z", "c")], TRIM_LOWERCASE);
        let plan = plan.expect("nothing is in the way");
        assert_eq!(plan.moved, 3);
        assert_eq!(plan.commits[&holder("a")], [(key("X"), false), (key(" x"), false)]);
        assert_eq!(plan.commits[&holder("b")], [(key("Y"), false), (key("y"), true)]);
        assert!(!plan.commits.contains_key(&holder("c")));
    }

    #[test]
    fn one_holders_new_form_may_be_anothers_old_one() {
        const SHIFT: Normalizer = Normalizer::named("shift", 1, |text| match text {
            "y" => "z!".to_owned(),
            "x" => "w!".to_owned(),
            other => other.to_owned(),
        });
        let plan = plan(&[("x", "a"), ("y", "b")], SHIFT).expect("nothing is in the way");
        assert_eq!(plan.freed, [key("x"), key("y")]);
    }

    #[test]
    fn what_is_in_the_way_is_named_by_holder() {
        const GROWING: Normalizer = Normalizer::named("growing", 1, |text| format!("{text}!"));
        let two = plan(&[("X", "a"), ("x", "b"), (" ", "c")], TRIM_LOWERCASE).expect_err("two holders, and no key");
        let expected = [(holder("a"), Some(holder("b"))), (holder("c"), None)];
        assert_eq!(two.into_iter().map(|c| (c.holder, c.other)).collect::<Vec<_>>(), expected);
        assert!(plan(&[("x", "a")], GROWING).is_err(), "a form that would change again is none");
    }
}
