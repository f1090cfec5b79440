//! Recorded values: JSON that keeps the order of its fields and the digits of its numbers, shown like Rust.

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;

/// Texts longer than this many characters are cut, unless everything is asked for.
const TEXT_CHARS_MAX: usize = 80;
/// Lists and objects with more parts than this are cut, unless everything is asked for.
const PARTS_MAX: usize = 20;

/// A JSON value as it was written.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// Null, a truth value, or a number with its digits.
    Scalar(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// An object, its fields in the order written.
    Object(Vec<(String, Self)>),
}

impl Node {
    /// Reads JSON; what is none is shown as it is.
    pub(super) fn parse(json: &str) -> Self {
        Self::try_parse(json).unwrap_or_else(|_| Self::Scalar(json.to_owned()))
    }

    fn try_parse(json: &str) -> Result<Self, serde_json::Error> {
        let json = json.trim();
        Ok(match json.as_bytes().first() {
            Some(b'"') => Self::Text(serde_json::from_str(json)?),
            Some(b'[') => {
                let parts: Vec<Box<RawValue>> = serde_json::from_str(json)?;
                Self::List(parts.iter().map(|part| Self::try_parse(part.get())).collect::<Result<_, _>>()?)
            }
            Some(b'{') => {
                let fields = serde_json::Deserializer::from_str(json).deserialize_map(Fields)?;
                let field = |(name, value): (String, Box<RawValue>)| Ok((name, Self::try_parse(value.get())?));
                Self::Object(fields.into_iter().map(field).collect::<Result<_, serde_json::Error>>()?)
            }
            _ => Self::Scalar(json.to_owned()),
        })
    }

    /// The value on one line; `full` shows all of it.
    pub(super) fn show(&self, full: bool) -> String {
        match self {
            Self::Scalar(text) => text.clone(),
            Self::Text(text) => quoted(text, full),
            Self::List(parts) => format!("[{}]", join(parts.iter().map(|part| part.show(full)), full)),
            Self::Object(fields) if fields.is_empty() => "{}".to_owned(),
            Self::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| format!("{}: {}", field_name(name), value.show(full)));
                format!("{{ {} }}", join(fields, full))
            }
        }
    }

    /// The value as JSON.
    pub(super) fn json(&self) -> String {
        match self {
            Self::Scalar(text) => text.clone(),
            Self::Text(text) => json_text(text),
            Self::List(parts) => format!("[{}]", parts.iter().map(Self::json).collect::<Vec<_>>().join(",")),
            Self::Object(fields) => {
                let field = |(name, value): &(String, Self)| format!("{}:{}", json_text(name), value.json());
                format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(","))
            }
        }
    }

    /// The value with every list in it the other way round.
    pub(super) fn reversed(&self) -> Self {
        match self {
            Self::Scalar(_) | Self::Text(_) => self.clone(),
            Self::List(parts) => Self::List(parts.iter().rev().map(Self::reversed).collect()),
            Self::Object(fields) => {
                Self::Object(fields.iter().map(|(name, value)| (name.clone(), value.reversed())).collect())
            }
        }
    }

    /// A text that two values share when they are equal but for the order of lists and fields.
    pub(super) fn unordered(&self) -> String {
        match self {
            Self::Scalar(_) | Self::Text(_) => self.json(),
            Self::List(parts) => {
                let mut parts: Vec<String> = parts.iter().map(Self::unordered).collect();
                parts.sort_unstable();
                format!("[{}]", parts.join(","))
            }
            Self::Object(fields) => {
                let field = |(name, value): &(String, Self)| format!("{name:?}:{}", value.unordered());
                let mut fields: Vec<String> = fields.iter().map(field).collect();
                fields.sort_unstable();
                format!("{{{}}}", fields.join(","))
            }
        }
    }

    /// The value after the name of its type: `Name { .. }`, `Name(..)`, or `Name` alone.
    pub(super) fn show_named(&self, name: &str, full: bool) -> String {
        match self {
            Self::Scalar(null) if null == "null" => name.to_owned(),
            Self::Object(_) => format!("{name} {}", self.show(full)),
            _ => format!("{name}({})", self.show(full)),
        }
    }
}

