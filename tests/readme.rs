//! The README shows only what is compiled and run somewhere: its first sample is a doctest of `freehold`, the others
//! are quoted from the example, word by word.

use std::path::Path;

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The code blocks of `text` whose fence says `language`.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let fence = format!("```{language}\n");
    text.split(&*fence).skip(1).filter_map(|rest| rest.split("```\n").next()).collect()
}

#[test]
fn samples_that_are_not_doctests_are_quoted_from_the_example() {
    let (readme, specs) = (read("README.md"), read("examples/eshop-catalog/src/brand_spec.rs"));
    let quoted = blocks(&readme, "rust,ignore");
    assert!(!quoted.is_empty(), "the README quotes a spec");
    for block in quoted {
        assert!(specs.contains(block), "not in brand_spec.rs:\n{block}");
    }
    assert_eq!(blocks(&readme, "rust,no_run").len(), 1, "one doctest");
    assert!(blocks(&readme, "rust").is_empty(), "and no block beside them");
}

#[test]
fn files_that_the_readme_names_are_there() {
    for file in [
        "tests/run",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "examples/eshop-catalog/src/names.rs",
    ] {
        assert!(!read(file).is_empty(), "{file}");
    }
}
