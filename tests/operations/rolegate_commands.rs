//! Tests the commands of `rolegate` that auth-service and posts-service have, too.

use crate::doctor::expect_line;
use e2e::{Api, Exit, Process, Program, Store, TestDatabase, TestUser, for_both_stores};
use std::{collections::BTreeMap, path::Path};

for_both_stores!(
    users_are_created_and_disabled_beside_the_running_service,
    doctor_finds_no_problem_before_the_first_start_and_while_serving,
    migrate_creates_the_tables_of_both_services,
    without_posts_there_are_no_routes_and_no_database_of_posts,
    the_command_of_a_start_sets_the_password_of_admin,
);

const PASSWORD: &str = "planted-new-password-7c2d";

/// Returns settings with free ports and a database in this store. On SQLite, the database is the default one.
async fn settings(store: Store) -> (BTreeMap<String, String>, Option<TestDatabase>) {
    let addresses = ["BEARER", "BASIC", "FORWARD_AUTH", "AUTH", "POSTS", "OPS"]
        .map(|name| (format!("{name}_LISTEN_ADDR"), "127.0.0.1:0".to_owned()));
    let mut settings = BTreeMap::from(addresses);
    if matches!(store, Store::Sqlite) {
        return (settings, None);
    }
    let database = TestDatabase::create(store).await;
    settings.insert("DATABASE_URL".to_owned(), database.url());
    (settings, Some(database))
}

async fn run(arguments: &[&str], settings: &BTreeMap<String, String>, folder: &Path) -> Exit {
    let exit = Process::run(
        Program::FastHashRolegate,
        arguments,
        settings,
        folder,
        PASSWORD,
    )
    .await;
    assert!(
        !format!("{}{}", exit.stdout, exit.stderr).contains(PASSWORD),
        "{exit:?}"
    );
    exit
}

async fn users_are_created_and_disabled_beside_the_running_service(store: Store) {
    let (settings, _database) = settings(store).await;
    let folder = tempfile::tempdir().expect("a folder");
    let early = run(&["user", "list"], &settings, folder.path()).await;
    assert_eq!(early.code, Some(64), "{early:?}");
    let missing = "there is no database yet; the first start creates it\n";
    assert!(early.stderr.ends_with(missing), "{early:?}");
    assert!(early.stdout.is_empty(), "{early:?}");
    assert!(
        !folder.path().join("data").exists(),
        "a command on users creates nothing"
    );

    let process = Process::start(Program::FastHashRolegate, &settings, folder.path());
    let process = process.ready().await;
    let bearer = Api::at(&process.address("bearer"));
    let created = run(
        &["user", "create", "ann", "--role", "author"],
        &settings,
        folder.path(),
    )
    .await;
    assert_eq!(
        created.stdout, "User 2 (\"ann\") is created, with the role author.\n",
        "{created:?}"
    );
    let ann = TestUser::log_in(&bearer, "ann", PASSWORD).await;
    bearer
        .with_token(&ann.token)
        .get("/author")
        .await
        .expect(200);
    let disabled = run(&["user", "disable", "ann"], &settings, folder.path()).await;
    assert_eq!(disabled.code, Some(0), "{disabled:?}");
    bearer
        .with_token(&ann.token)
        .get("/author")
        .await
        .expect(401);
}

async fn doctor_finds_no_problem_before_the_first_start_and_while_serving(store: Store) {
    let (mut settings, _database) = settings(store).await;
    let folder = tempfile::tempdir().expect("a folder");
    let exit = run(&["doctor"], &settings, folder.path()).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let [users, posts] = match store {
        Store::Postgres => [
            "there is no user admin yet; the first start creates it",
            "no schema yet",
        ],
        Store::Sqlite => [
            "SQLite in ./data/rolegate.db: the first start creates it, and the user admin",
            "SQLite in ./data/posts.db: the first start creates it",
        ],
    };
    for text in [
        "DATA_DIR: ./data does not exist yet",
        "keys      there is none yet; the first start generates it",
        users,
        posts,
        "BEARER_LISTEN_ADDR 127.0.0.1:0 is free",
        "POSTS_LISTEN_ADDR 127.0.0.1:0 is free",
    ] {
        expect_line(&exit, "ok", text);
    }
    assert!(
        !folder.path().join("data").exists(),
        "doctor creates nothing"
    );

    let server = Process::start(Program::FastHashRolegate, &settings, folder.path())
        .ready()
        .await;
    server.wait_for_readiness(200).await;
    settings.insert(
        "OPS_LISTEN_ADDR".to_owned(),
        server.socket_address("ops").to_string(),
    );
    let bearer = Api::at(&server.address("bearer"));
    let request = bearer.request(reqwest::Method::GET, "/public");
    bearer.send_from("192.0.2.1", request).await.expect(200);
    let exit = run(&["doctor"], &settings, folder.path()).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    expect_line(&exit, "ok", "DATA_DIR: ./data is private");
    expect_line(&exit, "ok", "keys      1 accepted");
    expect_line(&exit, "ok", "the user admin exists");
    expect_line(
        &exit,
        "note",
        "1 calls with x-forwarded-for came from addresses outside of",
    );
    expect_line(&exit, "ok", "in use by a server that is ready");
    let current = exit.stdout.matches("the schema is up to date").count();
    assert_eq!(current, 2, "{exit:?}");
}

