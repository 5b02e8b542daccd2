//! `CONTRIBUTING.md` against the sources: each path in its text exists.

use crate::repository::{path, read};
use std::{ffi::OsStr, path::Path};

/// The extensions by which a name without a folder is recognized as the name of a file.
const EXTENSIONS: [&str; 9] = [
    "html", "js", "json", "md", "proto", "py", "rs", "sql", "txt",
];

#[test]
fn each_path_exists() {
    let document = read("CONTRIBUTING.md");
    let paths = paths(&document);
    assert!(paths.len() > 50, "{} paths", paths.len());
    let missing = missing(&paths);
    assert!(missing.is_empty(), "not in the repository: {missing:#?}");
}

#[test]
fn a_path_that_is_false_or_shortened_is_found_missing() {
    let text = "`tests/operations/main.rs` and `tests/operations/` exist, \
                `tests/operations/no_such_file.rs`, `operations/main.rs` and `main.rs` do not.\n\
                ```sh\ncargo test no/such/command.rs\n```\n\
                Run `tests/run one NAME` or `tests/no_such_program NAME`, and send `GET /users/{id}`.";
    let paths = paths(text);
    let expected = [
        "tests/operations/no_such_file.rs",
        "operations/main.rs",
        "main.rs",
        "tests/no_such_program",
    ];
    assert_eq!(missing(&paths), expected);
    assert_eq!(paths.len(), expected.len() + 3);
}

fn missing<'a>(paths: &[&'a str]) -> Vec<&'a str> {
    let is_missing = |name: &&str| !path(name).exists();
    paths.iter().copied().filter(is_missing).collect()
}

/// Returns the words of all code spans that look like paths. Blocks of code are left out.
fn paths(document: &str) -> Vec<&str> {
    let text = document.split("```").step_by(2);
    let spans = text.flat_map(|text| text.split('`').skip(1).step_by(2));
    let words = spans.flat_map(str::split_whitespace);
    words.filter(|word| is_path(word)).collect()
}

/// Returns whether a word is a path, because it is in a folder or has the extension of a file.
///
/// Names of gRPC calls such as `rolegate.auth.v1.AuthService/Authorize` are no paths. No folder of the root has a dot
/// inside of its name.
fn is_path(word: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/".contains(letter);
    let is_in_folder = word
        .split_once('/')
        .is_some_and(|(folder, _)| !folder.is_empty() && !folder.contains('.'));
    let extension = Path::new(word).extension().and_then(OsStr::to_str);
    let is_file = extension.is_some_and(|it| EXTENSIONS.contains(&it));
    word.chars().all(is_plain) && !word.starts_with('/') && (is_in_folder || is_file)
}
