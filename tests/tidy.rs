//! The house rules that a compiler does not check, as tests over the files of the workspace.
//!
//! A rule that fails names each file and line, and says what to do. Raising a limit is a decision: do it here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const FOLDERS: [&str; 5] = ["macros", "runtime", "testkit", "examples", "tests"];
const LINES_MAX: usize = 600;
const COLUMNS_MAX: usize = 140;

/// Files that are about Unicode: their characters are the point, and a reader has to see them.
const UNICODE: [&str; 1] = ["runtime/src/reservation/normalize.rs"];

/// Areas of the conformance suite whose public functions are cases.
const AREAS: [&str; 11] = [
    "append",
    "requests",
    "reserve",
    "release",
    "expiry",
    "tenancy",
    "keys",
    "namespaces",
    "recovery",
    "concurrency",
    "commands",
];

/// A file of the workspace, by its path from the root.
struct Source {
    path: String,
    text: String,
}

impl Source {
    fn is_rust(&self) -> bool {
        self.has_extension("rs")
    }

    fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }

    /// Written by hand for a reader of this workspace, rather than input or output of a test or of the guide.
    fn is_ours(&self) -> bool {
        !["tests/ui/", "/golden/", "/guide/"].iter().any(|folder| self.path.contains(folder))
    }

    fn lines(&self) -> impl Iterator<Item = (String, &str)> {
        self.text.lines().zip(1..).map(|(line, number)| (format!("{}:{number}", self.path), line))
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is in a workspace")
}

/// Every file that belongs to the workspace: what cargo and the editor leave behind does not.
fn sources() -> Vec<Source> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(root()).expect("the root") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_file() {
            paths.push(path);
        } else if FOLDERS.contains(&name.as_str()) {
            walk(&path, &mut paths);
        }
    }
    let sources: Vec<Source> = paths.iter().filter_map(|path| read(path)).collect();
    assert!(sources.len() > 100, "only {} files were found in {}", sources.len(), root().display());
    sources
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let is_left_behind = ["target", "wip"].iter().any(|name| path.ends_with(name));
        if path.is_file() {
            paths.push(path);
        } else if !is_left_behind {
            walk(&path, paths);
        }
    }
}

/// Nothing for what is no text.
fn read(path: &Path) -> Option<Source> {
    let text = String::from_utf8(fs::read(path).ok()?).ok()?;
    let path = path.strip_prefix(root()).expect("below the root");
    Some(Source { path: path.to_string_lossy().replace('\\', "/"), text })
}

#[track_caller]
fn none(rule: &str, problems: &[String]) {
    assert!(problems.is_empty(), "{rule}:\n  {}\n", problems.join("\n  "));
}

/// What `broken` says of each of the `chosen` files.
fn each<'a>(
    sources: &'a [Source],
    chosen: impl Fn(&Source) -> bool,
    broken: impl Fn(&'a Source) -> Vec<String>,
) -> Vec<String> {
    let chosen: Vec<&Source> = sources.iter().filter(|source| chosen(source)).collect();
    assert!(!chosen.is_empty(), "no file was looked at");
    chosen.into_iter().flat_map(broken).collect()
}

/// The places of the lines that are `broken`.
fn lines(source: &Source, broken: impl Fn(&str) -> bool) -> Vec<String> {
    source.lines().filter(|(_, line)| broken(line)).map(|(place, _)| place).collect()
}

#[test]
fn every_file_opens_with_what_it_is() {
    let problems = each(
        &sources(),
        |source| source.is_rust() && source.is_ours(),
        |source| {
            // The runtime's first words are the README's.
            let opens = source.text.starts_with("//! ") || source.text.starts_with("#![doc = include_str!(");
            if opens { vec![] } else { vec![source.path.clone()] }
        },
    );
    none("the first line is `//! ..`: what the file is about", &problems);
}

#[test]
fn no_file_is_too_long() {
    let problems = each(&sources(), Source::is_rust, |source| {
        let count = source.text.lines().count();
        if count > LINES_MAX { vec![format!("{}: {count} lines", source.path)] } else { vec![] }
    });
    none("a file has one subject; find the second one and move it out", &problems);
}

#[test]
fn no_line_is_too_wide() {
    let problems = each(
        &sources(),
        |source| (source.is_rust() || source.has_extension("toml")) && source.is_ours(),
        |source| lines(source, |line| line.chars().count() > COLUMNS_MAX),
    );
    none("a line fits on a screen beside another file", &problems);
}

#[test]
fn nothing_is_left_to_do() {
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("dbg", "!("), concat!("to", "do!(")];
    let problems = each(
        &sources(),
        |source| source.is_ours() && !source.has_extension("lock") && !source.has_extension("tsv"),
        |source| lines(source, |line| words.iter().any(|word| line.contains(word))),
    );
    none("what is worth doing is done, or is an issue", &problems);
}

#[test]
fn sources_are_ascii() {
    let sources = sources();
    let problems = each(
        &sources,
        |source| source.is_rust() && !UNICODE.contains(&source.path.as_str()),
        |source| lines(source, |line| !line.is_ascii()),
    );
    none(r"write `\u{..}`, or put a file that is about Unicode on the list", &problems);
    let listed = |path: &&&str| sources.iter().any(|source| source.path == **path && !source.text.is_ascii());
    assert_eq!(UNICODE.iter().filter(listed).count(), UNICODE.len(), "a file on the list is plain, or gone");
}

