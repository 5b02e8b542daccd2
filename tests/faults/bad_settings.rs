//! Checks that an invalid setting ends a program with exit code 64 and one line that names the variable. The files of
//! `bad_settings/` have the cases, by kind of setting.

mod databases;
mod empty;
mod files;
mod prefixed;
mod record;
mod second_factor;
mod suggestions;
mod tls;
mod values;
mod without_effect;

use e2e::{ADMIN_PASSWORD, Process, Program, SIGNING_SECRET, Store, TestDatabase, TestSetup};
use std::{collections::BTreeMap, path::Path};

use Program::{AuthService, Gateway, PostsService, Rolegate};

type Settings = BTreeMap<String, String>;

/// Hides log lines below WARN, for errors that are found after the start was logged at INFO.
const QUIET: (&str, &str) = ("RUST_LOG", "warn");

/// Starts a program, asserts that it ends with exit code 64 and one line about the variable, and returns the line.
async fn expect_rejected(
    program: Program,
    settings: &Settings,
    folder: &Path,
    variable: &str,
) -> String {
    expect_end(program, settings, folder, variable, 64).await
}

/// Asserts that a start ends with this code and one line that begins with the variable, and returns the line.
async fn expect_end(
    program: Program,
    settings: &Settings,
    folder: &Path,
    variable: &str,
    code: i32,
) -> String {
    let exit = Process::start(program, settings, folder)
        .ready_or_ended()
        .await;
    let exit = exit.unwrap_or_else(|| panic!("{program:?} started with {settings:?}"));
    let what = format!("{} with {settings:?} said\n{}", program.name(), exit.stderr);
    assert_eq!(exit.code, Some(code), "{what}");
    assert_eq!(exit.stdout, "", "nothing listens: {what}");
    // Lines of the audit log do not count. A store that was opened before the error writes them at every log level.
    let lines = exit.stderr.lines();
    let lines: Vec<_> = lines.filter(|line| !line.contains(" audit: ")).collect();
    assert_eq!(lines.len(), 1, "one line: {what}");
    assert!(
        lines[0].starts_with(&format!("{variable}: ")),
        "not {variable}: {what}"
    );
    for secret in [SIGNING_SECRET, ADMIN_PASSWORD, "hunter2"] {
        assert!(!exit.stderr.contains(secret), "a secret is shown: {what}");
    }
    exit.stderr
}

fn good(program: Program, database: &TestDatabase) -> Settings {
    match program {
        AuthService => TestSetup::split(Store::Sqlite).auth_settings(&database.url()),
        Rolegate => TestSetup::all_in_one(Store::Sqlite).auth_settings(&database.url()),
        PostsService => {
            let nowhere = "127.0.0.1:1".parse().expect("an address");
            TestSetup::split(Store::Sqlite).posts_settings(&database.posts_url(), nowhere)
        }
        _ => [
            "BEARER_LISTEN_ADDR",
            "BASIC_LISTEN_ADDR",
            "FORWARD_AUTH_LISTEN_ADDR",
            "OPS_LISTEN_ADDR",
        ]
        .map(|name| (name.to_owned(), "127.0.0.1:0".to_owned()))
        .into(),
    }
}

/// Asserts for each row of the table that the programs refuse the value, while all other settings are valid.
async fn expect_each_refused(table: &[(&[Program], &str, &str)]) {
    expect_each_refused_with(table, None).await;
}

async fn expect_each_refused_with(
    table: &[(&[Program], &str, &str)],
    further: Option<(&str, &str)>,
) {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    for (programs, variable, value) in table {
        for &program in *programs {
            let mut settings = good(program, &database);
            for (name, value) in further.iter().chain([&(*variable, *value)]) {
                settings.insert((*name).to_owned(), (*value).to_owned());
            }
            expect_rejected(program, &settings, folder.path(), variable).await;
        }
    }
}

/// Returns the settings that `--help` of a program lists.
async fn settings_of(program: Program, folder: &Path) -> Vec<String> {
    let help = Process::run(program, &["--help"], &Settings::new(), folder, "").await;
    let settings: Vec<_> = help
        .stdout
        .split("[env: ")
        .skip(1)
        .filter_map(|rest| rest.split(['=', ']']).next())
        .map(ToOwned::to_owned)
        .collect();
    assert!(settings.len() > 5, "{help:?}");
    settings
}

/// Fails for a setting that has no case in one of these files.
#[tokio::test]
async fn every_setting_has_a_case() {
    let cases = [
        include_str!("bad_settings/databases.rs"),
        include_str!("bad_settings/files.rs"),
        include_str!("bad_settings/record.rs"),
        include_str!("bad_settings/second_factor.rs"),
        include_str!("bad_settings/tls.rs"),
        include_str!("bad_settings/values.rs"),
    ]
    .concat();
    let folder = tempfile::tempdir().expect("a folder");
    for program in [AuthService, PostsService, Gateway, Rolegate] {
        for setting in settings_of(program, folder.path()).await {
            // Every secret is tested as a value and as a file.
            let value = setting.strip_suffix("_FILE").unwrap_or(&setting);
            let has_case = [&*setting, value]
                .iter()
                .any(|it| cases.contains(&format!("\"{it}\"")));
            assert!(has_case, "{setting} of {program:?} has no case");
        }
    }
}
