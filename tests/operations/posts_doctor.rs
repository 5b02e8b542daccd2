//! Checks that `posts-service doctor` reports problems and changes nothing.

use crate::doctor::expect_line;
use e2e::{Exit, Process, Program, Store, TcpProxy, TestDatabase, TestSetup, for_both_stores};
use std::{collections::BTreeMap, net::SocketAddr, path::Path};

for_both_stores!(doctor_finds_no_problem_before_the_first_start_and_while_serving);

async fn doctor(settings: &BTreeMap<String, String>, folder: &Path) -> Exit {
    let exit = Process::run(Program::PostsService, &["doctor"], settings, folder, "").await;
    let printed = format!("{}{}", exit.stdout, exit.stderr);
    assert!(!printed.contains("hunter2"), "a secret is shown: {printed}");
    exit
}

/// Returns an address where nothing listens.
fn unreachable() -> SocketAddr {
    "127.0.0.1:1".parse().expect("an address")
}

async fn doctor_finds_no_problem_before_the_first_start_and_while_serving(store: Store) {
    let setup = TestSetup::split(store);
    let database = TestDatabase::create(store).await;
    let folder = tempfile::tempdir().expect("a folder");
    let settings = setup.auth_settings(&database.url());
    let auth = Process::start(setup.auth_program(), &settings, folder.path())
        .ready()
        .await;
    let mut settings = setup.posts_settings(&database.posts_url(), auth.socket_address("grpc"));
    let exit = doctor(&settings, folder.path()).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    expect_line(&exit, "ok", "migrate or the first start creates it");
    expect_line(
        &exit,
        "ok",
        &format!("auth-service at {} answers", auth.address("grpc")),
    );
    expect_line(&exit, "ok", "POSTS_LISTEN_ADDR 127.0.0.1:0 is free");
    let server = Process::start(Program::PostsService, &settings, folder.path())
        .ready()
        .await;
    server.wait_for_readiness(200).await;
    for (name, listener) in [("POSTS_LISTEN_ADDR", "grpc"), ("OPS_LISTEN_ADDR", "ops")] {
        settings.insert(name.to_owned(), server.socket_address(listener).to_string());
    }
    let exit = doctor(&settings, folder.path()).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    expect_line(&exit, "ok", "the schema is up to date");
    expect_line(&exit, "ok", "in use by a server that is ready");
    expect_line(
        &exit,
        "ok",
        "every caller that sends x-client-address is in TRUSTED_GATEWAYS",
    );
}

#[tokio::test]
async fn doctor_reports_all_problems_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("key.pem");
    std::fs::write(&key, "hunter2").expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(&key, mode).expect("set");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let place = taken.local_addr().expect("bound").to_string();
    let settings = BTreeMap::from(
        [
            ("DATABASE_URL", "mysql://root:hunter2@localhost/posts"),
            ("AUTH_CLIENT_TLS_KEY_FILE", key.to_str().expect("UTF-8")),
            ("POSTS_TLS_CERT_FILE", "/nowhere/at/all"),
            ("POSTS_LISTEN_ADDR", &place),
            ("OPS_LISTEN_ADDR", "192.0.2.1:9002"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    let exit = doctor(&settings, folder.path()).await;
    assert_eq!(exit.code, Some(1), "{exit:?}");
    expect_line(&exit, "FAILED", "has mode 0644");
    expect_line(&exit, "FAILED", "DATABASE_URL: must be postgres://");
    expect_line(&exit, "FAILED", "AUTH_CLIENT_TLS_CERT_FILE: is required");
    expect_line(&exit, "FAILED", "POSTS_TLS_KEY_FILE: is required");
    expect_line(&exit, "FAILED", "Address already in use");
    expect_line(&exit, "FAILED", "cannot listen on 192.0.2.1:");
    assert_eq!(exit.stderr, "6 checks failed\n");
    let mut settings = settings;
    settings.insert("LAME_DUCK_SECONDS".to_owned(), "hunter2".to_owned());
    let exit = doctor(&settings, folder.path()).await;
    assert_eq!(exit.code, Some(64), "{exit:?}");
    assert_eq!(
        exit.stderr,
        "LAME_DUCK_SECONDS: must be a whole number from 0 to 300\n"
    );
}

#[tokio::test]
async fn doctor_does_not_wait_for_unreachable_services() {
    let database = TestDatabase::create(Store::Postgres).await;
    let proxy = TcpProxy::refusing(database.address());
    let setup = TestSetup::split(Store::Postgres);
    let folder = tempfile::tempdir().expect("a folder");
    let settings = setup.posts_settings(&database.url_through(proxy.address()), unreachable());
    let exit = doctor(&settings, folder.path()).await;
    assert_eq!(exit.code, Some(1), "{exit:?}");
    expect_line(&exit, "FAILED", "cannot open PostgreSQL at ");
    expect_line(
        &exit,
        "FAILED",
        "auth-service at http://127.0.0.1:1 does not answer: ",
    );
    assert_eq!(exit.stderr, "2 checks failed\n");
}

#[tokio::test]
async fn database_of_users_is_rejected() {
    let setup = TestSetup::split(Store::Sqlite);
    let users = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let settings = setup.auth_settings(&users.url());
    let auth = Process::start(setup.auth_program(), &settings, folder.path())
        .ready()
        .await;
    let settings = setup.posts_settings(&users.url(), auth.socket_address("grpc"));
    let why = "is not a database of posts-service: ";
    let exit = doctor(&settings, folder.path()).await;
    assert_eq!(exit.code, Some(1), "{exit:?}");
    expect_line(&exit, "FAILED", why);
    let migrate = ["migrate"];
    let exit = Process::run(
        Program::PostsService,
        &migrate,
        &settings,
        folder.path(),
        "",
    )
    .await;
    assert_eq!(exit.code, Some(64), "{exit:?}");
    assert!(exit.stderr.contains(why), "{exit:?}");
    assert_eq!(users.count_users().await, 1);
}
