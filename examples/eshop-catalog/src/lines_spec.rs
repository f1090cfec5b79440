//! What a file of names may look like.

use crate::lines::{BadLine, Kind, Line, read};
use crate::names::BRAND_NAMES;

fn names(file: &[u8]) -> Vec<(usize, Kind, String)> {
    let (lines, bad) = read(file, BRAND_NAMES);
    assert_eq!(bad, []);
    lines.into_iter().map(|Line { number, kind, name, .. }| (number, kind, name)).collect()
}

#[track_caller]
fn is_bad(line: &[u8], problem: &str) {
    let file = [b"kind\tname\ntitle\tContoso\n", line, b"\naka\tFabrikam\n"].concat();
    let (lines, bad) = read(&file, BRAND_NAMES);
    assert_eq!(lines.iter().map(|line| line.number).collect::<Vec<_>>(), [2, 4], "the rest goes on");
    let [BadLine { number: 3, problem: actual }] = &*bad else { panic!("{bad:?}") };
    assert!(actual.contains(problem), "{actual}");
}

#[test]
fn a_file_has_a_header_and_a_name_a_line() {
    let contoso = vec![(2, Kind::Title, "Contoso".to_owned()), (3, Kind::Old, " 3 C ".to_owned())];
    assert_eq!(names(b"kind\tname\ntitle\tContoso\nold\t 3 C \n"), contoso);
}

#[test]
fn header_last_line_break_byte_order_mark_and_carriage_returns_are_optional() {
    assert_eq!(names(b"title\tContoso"), [(1, Kind::Title, "Contoso".to_owned())]);
    assert_eq!(names(b"\xef\xbb\xbfkind\tname\r\naka\tContoso\r\n"), [(2, Kind::Aka, "Contoso".to_owned())]);
    assert_eq!(names(b""), []);
    assert_eq!(names(b"kind\tname\n"), []);
}

#[test]
fn lines_of_one_kind_and_name_are_counted() {
    let (lines, _) = read(b"title\tA\naka\tA\ntitle\tA\ntitle\ta\n", BRAND_NAMES);
    assert_eq!(lines.iter().map(|line| line.repetition).collect::<Vec<_>>(), [1, 1, 2, 1]);
}

#[test]
fn a_bad_line_is_told_with_its_number_and_the_rest_goes_on() {
    is_bad(b"", "is blank");
    is_bad(b" \t ", "is blank");
    is_bad(b"title", "has 1 field(s)");
    is_bad(b"title\tA\tB", "has 3 field(s)");
    is_bad(b"brand\tA", "unknown kind \"brand\"; the kinds are title, aka, dup, loc, old");
    is_bad(b"title\t  ", "has a blank name");
    is_bad(b"title\t\xff", "is not UTF-8");
    is_bad(b"title\tA\0B", "holds a NUL character");
    is_bad(&[b"title\t".as_slice(), &[b'a'; 1_025]].concat(), "is longer than 1024 bytes");
}
