//! The difference of two lists of events: equal ones on one line each, the others down to the field that differs.

use super::events::Shown;
use super::json::{Node, field_name, quoted_both};
use super::report::{Mark, Report};

/// As many equal parts of a list in a row are shown, more are counted.
const EQUAL_PARTS_MAX: usize = 3;
/// By how much a field stands further to the right than what it is a field of.
const STEP: usize = 4;

/// Adds the difference, both lists numbered from 1.
pub(super) fn events(report: &mut Report, expected: &[Shown], actual: &[Shown], full: bool) {
    let width = expected.len().max(actual.len()).to_string().len();
    for pair in align(expected, actual) {
        match pair {
            Pair::Equal(new) => {
                report.item(Mark::Both, 0, format!("{:>width$}  {}", new + 1, actual[new].show(full)));
            }
            Pair::Changed(old, new) => changed(report, new + 1, width, (&expected[old], &actual[new]), full),
            Pair::Expected(old) => {
                report.item(Mark::Minus, 0, format!("{:>width$}  {}", old + 1, expected[old].show(full)));
            }
            Pair::Actual(new) => {
                report.item(Mark::Plus, 0, format!("{:>width$}  {}", new + 1, actual[new].show(full)));
            }
        }
    }
}

/// The positions, from 1, at which two lists of one length differ.
pub(super) fn positions(expected: &[Shown], actual: &[Shown]) -> Vec<String> {
    let differ = expected.iter().zip(actual).enumerate().filter(|(_, (expected, actual))| expected != actual);
    differ.map(|(index, _)| (index + 1).to_string()).collect()
}

enum Pair {
    Equal(usize),
    /// Of one name, but with another content.
    Changed(usize, usize),
    Expected(usize),
    Actual(usize),
}

/// Pairs the longest common subsequence; between its members, events of one name are paired in order.
fn align(expected: &[Shown], actual: &[Shown]) -> Vec<Pair> {
    let mut longest = vec![vec![0_usize; actual.len() + 1]; expected.len() + 1];
    for old in (0..expected.len()).rev() {
        for new in (0..actual.len()).rev() {
            longest[old][new] = if expected[old] == actual[new] {
                longest[old + 1][new + 1] + 1
            } else {
                longest[old + 1][new].max(longest[old][new + 1])
            };
        }
    }
    let (mut pairs, mut old, mut new) = (Vec::new(), 0, 0);
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    while old < expected.len() || new < actual.len() {
        if old < expected.len() && new < actual.len() && expected[old] == actual[new] {
            between(&mut pairs, &mut gone, &mut come, |old: usize, new: usize| expected[old].name == actual[new].name);
            pairs.push(Pair::Equal(new));
            (old, new) = (old + 1, new + 1);
        } else if new == actual.len() || (old < expected.len() && longest[old + 1][new] >= longest[old][new + 1]) {
            gone.push(old);
            old += 1;
        } else {
            come.push(new);
            new += 1;
        }
    }
    between(&mut pairs, &mut gone, &mut come, |old: usize, new: usize| expected[old].name == actual[new].name);
    pairs
}

fn between(
    pairs: &mut Vec<Pair>,
    gone: &mut Vec<usize>,
    come: &mut Vec<usize>,
    is_same_name: impl Fn(usize, usize) -> bool,
) {
    let mut come = std::mem::take(come).into_iter().peekable();
    for old in gone.drain(..) {
        match come.next_if(|new| is_same_name(old, *new)) {
            Some(new) => pairs.push(Pair::Changed(old, new)),
            None => pairs.push(Pair::Expected(old)),
        }
    }
    pairs.extend(come.map(Pair::Actual));
}

fn changed(report: &mut Report, number: usize, width: usize, (expected, actual): (&Shown, &Shown), full: bool) {
    let name = &actual.name;
    let (Node::Object(old), Node::Object(new)) = (&expected.data, &actual.data) else {
        let (old, new) = two(&expected.data, &actual.data, full);
        report.item(Mark::Minus, 0, format!("{number:>width$}  {name}({old})"));
        report.item(Mark::Plus, 0, format!("{number:>width$}  {name}({new})"));
        return;
    };
    report.item(Mark::Both, 0, format!("{number:>width$}  {name} {{"));
    fields(report, width + 2 + STEP, old, new, full);
    report.item(Mark::Both, width + 2, "}");
}

fn fields(report: &mut Report, indent: usize, old: &[(String, Node)], new: &[(String, Node)], full: bool) {
    let find = |fields: &[(String, Node)], name: &str| fields.iter().position(|(other, _)| other == name);
    for (name, value) in old {
        let prefix = format!("{}: ", field_name(name));
        match find(new, name) {
            Some(other) => node(report, indent, &prefix, (value, &new[other].1), full),
            None => report.item(Mark::Minus, indent, format!("{prefix}{},", value.show(full))),
        }
    }
    for (name, value) in new.iter().filter(|(name, _)| find(old, name).is_none()) {
        report.item(Mark::Plus, indent, format!("{}: {},", field_name(name), value.show(full)));
    }
}

fn node(report: &mut Report, indent: usize, prefix: &str, (old, new): (&Node, &Node), full: bool) {
    match (old, new) {
        _ if old == new => report.item(Mark::Both, indent, format!("{prefix}{},", new.show(full))),
        (Node::Object(old), Node::Object(new)) => {
            report.item(Mark::Both, indent, format!("{prefix}{{"));
            fields(report, indent + STEP, old, new, full);
            report.item(Mark::Both, indent, "},");
        }
        (Node::List(old), Node::List(new)) => {
            report.item(Mark::Both, indent, format!("{prefix}["));
            parts(report, indent + STEP, old, new, full);
            report.item(Mark::Both, indent, "],");
        }
        _ => {
            let (old, new) = two(old, new, full);
            report.item(Mark::Minus, indent, format!("{prefix}{old},"));
            report.item(Mark::Plus, indent, format!("{prefix}{new},"));
        }
    }
}

fn parts(report: &mut Report, indent: usize, old: &[Node], new: &[Node], full: bool) {
    let mut equal = 0;
    for (index, pair) in old.iter().zip(new).enumerate() {
        equal = if pair.0 == pair.1 { equal + 1 } else { 0 };
        if full || equal <= EQUAL_PARTS_MAX {
            node(report, indent, "", pair, full);
        } else if old.get(index + 1).zip(new.get(index + 1)).is_none_or(|(old, new)| old != new) {
            report.item(Mark::Both, indent, format!("({} equal) ..", equal - EQUAL_PARTS_MAX));
        }
    }
    old.iter().skip(new.len()).for_each(|part| report.item(Mark::Minus, indent, format!("{},", part.show(full))));
    new.iter().skip(old.len()).for_each(|part| report.item(Mark::Plus, indent, format!("{},", part.show(full))));
}

/// Two different values; whole when cut they would look the same.
fn two(old: &Node, new: &Node, full: bool) -> (String, String) {
    if let (Node::Text(old), Node::Text(new)) = (old, new) {
        return quoted_both(old, new, full);
    }
    let cut = (old.show(full), new.show(full));
    if cut.0 == cut.1 { (old.show(true), new.show(true)) } else { cut }
}
