//! Checks that `auth-service doctor` reports problems and changes nothing.

use e2e::{
    ADMIN_PASSWORD, Exit, Process, Program, SIGNING_SECRET, Store, TcpProxy, TestDatabase,
    TestSetup, for_both_stores,
};
use std::{collections::BTreeMap, path::Path};

for_both_stores!(doctor_finds_no_problem_before_the_first_start_and_while_serving);

async fn doctor(settings: &BTreeMap<String, String>, folder: &Path) -> Exit {
    let exit = Process::run(Program::AuthService, &["doctor"], settings, folder, "").await;
    for secret in [SIGNING_SECRET, ADMIN_PASSWORD, "hunter2"] {
        let printed = format!("{}{}", exit.stdout, exit.stderr);
        assert!(!printed.contains(secret), "a secret is shown: {printed}");
    }
    exit
}

/// Asserts that the output has a line with this mark and this text.
#[track_caller]
pub(crate) fn expect_line(exit: &Exit, mark: &str, text: &str) {
    let found = exit
        .stdout
        .lines()
        .any(|line| line.starts_with(mark) && line.contains(text));
    assert!(
        found,
        "no line {mark} … {text}\n{}{}",
        exit.stdout, exit.stderr
    );
}

async fn doctor_finds_no_problem_before_the_first_start_and_while_serving(store: Store) {
    let setup = TestSetup::split(store);
    let database = TestDatabase::create(store).await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = setup.auth_settings(&database.url());
    let exit = doctor(&settings, folder.path()).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    expect_line(&exit, "ok", "open files allow");
    expect_line(&exit, "ok", "is free");
    expect_line(&exit, "ok", "there is no user admin yet");
    expect_line(&exit, "ok", "factors   users can turn one on");
    let server = Process::start(setup.auth_program(), &settings, folder.path())
        .ready()
        .await;
    server.wait_for_readiness(200).await;
    for (name, listener) in [("AUTH_LISTEN_ADDR", "grpc"), ("OPS_LISTEN_ADDR", "ops")] {
        settings.insert(name.to_owned(), server.socket_address(listener).to_string());
    }
    let exit = doctor(&settings, folder.path()).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    expect_line(&exit, "ok", "the schema is up to date");
    expect_line(&exit, "ok", "the user admin exists");
    expect_line(&exit, "ok", "in use by a server that is ready");
    assert_eq!(database.count_users().await, 1);
}

#[tokio::test]
async fn doctor_reports_a_limit_of_open_files_that_is_too_low() {
    let (database, folder) = (
        TestDatabase::create(Store::Sqlite).await,
        tempfile::tempdir().expect("a folder"),
    );
    let settings = TestSetup::split(Store::Sqlite).auth_settings(&database.url());
    let (program, arguments) = (Program::AuthService, &["doctor"][..]);
    let process =
        Process::start_with_open_files(program, arguments, "-n 512", &settings, folder.path());
    let exit = process.exit().await;
    assert_eq!(exit.code, Some(1), "{exit:?}");
    expect_line(
        &exit,
        "FAILED",
        "open files allow 460 connections to each listener; raise",
    );
}

