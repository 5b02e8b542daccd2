//! Tests a start while the database accepts connections but does not answer, or while another session locks it. Probes
//! answer, every step is tried again, and the start succeeds once the fault is over.

use e2e::{
    Api, Process, Program, Store, TcpProxy, TestDatabase, TestSetup, eventually, for_both_stores,
};
use sqlx::{
    ConnectOptions as _, Connection as _, PgConnection, SqliteConnection, migrate::Migrate as _,
    sqlite::SqliteConnectOptions,
};
use std::{collections::BTreeMap, fs::File, path::Path};
use tempfile::TempDir;

for_both_stores!(start_that_cannot_seed_the_admin_tries_again);

type Settings = BTreeMap<String, String>;

const WAITS: &str = "waiting for the database";

/// Returns the programs that open databases, with settings for this one.
fn programs(store: Store, url: &str) -> [(Program, Settings); 3] {
    let (split, whole) = (TestSetup::split(store), TestSetup::all_in_one(store));
    let nowhere = "127.0.0.1:1".parse().expect("an address");
    [
        (split.auth_program(), split.auth_settings(url)),
        (Program::PostsService, split.posts_settings(url, nowhere)),
        (whole.auth_program(), whole.auth_settings(url)),
    ]
}

/// Starts a program that logs the address of its probes, because it prints the address only once it is ready.
fn start(program: Program, mut settings: Settings, folder: &Path) -> Process {
    let log = "info,rolegate_http_server=debug";
    settings.insert("RUST_LOG".to_owned(), log.to_owned());
    Process::start(program, &settings, folder)
}

async fn expect_waiting(process: &Process) {
    let probes = eventually("the probes", async || {
        let log = process.stderr();
        let line = log.lines().find(|line| line.contains("serving /livez"))?;
        let (_, address) = line.split_once("address=")?;
        address
            .split_whitespace()
            .next()
            .map(|address| format!("http://{address}"))
    });
    let probes = Api::at(&probes.await);
    probes.get("/livez").await.expect(200);
    assert_eq!(
        probes.get("/readyz").await.expect(503).body,
        "waiting for the database\n"
    );
}

