//! Events and states as JSON: encoding, decoding, upcasting. Which events an aggregate has is in `event`.

use crate::event::Event;
use crate::text::Text;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;

/// An event as it is stored: its name, its version, and its fields as JSON text.
#[derive(Clone, Serialize, Deserialize)]
pub struct EncodedEvent {
    /// The event's name.
    #[serde(rename = "type")]
    pub name: Text,
    /// The version of its shape, from 1.
    #[serde(rename = "v")]
    pub version: u32,
    /// Its fields.
    pub data: Box<RawValue>,
}

impl EncodedEvent {
    /// Encodes `event`.
    ///
    /// # Errors
    ///
    /// [`CodecError`] when serde can't write it as JSON, such as a map with keys that are no text.
    pub fn new<E: Event>(event: &E) -> Result<Self, CodecError> {
        let data = serde_json::value::to_raw_value(event)
            .map_err(|source| CodecError::encode(E::NAME, E::VERSION, &source))?;
        Ok(Self { name: Text::from_static(E::NAME), version: E::VERSION, data })
    }

    /// Whether this is an `E`, of whatever version.
    #[must_use]
    pub fn is<E: Event>(&self) -> bool {
        self.name == E::NAME
    }

    /// Decodes an `E`, through its upcasters when it was written in an older version.
    ///
    /// # Errors
    ///
    /// [`CodecError`] when the version is newer than this code, an upcaster fails, or the fields don't fit.
    pub fn decode<E: Event>(&self) -> Result<E, CodecError> {
        if self.version == E::VERSION {
            return serde_json::from_str(self.data.get()).map_err(|source| CodecError::decode(self, &source));
        }
        if self.version == 0 || self.version > E::VERSION {
            return Err(CodecError::new(&self.name, self.version, Problem::Newer(E::VERSION)));
        }
        let mut value: Value =
            serde_json::from_str(self.data.get()).map_err(|source| CodecError::decode(self, &source))?;
        for upcaster in E::UPCASTERS.iter().skip(self.version as usize - 1) {
            value =
                upcaster(value).map_err(|error| CodecError::new(&self.name, self.version, Problem::Upcast(error.0)))?;
        }
        serde_json::from_value(value).map_err(|source| CodecError::decode(self, &source))
    }
}

/// Without the fields: they may hold keys (R19).
impl fmt::Debug for EncodedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (version {}, {} bytes)", self.name, self.version, self.data.get().len())
    }
}

impl PartialEq for EncodedEvent {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.version, self.data.get()) == (&other.name, other.version, other.data.get())
    }
}

/// Why an older version of an event could not be turned into a newer one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpcastError(String);

impl UpcastError {
    /// An error with a message for the operator. Leave the event's content out of it: it may be personal data.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// An event or state that can't be written as JSON or read back. Names the event, shows none of its content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {:?} (version {version}) {problem}", name.as_str())]
pub struct CodecError {
    name: Text,
    version: u32,
    problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Problem {
    Unknown,
    Newer(u32),
    Upcast(String),
    Encode(&'static str),
    Decode { what: &'static str, line: usize, column: usize },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str(
                "is not known to this aggregate; was it written by a newer release, or was its `#[on_event]` removed?",
            ),
            Self::Newer(known) => {
                write!(
                    f,
                    "is of a version that this code does not know (it knows 1 to {known}); deploy the newer release"
                )
            }
            Self::Upcast(message) => write!(f, "could not be upcast: {message}"),
            Self::Encode(what) => write!(f, "could not be written as JSON: {what}"),
            Self::Decode { what, line, column } => {
                write!(f, "could not be read: {what} at line {line} column {column} of its JSON")
            }
        }
    }
}

impl CodecError {
    fn new(name: &Text, version: u32, problem: Problem) -> Self {
        Self { name: name.clone(), version, problem }
    }

    /// The error for an event that no handler of the aggregate applies.
    #[must_use]
    pub fn unknown_event(event: &EncodedEvent) -> Self {
        Self::new(&event.name, event.version, Problem::Unknown)
    }

    /// Whether the event's name is unknown, as opposed to unreadable.
    #[must_use]
    pub fn is_unknown_event(&self) -> bool {
        self.problem == Problem::Unknown
    }

    // serde's own messages quote the offending value, which may be personal data (R19): only the class is kept.
    fn encode(name: &'static str, version: u32, source: &serde_json::Error) -> Self {
        Self::new(&Text::from_static(name), version, Problem::Encode(class(source)))
    }

    fn decode(event: &EncodedEvent, source: &serde_json::Error) -> Self {
        let problem = Problem::Decode { what: class(source), line: source.line(), column: source.column() };
        Self::new(&event.name, event.version, problem)
    }
}

fn class(error: &serde_json::Error) -> &'static str {
    match error.classify() {
        serde_json::error::Category::Io => "it does not serialise",
        serde_json::error::Category::Syntax => "not valid JSON",
        serde_json::error::Category::Data => "a field is missing or has another type than expected",
        serde_json::error::Category::Eof => "it ends too early",
    }
}

/// The canonical JSON of `value`: objects ordered by key, no white space. Equal data, equal text.
///
/// Numbers stay as they were written, so integers of any size are plain data, and the text does not depend on what
/// features of `serde_json` some other crate has switched on.
pub(crate) fn canonical<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    write_canonical(&serde_json::to_string(value)?, &mut text)?;
    Ok(text)
}

fn write_canonical(json: &str, out: &mut String) -> Result<(), serde_json::Error> {
    match json.as_bytes().first() {
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(json)?;
            separated(out, ('[', ']'), items, |item, out| write_canonical(item.get(), out))
        }
        Some(b'{') => {
            let fields: BTreeMap<String, &RawValue> = serde_json::from_str(json)?;
            separated(out, ('{', '}'), fields, |(name, field), out| {
                out.push_str(&serde_json::to_string(&name)?);
                out.push(':');
                write_canonical(field.get(), out)
            })
        }
        _ => {
            out.push_str(json);
            Ok(())
        }
    }
}

fn separated<I: IntoIterator>(
    out: &mut String,
    (open, close): (char, char),
    items: I,
    write: impl Fn(I::Item, &mut String) -> Result<(), serde_json::Error>,
) -> Result<(), serde_json::Error> {
    out.push(open);
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(item, out)?;
    }
    out.push(close);
    Ok(())
}

/// SHA-256 over `parts`, each with its length before it, so that no two lists of parts meet.
pub(crate) fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// Decodes a state or command from JSON text.
pub(crate) fn from_json<T: DeserializeOwned>(json: &str) -> Result<T, &'static str> {
    serde_json::from_str(json).map_err(|error| class(&error))
}
