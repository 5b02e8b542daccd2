//! `docs/configuration.md` against `--help` of every program.

use e2e::{Process, Program};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// A group, a variable and its default, where it is a fixed value.
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
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
    let document = std::fs::read_to_string(document).expect("the document");
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
                assert!(
                    real.iter().any(|setting| setting.1 == name),
                    "{name} is no setting"
                );
            }
        }
    }
}

/// In their order.
fn groups(settings: &[Setting]) -> Vec<&str> {
    let mut groups: Vec<_> = settings.iter().map(|setting| setting.0.as_str()).collect();
    groups.dedup();
    groups
}

/// What the tables say about this program. Where they have no column of programs, the paragraph before
/// names them. A default that is more than one code span is a description, which `--help` need not repeat.
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

/// Groups, names and defaults as clap prints them, each on a line of its own.
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| std::fs::read_to_string(root.join(file)).expect(file);
    let document = read("../docs/scaling-and-availability.md");
    for file in ["long/patroni/patroni.yml", "long/patroni/haproxy.cfg"] {
        assert!(
            document.contains(read(file).trim_end()),
            "docs/scaling-and-availability.md differs from {file}"
        );
    }
}

#[test]
fn each_proxy_has_a_page_that_links_its_configuration() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
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
