//! What the unit tests share: golden expansions, tables of errors, and input that nobody meant.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// What a macro does to one item: `(arguments, item) -> (output, errors)`.
pub(crate) type Macro = fn(TokenStream, TokenStream) -> (TokenStream, Vec<syn::Error>);

/// Compares the expansion of each `golden/<macro>/<case>.in.rs` with the `.out.rs` beside it.
///
/// `GOLDEN=overwrite` writes the expansions instead; they are then to be read.
pub(crate) fn assert_golden(name: &str, expand: Macro) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
    let mut inputs = inputs(&directory);
    inputs.sort();
    assert!(!inputs.is_empty(), "no golden inputs in {}", directory.display());
    for (case, input) in inputs {
        let output = format(&expand_file(&input, expand));
        let path = directory.join(format!("{case}.out.rs"));
        if std::env::var_os("GOLDEN").is_some_and(|mode| mode == "overwrite") {
            fs::write(&path, &output).expect("the golden file is written");
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert!(output == expected, "{} differs; GOLDEN=overwrite writes this:\n{output}", path.display());
    }
}

/// The `(case, text)` of each `.in.rs` in `directory`.
fn inputs(directory: &Path) -> Vec<(String, String)> {
    let files = fs::read_dir(directory).expect("the directory of golden files");
    let paths = files.map(|file| file.expect("a golden file").path());
    let inputs = paths.filter_map(|path| {
        let case = path.file_name()?.to_str()?.strip_suffix(".in.rs")?.to_owned();
        Some((case, fs::read_to_string(path).expect("a golden input")))
    });
    inputs.collect()
}

/// The text of every golden input of a macro.
pub(crate) fn golden_inputs(name: &str) -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
    inputs(&directory).into_iter().map(|(_, input)| input).collect()
}

/// Expands the one item of `input`, with the arguments of its first attribute.
fn expand_file(input: &str, expand: Macro) -> TokenStream {
    let (args, item) = split(input.parse().expect("tokens"));
    let (mut output, errors) = expand(args, item);
    output.extend(errors.into_iter().map(syn::Error::into_compile_error));
    output
}

fn format(tokens: &TokenStream) -> String {
    let file = syn::parse2(tokens.clone());
    prettyplease::unparse(&file.unwrap_or_else(|error| panic!("the output does not parse: {error}\n{tokens}")))
}

/// The arguments of the first attribute, and the item without it.
pub(crate) fn split(input: TokenStream) -> (TokenStream, TokenStream) {
    let mut trees = input.into_iter();
    let attribute = trees.nth(1);
    let Some(TokenTree::Group(attribute)) = attribute else { panic!("the item starts with its attribute") };
    let args = attribute.stream().into_iter().find_map(|tree| match tree {
        TokenTree::Group(group) => Some(group.stream()),
        _ => None,
    });
    (args.unwrap_or_default(), trees.collect())
}

/// The `(words, message)` of each error that the expansion of `input` has.
pub(crate) fn errors_of(input: &str, expand: Macro) -> Vec<(String, String)> {
    let (args, item) = split(input.parse().expect("tokens"));
    let (output, errors) = expand(args, item.clone());
    assert_keeps(&item, &output);
    let error = |error: syn::Error| (error.span().source_text().unwrap_or_default(), error.to_string());
    errors.into_iter().flatten().map(error).collect()
}

/// Panics unless `input` has exactly one error, on `words`, that says `message`.
#[track_caller]
pub(crate) fn assert_error(input: &str, words: &str, message: &str, expand: Macro) {
    let errors = errors_of(input, expand);
    let first = errors.first().unwrap_or_else(|| panic!("no error in `{input}`"));
    assert_eq!((&*first.0, &*first.1), (words, message), "in `{input}`");
    let more: Vec<_> = errors[1..].iter().filter(|error| error.1 != "the first one is here").collect();
    assert!(more.is_empty(), "more than one error in `{input}`: {more:?}");
}

/// Panics unless every token of `item`, but for its markers, comes out in the same order.
#[track_caller]
pub(crate) fn assert_keeps(item: &TokenStream, output: &TokenStream) {
    let mut kept = leaves(output).into_iter();
    for leaf in leaves(&crate::marker::strip(item.clone())) {
        // A signature that is printed anew loses what is empty.
        let may_be_lost = ["where", "<", ">", ","].contains(&&*leaf);
        assert!(may_be_lost || kept.any(|kept| kept == leaf), "`{leaf}` of `{item}` is not in `{output}`");
    }
}

/// The tokens inside and out, one string each.
pub(crate) fn leaves(tokens: &TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    for tree in tokens.clone() {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                found.push(open.to_owned());
                found.extend(leaves(&group.stream()));
                found.push(close.to_owned());
            }
            tree => found.push(tree.to_string()),
        }
    }
    found.retain(|leaf| !leaf.is_empty());
    found
}