#[tokio::test]
async fn doctor_reports_all_problems_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("signing-secret");
    std::fs::write(&secret, "hunter2").expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(&secret, mode).expect("set");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = taken
        .local_addr()
        .map(|address| (address.to_string(), taken))
        .expect("bound");
    let settings = BTreeMap::from(
        [
            ("SIGNING_SECRET_FILE", secret.to_str().expect("UTF-8")),
            ("DATABASE_URL", "mysql://root:hunter2@localhost/users"),
            ("AUTH_LISTEN_ADDR", &taken.0),
            ("OPS_LISTEN_ADDR", "192.0.2.1:9001"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    let exit = doctor(&settings, folder.path()).await;
    assert_eq!(exit.code, Some(1), "{exit:?}");
    expect_line(&exit, "FAILED", "must have at least 32 bytes");
    expect_line(
        &exit,
        "ok",
        "factors   nobody can turn one on without SECOND_FACTOR_KEY",
    );
    expect_line(&exit, "FAILED", "has mode 0644");
    expect_line(&exit, "FAILED", "DATABASE_URL: must be postgres://");
    expect_line(&exit, "FAILED", "Address already in use");
    expect_line(&exit, "FAILED", "cannot listen on 192.0.2.1:");
    assert_eq!(exit.stderr, "5 checks failed\n");
    let mut settings = settings;
    settings.insert("BCRYPT_COST".to_owned(), "4".to_owned());
    let exit = doctor(&settings, folder.path()).await;
    assert_eq!(exit.code, Some(64), "{exit:?}");
    assert_eq!(
        exit.stderr,
        "BCRYPT_COST: must be a whole number from 12 to 16\n"
    );
}

#[tokio::test]
async fn doctor_does_not_wait_for_the_database() {
    let database = TestDatabase::create(Store::Postgres).await;
    let proxy = TcpProxy::refusing(database.address());
    let setup = TestSetup::split(Store::Postgres);
    let settings = setup.auth_settings(&database.url_through(proxy.address()));
    let folder = tempfile::tempdir().expect("a folder");
    let exit = doctor(&settings, folder.path()).await;
    assert_eq!(exit.code, Some(1), "{exit:?}");
    expect_line(&exit, "FAILED", "cannot open PostgreSQL at ");
    let there = doctor(&setup.auth_settings(&database.url()), folder.path()).await;
    assert_eq!(there.code, Some(0), "{there:?}");
    expect_line(&there, "ok", "there is no schema yet");
}

#[tokio::test]
async fn doctor_does_not_create_the_sqlite_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let setup = TestSetup::split(Store::Sqlite);
    let file = folder.path().join("users.db");
    let mut settings = setup.auth_settings(&format!("sqlite://{}", file.display()));
    let exit = doctor(&settings, folder.path()).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert!(!file.exists());
    std::fs::write(&file, "this is no database, whatever its name says").expect("written");
    let exit = doctor(&settings, folder.path()).await;
    assert_eq!(exit.code, Some(1), "{exit:?}");
    expect_line(&exit, "FAILED", "DATABASE_URL: ");
    expect_line(&exit, "FAILED", "users.db is not an SQLite database");
    let nowhere = folder.path().join("nowhere/users.db");
    settings.insert(
        "DATABASE_URL".to_owned(),
        format!("sqlite://{}", nowhere.display()),
    );
    expect_line(
        &doctor(&settings, folder.path()).await,
        "FAILED",
        "there is no folder",
    );
}

#[tokio::test]
async fn doctor_and_start_report_a_foreign_database_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let (posts, other) = (
        TestDatabase::create(Store::Sqlite).await,
        TestDatabase::create(Store::Sqlite).await,
    );
    let nowhere = "127.0.0.1:1".parse().expect("an address");
    let setup = TestSetup::split(Store::Sqlite);
    let settings = setup.posts_settings(&posts.url(), nowhere);
    Process::start(Program::PostsService, &settings, folder.path())
        .ready()
        .await;
    other.execute("CREATE TABLE bookmark (url TEXT)").await;
    let folder_url = format!("sqlite://{}", folder.path().display());
    for (url, why) in [
        (&posts.url(), "is not a database of auth-service: "),
        (
            &other.url(),
            "is not a database of auth-service: it has tables of another program",
        ),
        (&folder_url, "is a folder; name a file in it"),
    ] {
        let settings = setup.auth_settings(url);
        let exit = doctor(&settings, folder.path()).await;
        assert_eq!(exit.code, Some(1), "{exit:?}");
        expect_line(&exit, "FAILED", why);
        let start = Process::run(Program::AuthService, &[], &settings, folder.path(), "").await;
        assert_eq!(start.code, Some(64), "{start:?}");
        let line = start.stderr.lines().last().expect("a line");
        assert!(
            line.starts_with("DATABASE_URL: ") && line.contains(why),
            "{start:?}"
        );
        expect_line(&exit, "FAILED", line);
    }
}
