//! Lists whose order says nothing: a set is written as a list, in an order of its own.
//!
//! Lists are compared as they are, unless the value itself shows that it keeps no order: read from its own JSON and
//! written again, it comes out in another one.

use crate::spec::events::Shown;
use crate::spec::json::Node;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How often a value is read again before it counts as one that keeps its order. A set of two comes out as it went in
/// every second time.
const REREAD_MAX: usize = 64;

/// The part of a path that stands for every item of a list.
const ITEM: &str = "[]";

/// Whether two values are equal but for the order of sets; `reread` reads a value of their type from its JSON, and writes
/// it again.
pub(super) fn is_alike(one: &Shown, other: &Shown, reread: impl Fn(&str) -> Option<String>) -> bool {
    if one == other {
        return true;
    }
    let is_explained_by_order =
        (&one.name, one.version) == (&other.name, other.version) && one.data.unordered() == other.data.unordered();
    is_explained_by_order && is_alike_but_for_sets(&one.data, &other.data, reread)
}

fn is_alike_but_for_sets(one: &Node, other: &Node, reread: impl Fn(&str) -> Option<String>) -> bool {
    // A set whose order follows from what is in it, and not from chance, shows when its items come in another order.
    let orders = [one.clone(), one.reversed()];
    let mut sets = Sets::default();
    (0..REREAD_MAX).any(|time| {
        let given = &orders[time % orders.len()];
        // What is given in another order was never written by anyone, and may be refused in whatever way.
        let written = catch_unwind(AssertUnwindSafe(|| reread(&given.json())));
        if let Ok(Some(written)) = written {
            sets.note(&mut Vec::new(), given, &Node::parse(&written));
        }
        sets.is_alike(&mut Vec::new(), one, other)
    })
}

/// The paths of lists that keep no order.
#[derive(Default)]
struct Sets(BTreeSet<Vec<String>>);

impl Sets {
    /// Notes the lists that were written in another order than given.
    fn note(&mut self, path: &mut Vec<String>, given: &Node, written: &Node) {
        match (given, written) {
            (Node::Object(given), Node::Object(written)) => {
                for (name, given) in given {
                    if let Some((_, written)) = written.iter().find(|(other, _)| other == name) {
                        below(path, name, |path| self.note(path, given, written));
                    }
                }
            }
            (Node::List(items), Node::List(others)) if items.len() == others.len() => {
                let is_in_order = || items.iter().zip(others).all(|(one, other)| one.unordered() == other.unordered());
                if is_in_order() {
                    for (item, other) in items.iter().zip(others) {
                        below(path, ITEM, |path| self.note(path, item, other));
                    }
                } else if given.unordered() == written.unordered() {
                    self.0.insert(path.clone());
                }
            }
            _ => {}
        }
    }

    fn is_alike(&self, path: &mut Vec<String>, one: &Node, other: &Node) -> bool {
        match (one, other) {
            (Node::Object(fields), Node::Object(others)) => {
                let has_like = |(name, value): &(String, Node)| {
                    let other = others.iter().find(|(other, _)| other == name);
                    other.is_some_and(|(_, other)| below(path, name, |path| self.is_alike(path, value, other)))
                };
                fields.len() == others.len() && fields.iter().all(has_like)
            }
            (Node::List(_), Node::List(_)) if self.0.contains(path) => one.unordered() == other.unordered(),
            (Node::List(items), Node::List(others)) => {
                let mut pairs = items.iter().zip(others);
                items.len() == others.len()
                    && pairs.all(|(one, other)| below(path, ITEM, |path| self.is_alike(path, one, other)))
            }
            (one, other) => one == other,
        }
    }
}

fn below<T>(path: &mut Vec<String>, name: &str, work: impl FnOnce(&mut Vec<String>) -> T) -> T {
    path.push(name.to_owned());
    let done = work(path);
    path.pop();
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};
    use std::collections::{BTreeSet, HashSet};

    #[derive(Serialize, Deserialize)]
    struct Mixed {
        list: Vec<u8>,
        set: HashSet<u8>,
        sorted: BTreeSet<u8>,
        nested: Vec<HashSet<u8>>,
        pair: (u8, String),
    }

    fn is_alike(one: &str, other: &str) -> bool {
        let reread = |json: &str| serde_json::to_string(&serde_json::from_str::<Mixed>(json).ok()?).ok();
        super::is_alike(&Shown::command::<Mixed>(one), &Shown::command::<Mixed>(other), reread)
    }

    fn mixed(list: &str, set: &str, sorted: &str, nested: &str) -> String {
        format!(r#"{{"list":{list},"set":{set},"sorted":{sorted},"nested":{nested},"pair":[1,"x"]}}"#)
    }

    #[test]
    fn the_order_of_a_set_says_nothing_and_that_of_a_list_beside_it_does() {
        let one = mixed("[1,2]", "[1,2]", "[1,2]", "[[1,2],[3,4]]");
        for _ in 0..20 {
            assert!(is_alike(&one, &mixed("[1,2]", "[2,1]", "[1,2]", "[[1,2],[3,4]]")));
            assert!(is_alike(&one, &mixed("[1,2]", "[2,1]", "[1,2]", "[[2,1],[4,3]]")));
            assert!(!is_alike(&one, &mixed("[2,1]", "[1,2]", "[1,2]", "[[1,2],[3,4]]")));
            assert!(!is_alike(&one, &mixed("[2,1]", "[2,1]", "[1,2]", "[[1,2],[3,4]]")));
            assert!(!is_alike(&one, &mixed("[1,2]", "[1,2]", "[1,2]", "[[3,4],[1,2]]")), "a list of sets is a list");
            assert!(!is_alike(&one, &mixed("[1,2]", "[1,3]", "[1,2]", "[[1,2],[3,4]]")));
            assert!(!is_alike(&one, &mixed("[1,2]", "[1]", "[1,2]", "[[1,2],[3,4]]")));
        }
    }

    #[test]
    fn what_can_not_be_read_again_is_compared_as_it_is() {
        let (one, other) = (Shown::command::<u8>("[1,2]"), Shown::command::<u8>("[2,1]"));
        assert!(super::is_alike(&one, &one.clone(), |_| None));
        assert!(!super::is_alike(&one, &other, |_| None));
        assert!(!super::is_alike(&one, &other, |_| Some("no JSON".into())));
    }
}