/// Runs `expand` on thousands of damaged copies of `inputs`: it must not panic, and must keep what it got.
pub(crate) fn assert_survives(inputs: &[String], keeps_item: bool, expand: Macro) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut count = 0;
    let mut try_one = |args: TokenStream, item: TokenStream| {
        let text = format!("#[({args})] {item}");
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let (output, errors) = expand(args, item.clone());
            if keeps_item {
                assert_keeps(&item, &output);
            }
            for error in errors {
                drop(error.into_compile_error());
            }
        }));
        assert!(outcome.is_ok(), "damaged input: {text}");
        count += 1;
    };
    for input in inputs {
        let (args, item) = split(input.parse().expect("tokens"));
        for length in 0..leaves(&item).len() {
            try_one(args.clone(), truncate(item.clone(), &mut length.clone()));
        }
        for _ in 0..600 {
            try_one(damage(args.clone(), &mut random), item.clone());
            try_one(args.clone(), damage(item.clone(), &mut random));
        }
        let source = item.to_string();
        for (at, char) in source.char_indices() {
            let (before, after) = (&source[..at], &source[at..]);
            let punct = random.of(&["'", "<", ">", "&", "#", "!", "=", ";", ":", "-"]);
            let damaged = match random.below(3) {
                0 => before.to_owned(),
                1 => format!("{before}{}", &after[char.len_utf8()..]),
                _ => format!("{before}{punct}{after}"),
            };
            if let Ok(tokens) = damaged.parse::<TokenStream>() {
                try_one(args.clone(), tokens);
            }
        }
    }
    assert!(count > 1_000, "only {count} inputs");
}

/// The first `left` tokens, with every open delimiter closed.
fn truncate(tokens: TokenStream, left: &mut usize) -> TokenStream {
    let mut kept = TokenStream::new();
    for tree in tokens {
        if *left == 0 {
            break;
        }
        *left -= 1;
        kept.extend([match tree {
            TokenTree::Group(group) => TokenTree::Group(Group::new(group.delimiter(), truncate(group.stream(), left))),
            tree => tree,
        }]);
    }
    kept
}

/// `tokens` with something lost, doubled, swapped, replaced or wrapped, at any depth.
fn damage(tokens: TokenStream, random: &mut Random) -> TokenStream {
    let mut trees: Vec<TokenTree> = tokens.into_iter().collect();
    let index = random.below(trees.len() + 1);
    let Some(tree) = trees.get(index).cloned() else {
        trees.extend(random.token());
        return trees.into_iter().collect();
    };
    if let TokenTree::Group(group) = &tree
        && random.below(5) > 0
    {
        trees[index] = TokenTree::Group(Group::new(group.delimiter(), damage(group.stream(), random)));
        return trees.into_iter().collect();
    }
    match random.below(6) {
        0 => drop(trees.remove(index)),
        1 => trees.insert(index, tree),
        2 => {
            let other = random.below(trees.len());
            trees.swap(index, other);
        }
        3 => drop(trees.splice(index..=index, random.token())),
        4 => drop(trees.splice(index..index, random.token())),
        _ => {
            let delimiters = [Delimiter::None, Delimiter::Parenthesis, Delimiter::Bracket, Delimiter::Brace];
            let delimiter = delimiters[random.below(delimiters.len())];
            trees[index] = TokenTree::Group(Group::new(delimiter, tree.into()));
        }
    }
    trees.into_iter().collect()
}

/// The same numbers in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end.max(1) as u64).expect("it is below a usize")
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    fn token(&mut self) -> TokenStream {
        const TOKENS: &[&str] = &[
            "fn",
            "impl",
            "for",
            "dyn",
            "async",
            "const",
            "unsafe",
            "extern",
            "self",
            "Self",
            "mut",
            "where",
            "crate",
            "pub",
            "type",
            "_",
            "x",
            "r#type",
            "Decision",
            "DecideScope",
            "#[on_command]",
            "#[on_event(x)]",
            "#[cfg_attr(a, on_event)]",
            "#[cfg(a)]",
            "#",
            "!",
            "&",
            "&mut",
            "<",
            ">",
            "->",
            "=>",
            "::",
            ":",
            ",",
            ";",
            "=",
            "'a",
            "'static",
            "...",
            "1",
            "1.5",
            "\"\"",
            "\" \"",
            "b\"x\"",
            "()",
            "{}",
            "[]",
            "<T>",
            "<'a>",
            "<const N: usize>",
            "dyn A + 'a",
            "impl A",
            "&dyn A",
            "(A, B)",
            "[u8; 4]",
            "Result<>",
            "Option<'a>",
            "Vec",
            "<A as B>::C",
            "macro_call!()",
            "default",
            "union",
        ];
        self.of(TOKENS).parse().expect("tokens")
    }
}
