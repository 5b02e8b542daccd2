//! Compares `docs/configuration.md` with `--help` of every program, and its lists of variables with the sources.

use crate::repository::{path, read};
use e2e::{Process, Program};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// The group of a setting, its variable, and its default if that is a fixed value.
type Setting = (String, String, Option<String>);

const PROGRAMS: [Program; 4] = [
    Program::AuthService,
    Program::PostsService,
    Program::Gateway,
    Program::Rolegate,
];

#[tokio::test]
async fn configuration_lists_exactly_the_settings_in_help_in_the_same_groups() {
    let folder = tempfile::tempdir().expect("a folder");
    let document = read("docs/configuration.md");
    for program in PROGRAMS {
        let exit = Process::run(program, &["--help"], &BTreeMap::new(), folder.path(), "").await;
        let (documented, real) = (
            documented(&document, program.name()),
            settings(&exit.stdout),
        );
        assert!(!real.is_empty(), "{exit:?}");
        assert_eq!(
            groups(&documented),
            groups(&real),
            "the order of {}",
            program.name()
        );
        let [documented, real] = [documented, real].map(BTreeSet::from_iter);
        let missing: Vec<_> = real.difference(&documented).collect();
        let stale: Vec<_> = documented.difference(&real).collect();
        assert!(
            missing.is_empty() && stale.is_empty(),
            "docs/configuration.md, {}: missing {missing:?}, not in --help {stale:?}",
            program.name()
        );
        if program == Program::Rolegate {
            let (_, first) = document.split_once("```sh\n").expect("what to set first");
            let (first, _) = first.split_once("```").expect("its end");
            let first: Vec<_> = first
                .lines()
                .filter_map(|line| line.split_once('='))
                .collect();
            assert_eq!(first.len(), 5, "{first:?}");
            for (name, _) in first {
                let name = name.strip_prefix("ROLEGATE_").expect("the prefix");
                assert!(
                    real.iter().any(|setting| setting.1 == name),
                    "{name} is no setting"
                );
            }
        }
    }
}

#[tokio::test]
async fn the_names_with_the_prefix_are_the_settings_of_all_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = read("crates/program/src/command_line/settings.txt");
    let mut real = BTreeSet::from(["NEW_PASSWORD_FILE", "TOKIO_WORKER_THREADS"].map(str::to_owned));
    for program in PROGRAMS {
        let exit = Process::run(program, &["--help"], &BTreeMap::new(), folder.path(), "").await;
        real.extend(settings(&exit.stdout).into_iter().map(|(_, name, _)| name));
    }
    let names: Vec<_> = names.lines().map(str::to_owned).collect();
    assert_eq!(names, Vec::from_iter(real), "in alphabetical order");
}

/// Returns the names in the first column of the table with this heading. A name with `…` stands for several variables.
fn names_under<'a>(document: &'a str, heading: &str) -> BTreeSet<&'a str> {
    let heading = format!("| {heading} |");
    let mut lines = document.lines();
    assert!(
        lines.any(|line| line.starts_with(&heading)),
        "no table {heading}"
    );
    let rows = lines.take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names.filter(|name| is_variable(name)).collect()
}

fn is_variable(name: &str) -> bool {
    let is_upper = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    name.starts_with(|first: char| first.is_ascii_uppercase()) && name.bytes().all(is_upper)
}

/// Returns the variables that stand as string literals in those product files that read the environment themselves.
fn names_in_sources() -> BTreeSet<String> {
    let root = path("");
    let mut folders: Vec<_> = ["auth-service", "gateway", "posts-service", "rolegate"]
        .map(|program| root.join(program).join("src"))
        .into();
    for entry in std::fs::read_dir(root.join("crates")).expect("the crates") {
        folders.push(entry.expect("an entry").path().join("src"));
    }
    let mut names = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let is_source = path.extension().is_some_and(|it| it == "rs");
            // `testing.rs` belongs to a client that only tests use.
            if !is_source || path.ends_with("auth-client/src/testing.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source");
            if !text.contains("env::var") {
                continue;
            }
            let product = text.split("#[cfg(test)]").next().unwrap_or_default();
            let literals = product.split('"').skip(1).step_by(2);
            // The compiler reads Cargo's variables, not the program.
            let is_read = |it: &&str| is_variable(it) && !it.starts_with("CARGO_");
            let variables = literals.filter(is_read);
            names.extend(variables.map(str::to_owned));
        }
    }
    names
}

