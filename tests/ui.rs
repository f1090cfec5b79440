//! What the macros refuse, and how they say it; what they have to accept, whatever stands around it.
//!
//! A case is `ui/<macro>/<kind of mistake>/<rule>.rs` with one mistake in it, or `ui/<macro>/pass/<what>.rs`, which is
//! compiled and run. The `.stderr` beside a mistake is what a user reads: one error for one mistake, on a word of the
//! user's, that says what to write instead. `TRYBUILD=overwrite` writes them anew; read them before keeping them.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    for path in rust_files(Path::new("ui")) {
        if path.parent().is_some_and(|folder| folder.ends_with("pass")) {
            cases.pass(path);
        } else {
            cases.compile_fail(path);
        }
    }
}

/// The `.rs` files in `folder` and below, in order.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    let mut files = Vec::new();
    for entry in entries {
        if entry.is_dir() {
            files.extend(rust_files(&entry));
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            files.push(entry);
        }
    }
    files
}