async fn without_posts_there_are_no_routes_and_no_database_of_posts(store: Store) {
    let (mut settings, database) = settings(store).await;
    settings.insert("POSTS".to_owned(), "off".to_owned());
    let folder = tempfile::tempdir().expect("a folder");
    let migrated = run(&["migrate"], &settings, folder.path()).await;
    assert_eq!(
        migrated
            .stdout
            .matches("The schema is up to date: ")
            .count(),
        1,
        "{migrated:?}"
    );
    let process = Process::start(Program::FastHashRolegate, &settings, folder.path());
    let mut process = process.ready().await;
    process.wait_for_readiness(200).await;
    assert!(
        process
            .stdout()
            .contains("Posts: off, because POSTS is off"),
        "{}",
        process.stdout()
    );
    assert_eq!(process.address("posts"), "off");
    let bearer = Api::at(&process.address("bearer"));
    bearer.get("/posts").await.expect_detail(404, "Not Found");
    assert!(
        !bearer
            .get("/openapi.json")
            .await
            .expect(200)
            .body
            .contains("/posts")
    );
    let checked = run(&["doctor"], &settings, folder.path()).await;
    assert!(
        !checked.stdout.contains("posts.db") && !checked.stdout.contains("POSTS_"),
        "{checked:?}"
    );
    if let Some(database) = &database {
        database.execute("CREATE SCHEMA posts").await;
    } else {
        for (arguments, file) in [
            (&["backup", "copy.db"][..], "copy.db"),
            (&["restore", "copy.db", "--replace"], "./data/rolegate.db"),
        ] {
            if arguments[0] == "restore" {
                process.kill().await;
            }
            let exit = run(arguments, &settings, folder.path()).await;
            let copied = format!("The users are in {file}, which was checked.");
            assert_eq!(exit.code, Some(0), "{exit:?}");
            assert!(exit.stdout.starts_with(&copied), "{exit:?}");
        }
        let exists = |name: &str| folder.path().join(name).exists();
        assert!(!exists("data/posts.db") && !exists("copy.db.posts") && exists("copy.db"));
    }
}

async fn the_command_of_a_start_sets_the_password_of_admin(store: Store) {
    let (settings, _database) = settings(store).await;
    let folder = tempfile::tempdir().expect("a folder");
    let start = || Process::start(Program::FastHashRolegate, &settings, folder.path());
    start().ready().await.kill().await;
    std::fs::remove_file(folder.path().join("data/initial-admin-password")).expect("generated");
    let process = start().ready().await;
    let said = process.stdout();
    let command = said
        .lines()
        .find(|line| line.contains(" user reset-password admin"));
    let command = command.unwrap_or_else(|| panic!("no command: {said}"));
    // Commands ignore the settings of listeners.
    let mut pasted = std::process::Command::new("sh");
    pasted
        .env_clear()
        .envs(settings.get_key_value("DATABASE_URL"));
    let pasted = pasted
        .args(["-c", &format!("echo {PASSWORD} | {command}")])
        .output();
    let pasted = pasted.expect("a shell");
    assert!(pasted.status.success(), "{pasted:?}");
    TestUser::log_in(&Api::at(&process.address("bearer")), "admin", PASSWORD).await;
}

#[tokio::test]
async fn replicas_on_postgres_may_share_a_data_dir() {
    let (settings, _database) = settings(Store::Postgres).await;
    let folder = tempfile::tempdir().expect("a folder");
    let start = || Process::start(Program::FastHashRolegate, &settings, folder.path()).ready();
    for mut replica in [start().await, start().await] {
        assert!(
            !replica.stderr().contains("another rolegate"),
            "{}",
            replica.stderr()
        );
        replica.kill().await;
    }
}

