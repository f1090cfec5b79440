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
    for folder in entries(Path::new("ui")).into_iter().filter(|path| path.is_dir()).flat_map(|path| entries(&path)) {
        for path in
            entries(&folder).into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        {
            if folder.ends_with("pass") {
                cases.pass(path);
            } else {
                cases.compile_fail(path);
            }
        }
    }
}

/// What is in `folder`, in order.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}
