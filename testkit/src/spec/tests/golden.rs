//! Failure texts as files: provoked by a test, compared with `spec/golden/<name>.txt`, written with `GOLDEN=overwrite`.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Once;

/// Where a panic was, as the panic hook saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) line: u32,
}

thread_local! {
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<Option<Place>> = const { RefCell::new(None) };
}

fn watch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !IS_WATCHED.get() {
                return usual(info);
            }
            let place = info.location().map(|at| Place { file: at.file().to_owned(), line: at.line() });
            LAST.set(place);
        }));
    });
}

/// The text with which `spec` fails, and where the panic was.
pub(super) fn failure(spec: impl FnOnce()) -> (String, Place) {
    watch_panics();
    IS_WATCHED.set(true);
    let caught = catch_unwind(AssertUnwindSafe(spec));
    IS_WATCHED.set(false);
    let payload = caught.expect_err("the spec passes, and was to fail");
    let text = match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&'static str>().expect("a failure is a text")).to_owned(),
    };
    (text, LAST.take().expect("the hook saw the panic"))
}

/// Compares the failure of `spec` with its golden file.
pub(super) fn check(name: &str, spec: impl FnOnce()) {
    let (text, _) = failure(spec);
    let text = without_lines(&text);
    assert!(text.is_ascii(), "not ASCII:\n{text}");
    let path = folder().join(format!("{name}.txt"));
    if std::env::var_os("GOLDEN").is_some_and(|value| value == "overwrite") {
        std::fs::write(&path, &text).expect("the golden file is written");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(golden == text, "{} differs; GOLDEN=overwrite rewrites it. Now:\n{text}", path.display());
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src/spec/golden"))
}

#[test]
fn every_golden_file_has_its_test() {
    let files = std::fs::read_dir(folder()).expect("the folder is there");
    for file in files {
        let name = file.expect("the file is there").file_name().into_string().expect("a name");
        let name = name.trim_end_matches(".txt");
        let is_tested = super::failures::NAMES.contains(&name) || super::laws::NAMES.contains(&name);
        assert!(is_tested, "golden/{name}.txt belongs to no test");
    }
}

/// Numbers of lines and columns change with every edit of the tests.
fn without_lines(text: &str) -> String {
    let mut clean = String::new();
    for line in text.lines() {
        match line.find(".rs:") {
            Some(at) => {
                clean.push_str(&line[..at]);
                clean.push_str(".rs:LINE:COLUMN");
            }
            None => clean.push_str(line),
        }
        clean.push('\n');
    }
    clean
}