#[test]
fn no_path_of_a_machine_is_named() {
    let paths = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];
    let problems =
        each(&sources(), |_| true, |source| lines(source, |line| paths.iter().any(|path| line.contains(path))));
    none("a path that exists on one machine only", &problems);
}

#[test]
fn every_mistake_has_its_message_and_no_message_is_left_over() {
    let sources = sources();
    let cases: Vec<&str> = sources.iter().filter_map(|source| source.path.strip_prefix("tests/ui/")).collect();
    let stems = |extension: &str| -> BTreeSet<&str> {
        cases.iter().filter(|path| path.contains('/')).filter_map(|path| path.strip_suffix(extension)).collect()
    };
    let (rust, messages) = (stems(".rs"), stems(".stderr"));
    let mistakes: BTreeSet<&str> = rust.iter().copied().filter(|path| !path.contains("/pass/")).collect();
    assert!(mistakes.len() >= 35, "{} mistakes", mistakes.len());
    let problems: Vec<String> = mistakes.symmetric_difference(&messages).map(|path| (*path).to_owned()).collect();
    none("a mistake is a `.rs` and a `.stderr` in `tests/ui`", &problems);
    let macros = ["aggregate", "on_command", "on_event", "event", "namespace", "send"];
    let strangers = rust.iter().filter(|path| !macros.iter().any(|name| path.split('/').next() == Some(name)));
    none(
        "a case is `<macro>/<kind of mistake>/<rule>.rs`",
        &strangers.map(|path| (*path).to_owned()).collect::<Vec<_>>(),
    );
}

#[test]
fn every_case_of_the_conformance_suite_is_on_its_list() {
    let folder = root().join("testkit/src/conformance");
    let list = fs::read_to_string(folder.join("mod.rs")).expect("the list");
    let mut problems = Vec::new();
    for area in AREAS {
        let text = fs::read_to_string(folder.join(area).with_extension("rs")).expect("an area");
        let cases: BTreeSet<&str> = text.split("pub async fn ").skip(1).filter_map(case_name).collect();
        assert!(!cases.is_empty(), "{area} has no case");
        let prefix = format!("{area}: ");
        let listed = list.lines().filter_map(|line| line.trim().strip_prefix(&prefix)?.strip_suffix(';')).collect();
        problems.extend(cases.symmetric_difference(&listed).map(|case| format!("{area}: {case};")));
    }
    none("`__conformance_cases!` lists what there is, or it runs on no store", &problems);
}

/// The name in `a_case(subject: &Subject) {..`, if it is one.
fn case_name(after_fn: &str) -> Option<&str> {
    let (name, rest) = after_fn.split_once('(')?;
    let (parameters, _) = rest.split_once(')')?;
    parameters.contains("&Subject").then_some(name)
}

#[test]
fn only_stores_know_their_database() {
    let name = concat!("rus", "qlite");
    let problems = each(
        &sources(),
        // The benchmarks measure what the bare database can do.
        |source| source.is_rust() && !source.path.starts_with("tests/benches/"),
        |source| {
            let may = source.path.starts_with("runtime/src/store/");
            lines(source, |line| !may && line.contains(name))
        },
    );
    none("a back end is a matter of `runtime/src/store`", &problems);
}

#[test]
fn the_macros_depend_on_no_crate_of_ours() {
    let manifest = fs::read_to_string(root().join("macros/Cargo.toml")).expect("the manifest");
    let dependencies = manifest.split("[dependencies]").nth(1).expect("dependencies");
    let ours: Vec<String> = dependencies.lines().filter(|line| line.contains("freehold")).map(str::to_owned).collect();
    none("dependencies run one way: macros <- runtime <- testkit <- examples, tests", &ours);
}

/// The rules of the design whose proof is a test.
fn rules() -> Vec<String> {
    let numbered = |letter: char, count: u32| (1..=count).map(move |number| format!("{letter}{number}"));
    numbered('R', 21).chain(numbered('C', 10)).chain(numbered('S', 5)).chain(["S7".to_owned()]).collect()
}

#[test]
fn every_rule_has_a_test_that_cites_it() {
    let folders = ["testkit/src/conformance/", "runtime/src/store/sqlite/tests/"];
    let sources = sources();
    let cited: BTreeSet<&str> = sources
        .iter()
        .filter(|source| source.is_rust() && source.is_ours() && source.path != "tests/tidy.rs")
        .filter(|source| source.path.starts_with("tests/") || folders.iter().any(|path| source.path.starts_with(path)))
        .flat_map(|source| source.text.lines())
        .filter(|line| line.trim_start().starts_with("//") || line.contains("fn "))
        .flat_map(|line| line.split(|char: char| !char.is_ascii_alphanumeric()))
        .collect();
    let missing: Vec<String> = rules().into_iter().filter(|rule| !cited.contains(rule.as_str())).collect();
    none("a rule that no test cites, in a comment or in its name", &missing);
}