/// The order of an object's fields says nothing.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Scalar(one), Self::Scalar(other)) | (Self::Text(one), Self::Text(other)) => one == other,
            (Self::List(one), Self::List(other)) => one == other,
            (Self::Object(one), Self::Object(other)) => {
                let by_name =
                    |fields: &[(String, Self)]| -> BTreeMap<String, Self> { fields.iter().cloned().collect() };
                one.len() == other.len() && by_name(one) == by_name(other)
            }
            _ => false,
        }
    }
}

fn json_text(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Vec<(String, Box<RawValue>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(fields)
    }
}

/// A text in quotes, with escapes that show blanks; cut with a count when it is long.
pub(super) fn quoted(text: &str, full: bool) -> String {
    let length = text.chars().count();
    if full || length <= TEXT_CHARS_MAX {
        return format!("{text:?}");
    }
    let start: String = text.chars().take(TEXT_CHARS_MAX).collect();
    format!("{start:?}.. ({} characters more)", length - TEXT_CHARS_MAX)
}

/// Two different texts, without what they have in common when that alone is too long to show.
pub(super) fn quoted_both(old: &str, new: &str, full: bool) -> (String, String) {
    let common = old.chars().zip(new.chars()).take_while(|(old, new)| old == new).count();
    if full || common < TEXT_CHARS_MAX {
        return (quoted(old, full), quoted(new, full));
    }
    let skipped = common - TEXT_CHARS_MAX / 8;
    let rest = |text: &str| {
        let rest: String = text.chars().skip(skipped).collect();
        format!("({skipped} characters, equal) ..{}", quoted(&rest, full))
    };
    (rest(old), rest(new))
}

/// A field's name, in quotes when Rust would not take it.
pub(super) fn field_name(name: &str) -> String {
    let is_plain = name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    if is_plain && !name.is_empty() { name.to_owned() } else { format!("{name:?}") }
}

fn join(parts: impl ExactSizeIterator<Item = String>, full: bool) -> String {
    let count = parts.len();
    if full || count <= PARTS_MAX {
        return parts.collect::<Vec<_>>().join(", ");
    }
    let shown: Vec<String> = parts.take(PARTS_MAX).collect();
    format!("{}, .. ({} more)", shown.join(", "), count - PARTS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order_and_compare_without_it() {
        let one = Node::parse(r#"{"b": 1, "a": [true, null, "x"], "c-d": {}}"#);
        assert_eq!(one.show_named("Made", false), r#"Made { b: 1, a: [true, null, "x"], "c-d": {} }"#);
        assert!(one == Node::parse(r#"{"c-d":{},"a":[true,null,"x"],"b":1}"#));
        assert!(one != Node::parse(r#"{"c-d":{},"a":[null,true,"x"],"b":1}"#));
    }

    #[test]
    fn a_value_is_written_as_it_was_read_and_compared_without_order_when_asked() {
        let json = r#"{"set":[{"a":1,"b":[2,"\"x\""]},"y",null],"n":340282366920938463463374607431768211455}"#;
        let one = Node::parse(json);
        assert_eq!(one.json(), json);
        assert_eq!(
            one.reversed().json(),
            json.replace(r#"{"a":1,"b":[2,"\"x\""]},"y",null"#, r#"null,"y",{"a":1,"b":["\"x\"",2]}"#)
        );
        assert_eq!(one.reversed().unordered(), one.unordered());
        assert!(one.unordered() != Node::parse(&json.replace('2', "3")).unordered());
        assert!(one.unordered() != Node::parse(&json.replace("null", "\"null\"")).unordered());
    }

    #[test]
    fn numbers_keep_their_digits() {
        assert!(Node::parse("9007199254740993") != Node::parse("9007199254740992"));
        assert_eq!(Node::parse("340282366920938463463374607431768211455").show_named("Id", false).len(), 43);
    }

    #[test]
    fn what_is_long_is_cut_with_a_count() {
        let long = Node::Text("x".repeat(100));
        assert!(long.show(false).ends_with("x\".. (20 characters more)"));
        assert_eq!(long.show(true).len(), 102);
        let list = Node::parse(&format!("[{}]", vec!["1"; 25].join(",")));
        assert!(list.show(false).ends_with("1, .. (5 more)]"));
    }
}
