//! Events and commands as a spec shows and compares them: their JSON, under the name of their type.

use super::json::Node;
use freehold::{EncodedEvent, EventSet, Text};
use serde_json::value::RawValue;
use std::any::type_name;

/// A recorded event or command.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) name: String,
    /// The version of its shape; 0 for what has none.
    pub(super) version: u32,
    pub(super) data: Node,
}

impl Shown {
    pub(super) fn event(event: &EncodedEvent) -> Self {
        let EncodedEvent { name, version, data } = event;
        Self { name: name.to_string(), version: *version, data: Node::parse(data.get()) }
    }

    pub(super) fn all<E: EventSet>(events: &[E]) -> Result<Vec<Self>, String> {
        let encoded = events.iter().map(|event| event.encode().map(|encoded| Self::event(&encoded)));
        encoded.collect::<Result<_, _>>().map_err(|error| error.to_string())
    }

    pub(super) fn command<C>(json: &str) -> Self {
        Self { name: short_name::<C>(), version: 0, data: Node::parse(json) }
    }

    /// An event of this name and version, with other data.
    pub(super) fn encoded(&self, json: &str) -> Option<EncodedEvent> {
        let data = RawValue::from_string(json.to_owned()).ok()?;
        Some(EncodedEvent { name: Text::from(&*self.name), version: self.version, data })
    }

    pub(super) fn show(&self, full: bool) -> String {
        self.data.show_named(&self.name, full)
    }
}

impl PartialEq for Shown {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.version) == (&other.name, other.version) && self.data == other.data
    }
}

/// Events one below the other, numbered from 1; blank when there are none.
pub(super) fn numbered(events: &[Shown], full: bool) -> Vec<String> {
    events.iter().enumerate().map(|(index, event)| format!("{}  {}", index + 1, event.show(full))).collect()
}

/// The name of a type without its modules.
pub(super) fn short_name<T: ?Sized>() -> String {
    short(type_name::<T>())
}

pub(super) fn short(type_name: &str) -> String {
    let parts = type_name.split_inclusive(['<', '>', ',', ' ', '&', '(', ')']);
    parts.map(|part| part.rsplit_once("::").map_or(part, |(_, name)| name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_shown_without_its_modules() {
        assert_eq!(short_name::<Shown>(), "Shown");
        assert_eq!(
            short_name::<Option<std::collections::BTreeMap<String, Shown>>>(),
            "Option<BTreeMap<String, Shown>>"
        );
        assert_eq!(short_name::<dyn std::fmt::Debug>(), "dyn Debug");
    }
}