#[test]
fn usual_variables_are_listed_as_read_if_and_only_if_a_source_reads_them() {
    let document = read("docs/configuration.md");
    let (read, not_read) = (
        names_under(&document, "Read"),
        names_under(&document, "Not read"),
    );
    let sources = names_in_sources();
    let sources: BTreeSet<_> = sources.iter().map(String::as_str).collect();
    let is_documented = |name: &&&str| document.contains(&format!("`{name}`"));
    let undocumented: Vec<_> = sources.iter().filter(|name| !is_documented(name)).collect();
    assert!(undocumented.is_empty(), "not listed: {undocumented:?}");
    let wrong: Vec<_> = not_read.intersection(&sources).collect();
    assert!(wrong.is_empty(), "listed as not read: {wrong:?}");
    assert!(read.is_disjoint(&not_read));
    // Libraries such as sqlx, tokio and OpenTelemetry read the other variables themselves.
    let by_libraries = |name: &&&str| {
        let prefixes = ["PG", "OTEL_EXPORTER_OTLP_", "OTEL_RESOURCE_"];
        prefixes.iter().any(|prefix| name.starts_with(prefix))
    };
    let stale: Vec<_> = read
        .difference(&sources)
        .filter(|name| !by_libraries(name))
        .collect();
    assert!(stale.is_empty(), "no source reads {stale:?}");
}

/// Returns the groups in the order in which they first appear.
fn groups(settings: &[Setting]) -> Vec<&str> {
    let mut groups: Vec<_> = settings.iter().map(|setting| setting.0.as_str()).collect();
    groups.dedup();
    groups
}

/// Returns what the tables say about this program. If a table has no column of programs, the paragraph before it names
/// them. A default that is more than one code span is a description, which `--help` need not repeat.
fn documented(document: &str, program: &str) -> Vec<Setting> {
    let mut settings: Vec<Setting> = Vec::new();
    let (mut group, mut programs) = ("", "");
    let end = "## Variables without a flag";
    for line in document.lines().take_while(|line| *line != end) {
        if let Some(heading) = line.strip_prefix("## ") {
            group = heading;
        } else if line.starts_with("Settings of ") {
            programs = line;
        } else if line.starts_with("| Name | Programs |") {
            programs = "";
        }
        let mut cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let Some(names) = cells.get(1).filter(|names| names.starts_with('`')) else {
            continue;
        };
        let names = names
            .split(", ")
            .map(|name| name.trim_matches('`').to_owned());
        let is_of = |programs: &str| programs.split([' ', ',', '.']).any(|name| name == program);
        let column = if programs.is_empty() {
            cells.remove(2)
        } else {
            programs
        };
        if is_of(column) || column == "Settings of every program." {
            let default = cells[2]
                .strip_prefix('`')
                .and_then(|rest| rest.strip_suffix('`'));
            let default = default
                .filter(|text| !text.contains('`'))
                .map(str::to_owned);
            for name in names {
                let is_new = settings.iter().all(|setting| setting.1 != name);
                assert!(is_new, "{name} has two rows for {program}");
                settings.push((group.to_owned(), name, default.clone()));
            }
        }
    }
    settings
}

/// Returns the groups, names and defaults that clap prints, each on a line of its own.
fn settings(help: &str) -> Vec<Setting> {
    let (mut settings, mut group) = (Vec::<Setting>::new(), "");
    for line in help.lines() {
        if let Some(heading) = line.strip_suffix(':').filter(|line| !line.starts_with(' ')) {
            group = heading;
        }
        let line = line.trim();
        let value = |name: &str| {
            line.strip_prefix(name)
                .and_then(|rest| rest.strip_suffix(']'))
        };
        if let Some(name) = value("[env: ") {
            settings.push((
                group.to_owned(),
                name.trim_end_matches('=').to_owned(),
                None,
            ));
        } else if let (Some(default), Some(last)) = (value("[default: "), settings.last_mut()) {
            last.2 = Some(default.to_owned());
        }
    }
    settings
}

#[test]
fn the_guide_shows_the_configuration_that_the_failover_tests_use() {
    let document = read("docs/scaling-and-availability.md");
    for file in [
        "tests/long/patroni/patroni.yml",
        "tests/long/patroni/haproxy.cfg",
    ] {
        assert!(
            document.contains(read(file).trim_end()),
            "docs/scaling-and-availability.md differs from {file}"
        );
    }
}

#[test]
fn each_proxy_has_a_page_that_links_its_configuration() {
    let root = path("");
    let entries = |path: &Path| -> Vec<_> {
        let entries = std::fs::read_dir(path).expect("a folder");
        entries
            .map(|entry| entry.expect("an entry").path())
            .collect()
    };
    let proxies = entries(&root.join("deploy/proxies"));
    assert_eq!(proxies.len(), 5, "{proxies:?}");
    for proxy in proxies {
        let name = proxy
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a name");
        let page = root.join(format!("docs/proxies/{name}.md"));
        let page = std::fs::read_to_string(page).expect("a page for each proxy");
        let is_linked = |file: &Path| {
            let file = file
                .file_name()
                .and_then(|name| name.to_str())
                .expect("a name");
            page.contains(&format!("(../../deploy/proxies/{name}/{file})"))
        };
        assert!(
            entries(&proxy).iter().any(|file| is_linked(file)),
            "{name}.md links none"
        );
    }
}
