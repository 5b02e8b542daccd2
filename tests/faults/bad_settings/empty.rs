//! Tests variables that are set to the empty string.

use super::{
    AuthService, Gateway, PostsService, Program, Rolegate, Settings, expect_rejected, good,
    settings_of,
};
use e2e::{Process, Store, TestDatabase};
use std::path::Path;

/// The settings whose default may be weaker than the intended value, so that an empty value is refused. Files and the
/// other secrets are found by their names.
const STRICT: [&str; 27] = [
    "BEARER_LISTEN_ADDR",
    "BASIC_LISTEN_ADDR",
    "FORWARD_AUTH_LISTEN_ADDR",
    "AUTH_LISTEN_ADDR",
    "POSTS_LISTEN_ADDR",
    "POSTS",
    "AUTH_SERVICE_URL",
    "TRUSTED_GATEWAYS",
    "DATABASE_URL",
    "POSTS_DATABASE_URL",
    "DATABASE_READS",
    "DATA_DIR",
    "SIGNING_SECRET",
    "SIGNING_SECRETS_ACCEPTED",
    "DEFAULT_ADMIN_PASSWORD",
    "PASSWORD_PEPPER",
    "PASSWORD_MIN_LENGTH",
    "ADMINS_SET_PASSWORDS",
    "BCRYPT_COST",
    "BASIC_CACHE_TTL_SECONDS",
    "REGISTRATION",
    "REGISTRATION_LIMIT",
    "SECOND_FACTOR",
    "AUDIT_RETENTION_DAYS",
    "SIGN_IN",
    "CONSOLE",
    "API_DOCS",
];

fn is_strict(setting: &str) -> bool {
    STRICT.contains(&setting)
        || setting.ends_with("_FILE")
        || setting.ends_with("_KEY")
        || setting.ends_with("_KEYS_ACCEPTED")
}

fn with_empty(program: Program, database: &TestDatabase, empty: &[String]) -> Settings {
    let mut settings = good(program, database);
    settings.extend(empty.iter().map(|name| (name.clone(), String::new())));
    settings
}

#[tokio::test]
async fn every_empty_variable_counts_as_not_set_or_is_refused_with_how_to_unset_it() {
    let folder = tempfile::tempdir().expect("a folder");
    for program in [AuthService, PostsService, Gateway, Rolegate] {
        let database = TestDatabase::create(Store::Sqlite).await;
        let all = settings_of(program, folder.path()).await;
        let (strict, mut others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|setting| is_strict(setting));
        for setting in &strict {
            let settings = with_empty(program, &database, std::slice::from_ref(setting));
            let line = expect_rejected(program, &settings, folder.path(), setting).await;
            let problem = "is empty; set a value, or remove the variable to unset it";
            assert_eq!(line, format!("{setting}: {problem}\n"), "{program:?}");
        }
        // The default of this setting is a port that another program may use, so it is tested on its own.
        let before = others.len();
        others.retain(|setting| setting != "OPS_LISTEN_ADDR");
        assert_eq!(others.len(), before - 1, "{program:?}");
        expect_default_address(program, &database, folder.path()).await;
        others.extend(["TOKIO_WORKER_THREADS".to_owned(), "PGPORT".to_owned()]);
        let settings = with_empty(program, &database, &others);
        let process = Process::start(program, &settings, folder.path())
            .ready()
            .await;
        process.terminate();
        let exit = process.exit().await;
        // The log has the default level and the default format.
        let has_logged = exit
            .stderr
            .lines()
            .any(|line| line.contains(" INFO ") && line.contains("stopping"));
        assert!(exit.code == Some(0) && has_logged, "{exit:?}");
    }
}

async fn expect_default_address(program: Program, database: &TestDatabase, folder: &Path) {
    let settings = with_empty(program, database, &["OPS_LISTEN_ADDR".to_owned()]);
    let process = Process::start(program, &settings, folder);
    if let Some(exit) = process.ready_or_ended().await {
        let is_in_use = exit.stderr.contains("cannot listen on 127.0.0.1:900");
        assert!(exit.code == Some(1) && is_in_use, "{exit:?}");
    }
}

#[tokio::test]
async fn flag_replaces_an_empty_variable_and_help_lists_it() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let empty = ["REGISTRATION", "LOG_FORMAT"].map(ToOwned::to_owned);
    let settings = with_empty(AuthService, &database, &empty);
    for flags in [
        &["--registration", "closed", "migrate"][..],
        &["migrate", "--registration", "closed"],
    ] {
        let exit = Process::run(AuthService, flags, &settings, folder.path(), "").await;
        assert_eq!(exit.code, Some(0), "{flags:?}: {exit:?}");
    }
    for flags in [&["migrate"][..], &["serve"], &["doctor"], &["user", "list"]] {
        let exit = Process::run(AuthService, flags, &settings, folder.path(), "").await;
        assert_eq!(exit.code, Some(64), "{flags:?}: {exit:?}");
        assert!(
            exit.stderr.starts_with("REGISTRATION: is empty; "),
            "{exit:?}"
        );
    }
    // An empty flag is written on purpose, so it counts as a wrong value.
    let exit = Process::run(
        AuthService,
        &["migrate", "--registration", "closed", "--log-format", ""],
        &settings,
        folder.path(),
        "",
    )
    .await;
    assert_eq!(exit.code, Some(64), "{exit:?}");
    let help = Process::run(AuthService, &["--help"], &settings, folder.path(), "").await;
    assert_eq!(help.code, Some(0), "{help:?}");
    for name in &empty {
        assert!(help.stdout.contains(&format!("[env: {name}=")), "{help:?}");
    }
}

#[tokio::test]
async fn empty_variable_of_a_command_is_refused_with_how_to_unset_it() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let settings = with_empty(AuthService, &database, &["NEW_PASSWORD_FILE".to_owned()]);
    let create = ["user", "create", "ann"];
    let exit = Process::run(AuthService, &create, &settings, folder.path(), "").await;
    assert_eq!(exit.code, Some(64), "{exit:?}");
    assert!(
        exit.stderr.starts_with("NEW_PASSWORD_FILE: is empty; "),
        "{exit:?}"
    );
}
