//! The text of a failure: a headline, aligned rows, titled sections with marked lines. Knows nothing of what they say.

use anstyle::{AnsiColor, Style};
use std::fmt::Write as _;
use std::io::IsTerminal;

/// Set to anything, it shows long values whole.
pub(super) const FULL_SWITCH: &str = "FREEHOLD_FULL";
/// Where marks stand in a line.
const MARK_COLUMN: usize = 4;

/// Which side of a comparison a line is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// On both.
    Both,
    /// Expected, or seen first.
    Minus,
    /// Actual, or seen then.
    Plus,
}

#[derive(Debug, Clone)]
enum Line {
    Blank,
    Row { word: String, kind: String, text: String },
    Section { title: String, legend: Option<&'static str> },
    Item { mark: Mark, indent: usize, text: String },
}

/// A failure text in the making.
#[derive(Debug, Clone)]
pub(super) struct Report {
    headline: String,
    lines: Vec<Line>,
}

impl Report {
    pub(super) fn new(headline: impl Into<String>) -> Self {
        Self { headline: headline.into(), lines: Vec::new() }
    }

    /// Starts a paragraph.
    pub(super) fn blank(&mut self) {
        self.lines.push(Line::Blank);
    }

    /// A row of three columns, the same in the whole text; more lines of the third stand below it.
    pub(super) fn row(&mut self, word: &str, kind: &str, text: &[String]) {
        let first = text.first().cloned().unwrap_or_default();
        self.lines.push(Line::Row { word: word.to_owned(), kind: kind.to_owned(), text: first });
        for more in text.iter().skip(1) {
            self.lines.push(Line::Row { word: String::new(), kind: String::new(), text: more.clone() });
        }
    }

    /// A title for the items that follow; `legend` says what their marks mean.
    pub(super) fn section(&mut self, title: impl Into<String>, legend: Option<&'static str>) {
        self.lines.push(Line::Section { title: title.into(), legend });
    }

    /// A line of a section, indented by `indent` after the marks.
    pub(super) fn item(&mut self, mark: Mark, indent: usize, text: impl Into<String>) {
        self.lines.push(Line::Item { mark, indent, text: text.into() });
    }

    /// The text: plain, or with colours.
    pub(super) fn render(&self, colour: bool) -> String {
        let rows = || {
            self.lines.iter().filter_map(|line| match line {
                Line::Row { word, kind, .. } => Some((word.chars().count(), kind.chars().count())),
                _ => None,
            })
        };
        let word_width = rows().map(|(word, _)| word).max().unwrap_or(0);
        let kind_width = rows().map(|(_, kind)| kind).max().unwrap_or(0);
        let bold = AnsiColor::White.on_default().bold();
        let mut text = paint(&self.headline, bold, colour);
        text.push('\n');
        for line in &self.lines {
            let (plain, style) = match line {
                Line::Blank => (String::new(), Style::new()),
                Line::Row { word, kind, text } => {
                    (format!("  {word:<word_width$}  {kind:<kind_width$}  {text}"), Style::new())
                }
                Line::Section { title, legend: None } => (format!("  {title}"), Style::new().bold()),
                Line::Section { title, legend: Some(legend) } => {
                    (format!("  {title}        {legend}"), Style::new().bold())
                }
                Line::Item { mark, indent, text } => item(*mark, *indent, text),
            };
            text.push_str(&paint(plain.trim_end(), style, colour));
            text.push('\n');
        }
        if !shows_all() && self.is_cut() {
            let _ = write!(text, "\n  long values are cut; {FULL_SWITCH}=1 shows them whole\n");
        }
        text
    }

    fn is_cut(&self) -> bool {
        self.lines.iter().any(|line| match line {
            Line::Row { text, .. } | Line::Item { text, .. } => {
                [" more)", " equal) .."].iter().any(|cut| text.contains(cut))
            }
            Line::Blank | Line::Section { .. } => false,
        })
    }

    /// Fails the test at the caller's line.
    #[track_caller]
    pub(super) fn fail(&self) -> ! {
        panic!("{}", self.render(wants_colour()))
    }
}

fn item(mark: Mark, indent: usize, text: &str) -> (String, Style) {
    let (sign, style) = match mark {
        Mark::Both => (' ', Style::new()),
        Mark::Minus => ('-', AnsiColor::Red.on_default()),
        Mark::Plus => ('+', AnsiColor::Green.on_default()),
    };
    (format!("{:MARK_COLUMN$}{sign} {:indent$}{text}", "", ""), style)
}

/// ASCII only, so that what looks the same is the same.
pub(super) fn ascii(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut ascii, character| {
        if character.is_ascii() && !character.is_ascii_control() {
            ascii.push(character);
        } else {
            ascii.extend(character.escape_default());
        }
        ascii
    })
}

fn paint(text: &str, style: Style, colour: bool) -> String {
    let ascii = ascii(text);
    if colour && style != Style::new() && !ascii.is_empty() { format!("{style}{ascii}{style:#}") } else { ascii }
}

/// Whether long values are shown whole.
pub(super) fn shows_all() -> bool {
    std::env::var_os(FULL_SWITCH).is_some_and(|value| !value.is_empty() && value != "0")
}

fn wants_colour() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Report {
        let mut report = Report::new("Brand: events differ");
        report.row("given", "events", &["1  A".to_owned(), "2  caf\u{e9}".to_owned()]);
        report.blank();
        report.section("events", Some("- expected    + actual"));
        report.item(Mark::Plus, 1, "B");
        report
    }

    #[test]
    fn a_text_is_aligned_and_ascii() {
        let expected = "Brand: events differ\n  given  events  1  A\n                 2  caf\\u{e9}\n\n  \
                        events        - expected    + actual\n    +  B\n";
        assert_eq!(sample().render(false), expected);
    }

    #[test]
    fn colours_change_nothing_but_the_colour() {
        let coloured = sample().render(true);
        let mut plain = String::new();
        let mut is_code = false;
        for character in coloured.chars() {
            match character {
                '\u{1b}' => is_code = true,
                'm' if is_code => is_code = false,
                _ if !is_code => plain.push(character),
                _ => {}
            }
        }
        assert!(coloured.contains('\u{1b}'));
        assert_eq!(plain, sample().render(false));
    }
}