#[tokio::test]
async fn a_second_rolegate_on_one_data_dir_warns_and_commands_do_not() {
    let (settings, _database) = settings(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let start = || Process::start(Program::FastHashRolegate, &settings, folder.path()).ready();
    let warns = |process: &Process| {
        process
            .stderr()
            .contains("another rolegate serves this DATA_DIR")
    };
    let mut first = start().await;
    assert!(!warns(&first));
    let second = start().await;
    second
        .logs("the first", |line| {
            line.contains("WARN") && line.contains("./data")
        })
        .await;
    assert!(warns(&second) && !warns(&first));
    for arguments in [
        &["user", "list"][..],
        &["doctor"],
        &["migrate"],
        &["backup", "copy.db"],
    ] {
        let exit = run(arguments, &settings, folder.path()).await;
        assert!(
            exit.code == Some(0) && !exit.stderr.contains("another rolegate"),
            "{exit:?}"
        );
    }
    // The second process still marks the database as in use, so the third warns.
    first.kill().await;
    let third = start().await;
    assert!(warns(&third));
    for mut process in [second, third] {
        process.kill().await;
    }
    assert!(!warns(&start().await));
}

#[tokio::test]
async fn doctor_reports_all_problems_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("data")).expect("created");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("bound").to_string();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.path().join("data"), open).expect("set");
    let settings = BTreeMap::from(
        [
            ("SIGNING_SECRET", "hunter2"),
            ("POSTS_DATABASE_URL", "mysql://root:hunter2@localhost/posts"),
            ("POSTS_TLS_CERT_FILE", "/nowhere/at/all"),
            ("BEARER_LISTEN_ADDR", &port),
            ("BASIC_LISTEN_ADDR", &port),
            ("FORWARD_AUTH_LISTEN_ADDR", "off"),
            ("AUTH_LISTEN_ADDR", "off"),
            ("POSTS_LISTEN_ADDR", "127.0.0.1:0"),
            ("OPS_LISTEN_ADDR", "127.0.0.1:0"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    let exit = run(&["doctor"], &settings, folder.path()).await;
    assert_eq!(exit.code, Some(1), "{exit:?}");
    expect_line(&exit, "FAILED", "others may write to ./data");
    expect_line(
        &exit,
        "FAILED",
        "SIGNING_SECRET: must have at least 32 bytes",
    );
    expect_line(&exit, "FAILED", "POSTS_DATABASE_URL: must be postgres://");
    expect_line(&exit, "FAILED", "POSTS_TLS_KEY_FILE: is required");
    expect_line(&exit, "FAILED", "BEARER_LISTEN_ADDR: cannot listen on");
    expect_line(&exit, "FAILED", "BASIC_LISTEN_ADDR: cannot listen on");
    assert_eq!(exit.stderr, "6 checks failed\n");
    assert!(
        !exit.stdout.contains("hunter2"),
        "a secret is shown: {exit:?}"
    );
}

#[tokio::test]
async fn own_files_of_the_data_dir_that_others_can_read_fail_and_foreign_ones_do_not() {
    let (settings, _database) = settings(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let make_readable = |name: &str| {
        let file = folder.path().join("data").join(name);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        std::fs::set_permissions(file, open).expect("set");
    };
    assert_eq!(
        run(&["migrate"], &settings, folder.path()).await.code,
        Some(0)
    );
    std::fs::write(folder.path().join("data/copy.db"), "").expect("written");
    make_readable("copy.db");
    assert_eq!(
        run(&["doctor"], &settings, folder.path()).await.code,
        Some(0)
    );
    let process = Process::start(Program::FastHashRolegate, &settings, folder.path());
    process.ready().await.kill().await;
    for name in ["signing-secret", "second-factor-key", "posts.db"] {
        make_readable(name);
        let why = format!("DATA_DIR: ./data/{name} can be read or changed by others; chmod 600 it");
        let exit = run(&["doctor"], &settings, folder.path()).await;
        assert_eq!(exit.code, Some(1), "{exit:?}");
        expect_line(&exit, "FAILED", &why);
        let exit = run(&["serve"], &settings, folder.path()).await;
        assert_eq!((exit.code, exit.stderr), (Some(64), format!("{why}\n")));
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        let file = folder.path().join("data").join(name);
        std::fs::set_permissions(file, private).expect("set");
    }
}

async fn migrate_creates_the_tables_of_both_services(store: Store) {
    let (settings, database) = settings(store).await;
    let folder = tempfile::tempdir().expect("a folder");
    for _ in 0..2 {
        let exit = run(&["migrate"], &settings, folder.path()).await;
        assert_eq!(exit.code, Some(0), "{exit:?}");
        assert_eq!(
            exit.stdout.matches("The schema is up to date: ").count(),
            2,
            "{exit:?}"
        );
    }
    match &database {
        Some(database) => database.execute("SELECT author_id FROM posts.post").await,
        None => assert!(folder.path().join("data/posts.db").exists()),
    }
    let list = run(&["user", "list"], &settings, folder.path()).await;
    assert_eq!(
        list.stdout.lines().count(),
        1,
        "migrate creates no user: {list:?}"
    );
}
