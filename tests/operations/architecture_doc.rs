//! `docs/architecture.md` against the sources: the functions of its walk and the files of its lists exist.

use crate::repository::{path, read};
use std::fs;

/// A line of the walk: a function, and the file in which it stands.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    function: String,
    file: String,
}

#[test]
fn each_function_of_the_walk_stands_where_the_walk_says() {
    let document = read("docs/architecture.md");
    let steps = steps(&document);
    let requests = document.matches("| # | Function |").count();
    assert_eq!(
        requests, 5,
        "the steps of every request, and of four requests"
    );
    assert!(steps.len() > 20 * 4, "{} steps", steps.len());
    let missing: Vec<_> = steps.iter().filter(|step| !exists(step)).collect();
    assert!(missing.is_empty(), "the walk is out of date: {missing:#?}");
}

#[test]
fn each_listed_file_exists() {
    let document = read("docs/architecture.md");
    let files = listed_files(&document);
    assert!(files.len() > 50 * 4, "{} files", files.len());
    let missing: Vec<_> = files.iter().filter(|file| !path(file).is_file()).collect();
    assert!(
        missing.is_empty(),
        "tests/long/request-files writes the lists anew: {missing:#?}"
    );
}

#[test]
fn a_step_that_moved_or_was_renamed_is_found_missing() {
    let line = "| 7 | `require_admin` | `auth-service/src/store/locked_rows.rs` | Goes on |";
    let [step] = &steps(line)[..] else {
        panic!("one step");
    };
    assert!(exists(step));
    for (function, file) in [
        ("require_admins", "auth-service/src/store/locked_rows.rs"),
        ("require", "auth-service/src/store/locked_rows.rs"),
        ("require_admin", "auth-service/src/store.rs"),
        ("require_admin", "auth-service/src/store/no_such_file.rs"),
    ] {
        let step = Step {
            function: function.to_owned(),
            file: file.to_owned(),
        };
        assert!(!exists(&step), "{step:?}");
    }
    assert_eq!(steps("| 7 | The function `a` | `b.rs` | Goes on |"), []);
}

#[test]
fn a_list_continues_on_further_lines() {
    let list = "<!-- files of GET / -->\n\n3 files:\n\n```text\n  gateway      a, b/c,\n               d\n```\n";
    let expected = ["gateway/src/a.rs", "gateway/src/b/c.rs", "gateway/src/d.rs"];
    assert_eq!(listed_files(list), expected);
}

/// Reads the lines of all tables of the walk: a number, a function, a file and what the function decides.
fn steps(document: &str) -> Vec<Step> {
    document.lines().filter_map(step).collect()
}

fn step(line: &str) -> Option<Step> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let ["", number, function, file, _, ""] = cells[..] else {
        return None;
    };
    number.parse::<u32>().ok()?;
    Some(Step {
        function: code(function)?,
        file: code(file)?,
    })
}

/// The content of a cell that is code and nothing else.
fn code(cell: &str) -> Option<String> {
    let content = cell.strip_prefix('`')?.strip_suffix('`')?;
    (!content.contains('`')).then(|| content.to_owned())
}

fn exists(step: &Step) -> bool {
    let Ok(source) = fs::read_to_string(path(&step.file)) else {
        return false;
    };
    let definition = format!("fn {}", step.function);
    source
        .match_indices(&definition)
        .any(|(at, _)| source[at + definition.len()..].starts_with(['(', '<']))
}

/// Reads the lists of files: behind a comment, a package in each line and its files, or more files of the package above.
fn listed_files(document: &str) -> Vec<String> {
    let mut files = Vec::new();
    for section in document.split("<!-- files of ").skip(1) {
        let (_, list) = section.split_once("```text\n").expect("a list");
        let (list, _) = list.split_once("```").expect("its end");
        let mut package = "";
        for line in list.lines() {
            let mut names = line;
            if !line.starts_with("   ") {
                (package, names) = line.trim().split_once(' ').expect("a package");
            }
            let names = names.split(',').map(str::trim);
            files.extend(
                names
                    .filter(|name| !name.is_empty())
                    .map(|name| format!("{package}/src/{name}.rs")),
            );
        }
    }
    files
}
