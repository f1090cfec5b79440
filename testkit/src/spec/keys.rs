//! Keys as a spec shows and compares them: by namespace, with state and holder.

use super::play::Play;
use super::report::{Mark, Report, ascii};
use super::world::World;
use freehold::reservation::{KeyId, Record, RecordState};
use freehold::{Aggregate, Clock, StreamId};
use std::collections::BTreeMap;

/// A key, and how it stands.
struct Entry {
    mark: Mark,
    key: String,
    state: String,
}

type ByNamespace = BTreeMap<String, Vec<Entry>>;

/// The keys that `holder` holds, confirmed.
pub(super) fn held(records: &[(KeyId, Record)], holder: &StreamId) -> Vec<KeyId> {
    let held = records.iter().filter(|(_, record)| record.is_confirmed() && record.holder == *holder);
    held.map(|(key, _)| key.clone()).collect()
}

/// Adds the keys of this aggregate and those of others.
pub(super) fn show<A: Aggregate>(report: &mut Report, play: &Play<A>, name: &str) {
    let (own, others) = split(&play.world, |_| Mark::Both);
    section(report, &format!("keys of this {name}"), None, &own);
    if !others.is_empty() {
        section(report, "keys of others", None, &others);
    }
}

/// Adds the keys of this aggregate, compared with those that it should hold, and those of others.
pub(super) fn compare<A: Aggregate>(report: &mut Report, play: &Play<A>, name: &str, expected: &[KeyId]) {
    let (mut own, others) = split(&play.world, |key| if expected.contains(key) { Mark::Both } else { Mark::Plus });
    let held = held(&play.world.store.records(), play.world.subject.stream());
    for missing in expected.iter().filter(|key| !held.contains(key)) {
        let entry = Entry { mark: Mark::Minus, key: text(missing), state: "not held".to_owned() };
        own.entry(space(&play.world, missing)).or_default().push(entry);
    }
    for entries in own.values_mut() {
        entries.sort_by(|one, other| one.key.cmp(&other.key));
    }
    section(report, &format!("keys of this {name}"), Some("- expected, not held    + held, not expected"), &own);
    if !others.is_empty() {
        section(report, "keys of others", None, &others);
    }
}

fn split<A: Aggregate>(world: &World<A>, mark: impl Fn(&KeyId) -> Mark) -> (ByNamespace, ByNamespace) {
    let (mut own, mut others) = (ByNamespace::new(), ByNamespace::new());
    for (key, record) in world.store.records() {
        let is_own = record.holder == *world.subject.stream();
        let mark = if is_own && record.is_confirmed() { mark(&key) } else { Mark::Both };
        let mut state = state(world, &record);
        if !is_own && record.holder != world.other {
            state = format!("{state}, {}", record.holder);
        }
        let entries = if is_own { &mut own } else { &mut others };
        entries.entry(space(world, &key)).or_default().push(Entry { mark, key: text(&key), state });
    }
    (own, others)
}

fn section(report: &mut Report, title: &str, legend: Option<&'static str>, keys: &ByNamespace) {
    report.blank();
    report.section(title, legend);
    if keys.is_empty() {
        report.item(Mark::Both, 0, "none");
    }
    let width = keys.values().flatten().map(|entry| entry.key.chars().count()).max().unwrap_or(0);
    for (namespace, entries) in keys {
        report.item(Mark::Both, 0, namespace);
        for Entry { mark, key, state } in entries {
            report.item(*mark, 4, format!("{key:<width$}    {state}"));
        }
    }
}

/// How a record stands now.
pub(super) fn state<A: Aggregate>(world: &World<A>, record: &Record) -> String {
    match (&record.state, record.expires_at()) {
        (RecordState::Pending(_), Some(end)) if record.is_live(world.clock.now()) => {
            format!("pending until {}", world.since_start(end))
        }
        (RecordState::Pending(_), Some(end)) => format!("expired at {}", world.since_start(end)),
        _ => "confirmed".to_owned(),
    }
}

fn text(key: &KeyId) -> String {
    ascii(&format!("{:?}", key.key.as_str()))
}

/// The namespace, with the tenant where it is not the spec's own.
fn space<A: Aggregate>(world: &World<A>, key: &KeyId) -> String {
    if key.scope.is_empty() || key.scope.as_str() == world.subject.tenant_name() {
        return key.namespace.to_string();
    }
    format!("{} of tenant {:?}", key.namespace, key.scope.as_str())
}
