//! Tests `migrate` of auth-service and posts-service.

use e2e::{Process, Program, Store, TcpProxy, TestDatabase, TestSetup, for_both_stores};
use std::collections::BTreeMap;

for_both_stores!(
    migrate_creates_the_tables_without_users,
    migrate_of_posts_creates_its_tables,
    concurrent_migrations_and_starts_succeed
);

fn only_the_database(url: String) -> BTreeMap<String, String> {
    BTreeMap::from([("DATABASE_URL".to_owned(), url)])
}

async fn migrate_creates_the_tables_without_users(store: Store) {
    let database = TestDatabase::create(store).await;
    let folder = tempfile::tempdir().expect("a folder");
    let settings = only_the_database(database.url());
    // The second run finds nothing to do.
    for _ in 0..2 {
        let exit = Process::run(
            Program::AuthService,
            &["migrate"],
            &settings,
            folder.path(),
            "",
        )
        .await;
        assert_eq!(exit.code, Some(0), "{exit:?}");
        assert!(
            exit.stdout.starts_with("The schema is up to date: "),
            "{exit:?}"
        );
        assert_eq!(
            database.count_users().await,
            0,
            "the first admin is the server's to create"
        );
    }
    let setup = TestSetup::split(store);
    let settings = setup.auth_settings(&database.url());
    Process::start(setup.auth_program(), &settings, folder.path())
        .ready()
        .await;
    assert_eq!(database.count_users().await, 1);
}

async fn migrate_of_posts_creates_its_tables(store: Store) {
    let database = TestDatabase::create(store).await;
    let folder = tempfile::tempdir().expect("a folder");
    let settings = only_the_database(database.url());
    for _ in 0..2 {
        let exit = Process::run(
            Program::PostsService,
            &["migrate"],
            &settings,
            folder.path(),
            "",
        )
        .await;
        assert_eq!(exit.code, Some(0), "{exit:?}");
        assert!(
            exit.stdout.starts_with("The schema is up to date: "),
            "{exit:?}"
        );
    }
    let look = match store {
        Store::Postgres => "SELECT author_id FROM posts.post",
        Store::Sqlite => "SELECT author_id FROM post",
    };
    database.execute(look).await;
    let unreachable = "127.0.0.1:1".parse().expect("an address");
    let settings = TestSetup::split(store).posts_settings(&database.url(), unreachable);
    Process::start(Program::PostsService, &settings, folder.path())
        .ready()
        .await;
}

async fn concurrent_migrations_and_starts_succeed(store: Store) {
    let setup = TestSetup::split(store);
    let database = TestDatabase::create(store).await;
    let settings = setup.auth_settings(&database.url());
    all_at_once(setup.auth_program(), &settings).await;
    assert_eq!(database.count_users().await, 1);
    let unreachable = "127.0.0.1:1".parse().expect("an address");
    let settings = setup.posts_settings(&database.posts_url(), unreachable);
    all_at_once(Program::PostsService, &settings).await;
}

async fn all_at_once(program: Program, settings: &BTreeMap<String, String>) {
    let folder = std::env::temp_dir();
    let migrations: Vec<_> = (0..4)
        .map(|_| Process::start_with(program, &["migrate"], settings, &folder))
        .collect();
    let servers: Vec<_> = (0..4)
        .map(|_| Process::start_with(program, &["serve"], settings, &folder))
        .collect();
    for migration in migrations {
        let exit = migration.exit().await;
        assert_eq!(exit.code, Some(0), "{exit:?}");
    }
    for server in servers {
        server.ready().await;
    }
}

#[tokio::test]
async fn stopping_a_waiting_migration_exits_with_1() {
    let database = TestDatabase::create(Store::Postgres).await;
    let proxy = TcpProxy::refusing(database.address());
    let settings = only_the_database(database.url_through(proxy.address()));
    let folder = tempfile::tempdir().expect("a folder");
    for program in [Program::AuthService, Program::PostsService] {
        let process = Process::start_with(program, &["migrate"], &settings, folder.path());
        process
            .logs("that it waits", |line| {
                line.contains("waiting for the database")
            })
            .await;
        process.terminate();
        let exit = process.exit().await;
        assert_eq!(
            exit.code,
            Some(1),
            "what depends on it must not start: {exit:?}"
        );
    }
}

#[tokio::test]
async fn migrate_requires_a_database_url() {
    let folder = tempfile::tempdir().expect("a folder");
    let nothing = BTreeMap::new();
    for program in [Program::AuthService, Program::PostsService] {
        let exit = Process::run(program, &["migrate"], &nothing, folder.path(), "").await;
        assert_eq!(exit.code, Some(64), "{exit:?}");
        assert!(
            exit.stderr.starts_with("DATABASE_URL: is required"),
            "{exit:?}"
        );
    }
}
