//! `docs/configuration.md` against `--help` of every program.

use e2e::{Process, Program};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// A variable and its default, where it is a fixed value.
type Setting = (String, Option<String>);

const PROGRAMS: [Program; 4] =
    [Program::AuthService, Program::PostsService, Program::Gateway, Program::Rolegate];

#[tokio::test]
async fn configuration_table_lists_exactly_the_settings_in_help() {
    let folder = tempfile::tempdir().expect("a folder");
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
    let document = std::fs::read_to_string(document).expect("the document");
    for program in PROGRAMS {
        let exit = Process::run(program, &["--help"], &BTreeMap::new(), folder.path(), "").await;
        let (documented, real) = (documented(&document, program.name()), settings(&exit.stdout));
        assert!(!real.is_empty(), "{exit:?}");
        let missing: Vec<_> = real.difference(&documented).collect();
        let stale: Vec<_> = documented.difference(&real).collect();
        assert!(
            missing.is_empty() && stale.is_empty(),
            "docs/configuration.md, {}: missing {missing:?}, not in --help {stale:?}",
            program.name()
        );
    }
}

/// What the first table says about this program. A default that is more than one code span is a
/// description, which `--help` need not repeat.
fn documented(document: &str, program: &str) -> BTreeSet<Setting> {
    let rows = document.lines().skip_while(|line| !line.starts_with("| Name | Programs | Default"));
    let mut settings = BTreeSet::new();
    for row in rows.skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        if cells[2].split(", ").any(|name| name == program) {
            let default = cells[3].strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
            let default = default.filter(|text| !text.contains('`')).map(str::to_owned);
            for name in cells[1].split(", ") {
                let is_new = settings.insert((name.trim_matches('`').to_owned(), default.clone()));
                assert!(is_new, "{name} has two rows for {program}");
            }
        }
    }
    settings
}

/// Names and defaults as clap prints them, each on a line of its own.
fn settings(help: &str) -> BTreeSet<Setting> {
    let mut settings: Vec<Setting> = Vec::new();
    for line in help.lines().map(str::trim) {
        let value = |name: &str| line.strip_prefix(name).and_then(|rest| rest.strip_suffix(']'));
        if let Some(name) = value("[env: ") {
            settings.push((name.trim_end_matches('=').to_owned(), None));
        } else if let (Some(default), Some(last)) = (value("[default: "), settings.last_mut()) {
            last.1 = Some(default.to_owned());
        }
    }
    settings.into_iter().collect()
}

#[test]
fn operations_shows_the_configuration_that_the_failover_tests_use() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| std::fs::read_to_string(root.join(file)).expect(file);
    let document = read("../docs/operations.md");
    for file in ["long/patroni/patroni.yml", "long/patroni/haproxy.cfg"] {
        assert!(document.contains(read(file).trim_end()), "docs/operations.md differs from {file}");
    }
}

#[test]
fn each_proxy_has_a_page_that_links_its_configuration() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let entries = |path: &Path| -> Vec<_> {
        let entries = std::fs::read_dir(path).expect("a folder");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    };
    let proxies = entries(&root.join("deploy/proxies"));
    assert_eq!(proxies.len(), 5, "{proxies:?}");
    for proxy in proxies {
        let name = proxy.file_name().and_then(|name| name.to_str()).expect("a name");
        let page = root.join(format!("docs/proxies/{name}.md"));
        let page = std::fs::read_to_string(page).expect("a page for each proxy");
        let is_linked = |file: &Path| {
            let file = file.file_name().and_then(|name| name.to_str()).expect("a name");
            page.contains(&format!("(../../deploy/proxies/{name}/{file})"))
        };
        assert!(entries(&proxy).iter().any(|file| is_linked(file)), "{name}.md links none");
    }
}
