//! Ids of aggregates and requests: readable, and for imported lines the same on every run and machine.

use crate::lines::Line;
use freehold::{IdSource, RandomIds};
use sha2::{Digest, Sha256};

/// The most bytes of a name that an id begins with; an id has 255 at most.
const SLUG_BYTES_MAX: usize = 48;

/// The request id of an imported line. What makes two lines one request: kind, name, and which of its repetitions it is.
///
/// The file's name and the line's number have no part in it, so a file that has grown is imported again safely.
#[must_use]
pub fn request_id(line: &Line) -> String {
    format!("import-{:032x}", hash(line))
}

/// The id of the aggregate that an imported line creates: its own, for two lines may have one name.
///
/// Nothing is random in it. So a line that is sent again finds the aggregate, and the keys, of its first time.
#[must_use]
pub fn imported_id(line: &Line) -> String {
    with_slug(&line.name, hash(line) >> 64)
}

/// A fresh id for an aggregate called `name`.
#[must_use]
pub fn fresh_id(name: &str) -> String {
    with_slug(name, RandomIds.next())
}

/// The first 128 bits of the line's SHA-256. No field holds a tab, so the parts can't run into each other.
fn hash(line: &Line) -> u128 {
    let text = format!("{}\t{}\t{}", line.kind.as_str(), line.name, line.repetition);
    Sha256::digest(text).iter().take(16).fold(0, |bits, byte| bits << 8 | u128::from(*byte))
}

/// A name in letters, digits and hyphens, and 48 bits that tell it from others that look the same so.
fn with_slug(name: &str, bits: u128) -> String {
    let mut slug = String::new();
    for character in name.chars().flat_map(char::to_lowercase) {
        if slug.len() + character.len_utf8() > SLUG_BYTES_MAX {
            break;
        }
        if character.is_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    let hyphen = if slug.is_empty() { "" } else { "-" };
    format!("{slug}{hyphen}{:012x}", bits & 0xffff_ffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::Kind;

    fn line(kind: Kind, name: &str, repetition: usize) -> Line {
        Line { number: 2, kind, name: name.to_owned(), repetition }
    }

    #[test]
    fn a_line_has_the_same_ids_wherever_it_stands() {
        let moved = Line { number: 700, ..line(Kind::Title, "GitHub", 1) };
        assert_eq!(request_id(&moved), request_id(&line(Kind::Title, "GitHub", 1)));
        assert_eq!(imported_id(&moved), imported_id(&line(Kind::Title, "GitHub", 1)));
    }

    #[test]
    fn lines_that_differ_in_kind_name_or_repetition_have_different_ids() {
        let lines = [
            line(Kind::Title, "C", 1),
            line(Kind::Title, "C", 2),
            line(Kind::Old, "C", 1),
            line(Kind::Title, "C++", 1),
            line(Kind::Title, "c", 1),
        ];
        for ids in [lines.each_ref().map(request_id), lines.each_ref().map(imported_id)] {
            let different: std::collections::BTreeSet<_> = ids.iter().collect();
            assert_eq!(different.len(), lines.len(), "{ids:?}");
        }
    }

    #[test]
    fn an_id_is_readable_and_bounded() {
        assert_eq!(with_slug(" /e/ OS (2) ", 0xabc), "e-os-2-000000000abc");
        assert_eq!(with_slug("++", 1), "000000000001");
        assert!(with_slug(&"\u{601d}".repeat(500), u128::MAX).len() <= 255);
    }
}