async fn expect_lines(process: &Process, text: &str) {
    process
        .logs(text, |line| line.contains(WAITS) && line.contains(text))
        .await;
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

#[tokio::test]
async fn start_beside_a_silent_server_is_live_and_succeeds_on_a_new_connection() {
    let (database, folder) = (TestDatabase::create(Store::Postgres).await, folder());
    let mut proxy = TcpProxy::to(database.address());
    proxy.silence();
    let url = database.url_through(proxy.address());
    let servers = programs(Store::Postgres, &url)
        .map(|(program, settings)| start(program, settings, folder.path()));
    let only_the_database = BTreeMap::from([("DATABASE_URL".to_owned(), url)]);
    let migrations = [Program::AuthService, Program::PostsService].map(|program| {
        Process::start_with(program, &["migrate"], &only_the_database, folder.path())
    });
    for server in &servers {
        expect_waiting(server).await;
    }
    for process in servers.iter().chain(&migrations) {
        expect_lines(process, "cannot connect: no answer within 5 seconds").await;
    }
    // Open connections stay silent, as if the machine behind them had been replaced.
    proxy.freeze_connections();
    proxy.open();
    for migration in migrations {
        let exit = migration.exit().await;
        assert_eq!(exit.code, Some(0), "{exit:?}");
    }
    for server in servers {
        server.ready().await.wait_for_readiness(200).await;
    }
}

#[tokio::test]
async fn start_behind_a_migration_lock_leaves_no_queue_at_the_server() {
    let (database, folder) = (TestDatabase::create(Store::Postgres).await, folder());
    let url = database.url();
    let mut holder = PgConnection::connect(&url).await.expect("connected");
    holder.lock().await.expect("locked");
    let servers = programs(Store::Postgres, &url)
        .map(|(program, settings)| start(program, settings, folder.path()));
    for server in &servers {
        expect_waiting(server).await;
    }
    for server in &servers {
        expect_lines(server, "another session holds a lock").await;
    }
    let sql = "SELECT count(*) FROM pg_locks JOIN pg_database ON oid = database
        WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()";
    let queued: i64 = sqlx::query_scalar(sql)
        .fetch_one(&mut holder)
        .await
        .expect("counted");
    assert!(queued <= 3, "{queued} sessions of 3 programs wait");
    holder.close().await.expect("unlocked");
    for server in servers {
        server.ready().await.wait_for_readiness(200).await;
    }
}

#[tokio::test]
async fn migration_that_meets_a_lock_is_tried_again() {
    let (database, folder) = (TestDatabase::create(Store::Postgres).await, folder());
    let mut holder = PgConnection::connect(&database.url())
        .await
        .expect("connected");
    let mut transaction = holder.begin().await.expect("begun");
    let sql = r#"CREATE TABLE "user" (id integer)"#;
    sqlx::raw_sql(sql)
        .execute(&mut *transaction)
        .await
        .expect("created");
    let setup = TestSetup::split(Store::Postgres);
    let server = start(
        setup.auth_program(),
        setup.auth_settings(&database.url()),
        folder.path(),
    );
    expect_lines(&server, "another session holds a lock").await;
    transaction.rollback().await.expect("rolled back");
    server.ready().await.wait_for_readiness(200).await;
}

async fn start_that_cannot_seed_the_admin_tries_again(store: Store) {
    let (database, folder) = (TestDatabase::create(store).await, folder());
    let settings = BTreeMap::from([("DATABASE_URL".to_owned(), database.url())]);
    let exit = Process::run(
        Program::AuthService,
        &["migrate"],
        &settings,
        folder.path(),
        "",
    )
    .await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let setup = TestSetup::split(store);
    let server = || {
        start(
            setup.auth_program(),
            setup.auth_settings(&database.url()),
            folder.path(),
        )
    };
    let server = match store {
        Store::Postgres => {
            let lock = database.lock(r#""user""#).await;
            let server = server();
            expect_lines(&server, "cannot create the user admin yet").await;
            expect_waiting(&server).await;
            lock.unlock().await;
            server
        }
        Store::Sqlite => {
            let mut holder = SqliteConnection::connect(&database.url())
                .await
                .expect("opened");
            sqlx::raw_sql("BEGIN IMMEDIATE")
                .execute(&mut holder)
                .await
                .expect("locked");
            let server = server();
            expect_lines(&server, "").await;
            expect_waiting(&server).await;
            holder.close().await.expect("unlocked");
            server
        }
    };
    server.ready().await.wait_for_readiness(200).await;
    assert_eq!(database.count_users().await, 1);
}

#[tokio::test]
async fn start_beside_a_program_that_locks_the_file_tries_again() {
    let (database, folder) = (TestDatabase::create(Store::Sqlite).await, folder());
    let mut holder = SqliteConnectOptions::new()
        .filename(database.file())
        .create_if_missing(true)
        .connect()
        .await
        .expect("opened");
    // The file is not in WAL mode yet, so the start has to switch it.
    sqlx::raw_sql("BEGIN IMMEDIATE")
        .execute(&mut holder)
        .await
        .expect("locked");
    let setup = TestSetup::split(Store::Sqlite);
    let server = start(
        setup.auth_program(),
        setup.auth_settings(&database.url()),
        folder.path(),
    );
    expect_lines(&server, "").await;
    expect_waiting(&server).await;
    holder.close().await.expect("unlocked");
    server.ready().await.wait_for_readiness(200).await;
}

#[tokio::test]
async fn start_behind_the_lock_file_of_another_process_says_so() {
    let (database, folder) = (TestDatabase::create(Store::Sqlite).await, folder());
    let lock = File::create(database.file().with_extension("db.lock")).expect("created");
    lock.lock().expect("locked");
    let setup = TestSetup::split(Store::Sqlite);
    let server = start(
        setup.auth_program(),
        setup.auth_settings(&database.url()),
        folder.path(),
    );
    expect_waiting(&server).await;
    expect_lines(&server, "another process").await;
    drop(lock);
    server.ready().await.wait_for_readiness(200).await;
}
