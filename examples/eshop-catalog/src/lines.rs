//! Reading a file of names: one a line, `kind<TAB>name`. What can't be a name is told apart, with its line number.

use freehold::Namespace;
use std::collections::HashMap;

/// The first line of a file; it may be missing.
const HEADER: &str = "kind\tname";
/// The most characters of a bad field that a message quotes.
const QUOTED_CHARS_MAX: usize = 40;

/// What a name is to the brand it belongs to, in the data set's own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The name itself.
    Title,
    /// It is also known so.
    Aka,
    /// Another one that shares its icon.
    Dup,
    /// Its name in another language.
    Loc,
    /// What it was called before.
    Old,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Title, Self::Aka, Self::Dup, Self::Loc, Self::Old];

    /// The kind, as files have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Aka => "aka",
            Self::Dup => "dup",
            Self::Loc => "loc",
            Self::Old => "old",
        }
    }
}

/// A name of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its line, from 1; the header counts.
    pub number: usize,
    /// What the name is.
    pub kind: Kind,
    /// The name as it is spelled there, outer spaces included.
    pub name: String,
    /// Which line of this kind and name it is in its file, from 1.
    pub repetition: usize,
}

/// A line that is no name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// Its line, from 1.
    pub number: usize,
    /// What is wrong, and what it should be.
    pub problem: String,
}

/// Reads a whole file whose names go into `namespace`: its names and its bad lines, both in order.
#[must_use]
pub fn read(file: &[u8], namespace: Namespace) -> (Vec<Line>, Vec<BadLine>) {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let file = file.strip_suffix(b"\n").unwrap_or(file);
    let (mut lines, mut bad) = (Vec::new(), Vec::new());
    let mut repetitions: HashMap<(Kind, String), usize> = HashMap::new();
    if file.is_empty() {
        return (lines, bad);
    }
    for (index, text) in file.split(|byte| *byte == b'\n').enumerate() {
        let number = index + 1;
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if number == 1 && text == HEADER.as_bytes() {
            continue;
        }
        match fields(text, namespace) {
            Ok((kind, name)) => {
                let repetition = repetitions.entry((kind, name.to_owned())).or_default();
                *repetition += 1;
                lines.push(Line { number, kind, name: name.to_owned(), repetition: *repetition });
            }
            Err(problem) => bad.push(BadLine { number, problem }),
        }
    }
    (lines, bad)
}

fn fields(text: &[u8], namespace: Namespace) -> Result<(Kind, &str), String> {
    let Ok(text) = str::from_utf8(text) else {
        return Err("is not UTF-8; save the file as UTF-8".to_owned());
    };
    if text.trim().is_empty() {
        return Err("is blank; write `kind<TAB>name`, or remove it".to_owned());
    }
    let mut fields = text.split('\t');
    let (Some(kind), Some(name), None) = (fields.next(), fields.next(), fields.next()) else {
        let count = text.split('\t').count();
        return Err(format!("has {count} field(s) separated by tabs instead of 2; write `kind<TAB>name`"));
    };
    let Some(kind) = Kind::ALL.into_iter().find(|known| known.as_str() == kind) else {
        let known = Kind::ALL.map(Kind::as_str).join(", ");
        return Err(format!("has the unknown kind {}; the kinds are {known}", quoted(kind)));
    };
    if name.trim().is_empty() {
        return Err("has a blank name; write one after the tab".to_owned());
    }
    match namespace.key(name) {
        Ok(_) => Ok((kind, name)),
        Err(problem) => Err(format!("has the name {} that can't be one: {problem}", quoted(name))),
    }
}

fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARS_MAX) {
        Some((end, _)) => format!("{:?}..", &text[..end]),
        None => format!("{text:?}"),
    }
}
