//! Tests the PostgreSQL pool when callers are cancelled, when all connections are in use, and when the database has
//! settings of its own for its sessions.

use e2e::{ADMIN_PASSWORD, Api, Process, Store, TestDatabase, TestSetup, TestUser};
use futures_util::{future::join_all, poll};
use rolegate_sql_store::{
    DatabaseUrl, Engine, FileClock, Migration, StoreError, Tables, postgres::Pool,
};
use serde_json::json;
use sqlx::{Connection as _, PgConnection};
use std::{future::pending, pin::pin};
use tokio::sync::oneshot;

const TABLES: Tables = Tables {
    owner: "test",
    marker_table: "t",
    schema: None,
    migrations: &[Migration {
        version: 1,
        name: "t",
        postgres: "CREATE TABLE t (i int)",
        sqlite: "",
    }],
};

async fn open(database: &TestDatabase) -> Pool {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&file, database.url()).expect("written");
    let url = DatabaseUrl::required("DATABASE_URL", None, Some(file.path())).expect("a URL");
    match url
        .open(&TABLES, FileClock::Unused)
        .await
        .expect("opened")
        .engine
    {
        Engine::Postgres(connections) => connections,
        Engine::Sqlite(_) => panic!("not in a file"),
    }
}

async fn execute(connections: &Pool, sql: &'static str) {
    let statement = sqlx::query(sql);
    let done = connections
        .run(|connection| Box::pin(statement.execute(connection)))
        .await;
    done.expect("executed");
}

async fn backend(connections: &Pool) -> Result<i32, StoreError> {
    let pid = sqlx::query_scalar("SELECT pg_backend_pid()");
    connections
        .run(|connection| Box::pin(pid.fetch_one(connection)))
        .await
}

#[tokio::test]
async fn write_after_a_cancelled_transaction_is_committed() {
    let database = TestDatabase::create(Store::Postgres).await;
    let connections = open(&database).await;
    execute(&connections, "SELECT 1").await;
    {
        let mut abandoned = pin!(connections.run(|connection| Box::pin(async move {
            let _transaction = connection.begin().await?;
            pending::<sqlx::Result<()>>().await
        })));
        // `BEGIN` has been sent, but its response has not been read.
        assert!(poll!(&mut abandoned).is_pending());
    }
    execute(&connections, "INSERT INTO t VALUES (1)").await;
    let mut other = PgConnection::connect(&database.url())
        .await
        .expect("connected");
    let seen: i64 = sqlx::query_scalar("SELECT count(*) FROM t")
        .fetch_one(&mut other)
        .await
        .expect("counted");
    assert_eq!(seen, 1, "the insert was acknowledged");
    connections.close().await;
}

#[tokio::test]
async fn waiter_gets_the_first_connection_returned() {
    let database = TestDatabase::create(Store::Postgres).await;
    let connections = open(&database).await;
    let limit = connections.status().pools[0].limit;
    let (free, taken): (Vec<_>, Vec<_>) = (0..limit).map(|_| oneshot::channel::<()>()).unzip();
    let holders = taken.into_iter().map(|freed| {
        let connections = connections.clone();
        let (has_one, begun) = oneshot::channel();
        let holding = tokio::spawn(async move {
            connections
                .run(|connection| {
                    Box::pin(async move {
                        sqlx::query("SELECT 1").execute(connection).await?;
                        has_one.send(()).expect("awaited");
                        freed.await.expect("freed");
                        Ok(())
                    })
                })
                .await
        });
        (begun, holding)
    });
    let (begun, holders): (Vec<_>, Vec<_>) = holders.unzip();
    join_all(begun)
        .await
        .into_iter()
        .for_each(|began| began.expect("a connection for each"));

    let mut waits = pin!(backend(&connections));
    assert!(poll!(&mut waits).is_pending());
    let mut free = free.into_iter();
    free.next().expect("a holder").send(()).expect("held");
    waits.await.expect("served while all others are in use");

    free.for_each(|held| held.send(()).expect("held"));
    for holder in holders {
        holder.await.expect("ended").expect("held to its end");
    }
    connections.close().await;
    assert!(matches!(
        backend(&connections).await,
        Err(StoreError::Unavailable(_))
    ));
}

#[tokio::test]
async fn failed_statement_keeps_its_connection_and_a_cancelled_one_does_not() {
    let database = TestDatabase::create(Store::Postgres).await;
    let connections = open(&database).await;
    let first = backend(&connections).await.expect("a number");
    let refused = sqlx::query("SELECT 1 / 0");
    let refused = connections
        .run(|connection| Box::pin(refused.execute(connection)))
        .await;
    assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
    assert_eq!(backend(&connections).await.expect("a number"), first);
    {
        let sleep = sqlx::query("SELECT pg_sleep(60)");
        let mut abandoned = pin!(connections.run(|connection| Box::pin(sleep.execute(connection))));
        assert!(poll!(&mut abandoned).is_pending());
    }
    assert_ne!(backend(&connections).await.expect("a number"), first);
    connections.close().await;
}

/// Session settings that an operator may have made for another application of the same database.
const SETTINGS_OF_THE_DATABASE: &str = "DO $$
    DECLARE setting text;
    BEGIN
        FOREACH setting IN ARRAY ARRAY['default_transaction_isolation = serializable', 'lock_timeout = 1',
            'statement_timeout = 1', 'idle_session_timeout = 50', 'idle_in_transaction_session_timeout = 1',
            'session_replication_role = replica', 'datestyle = ''SQL, DMY''', 'timezone = ''Asia/Tokyo''',
            'intervalstyle = sql_standard', 'bytea_output = escape', 'extra_float_digits = -15',
            'client_encoding = latin1', 'lc_messages = ''C''', 'transform_null_equals = on',
            'array_nulls = off', 'xmloption = document'] LOOP
            EXECUTE format('ALTER DATABASE %I SET ', current_database()) || setting;
        END LOOP;
    END $$";

#[tokio::test]
async fn settings_of_the_database_for_its_sessions_fail_no_change() {
    let database = TestDatabase::create(Store::Postgres).await;
    let mut owner = PgConnection::connect(&database.url())
        .await
        .expect("connected");
    let set = sqlx::raw_sql(SETTINGS_OF_THE_DATABASE).execute(&mut owner);
    set.await.expect("set");
    let setup = TestSetup::all_in_one(Store::Postgres);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = setup.auth_settings(&database.url());
    let process = Process::start(setup.auth_program(), &settings, folder.path());
    let process = process.ready().await;
    let api = Api::at(&process.address("bearer"));
    let admin = TestUser::log_in(&api, "admin", ADMIN_PASSWORD).await;
    let admin = api.with_token(&admin.token);
    let mut users = Vec::new();
    for number in 0..8 {
        users.push(TestUser::register(&api, &format!("żofia {number}")).await);
    }
    let mut changes = Vec::new();
    for number in 0..144 {
        let role = if number % 3 == 0 { "author" } else { "user" };
        let path = format!("/users/{}/role", users[number % users.len()].id);
        let admin = &admin;
        changes.push(async move { admin.put(&path, &json!({ "role": role })).await });
    }
    // The changes wait for each other, so a busy machine could not finish all of them before their deadlines.
    while !changes.is_empty() {
        for response in join_all(changes.drain(..12)).await {
            response.expect(200);
        }
    }
    // Deleting a user also deletes everything that belongs to the user, by foreign keys.
    let ann = users.remove(0);
    ann.session(&api).await;
    admin
        .delete(&format!("/users/{}", ann.id))
        .await
        .expect(200);
    let sessions: i64 = sqlx::query_scalar("SELECT count(*) FROM api_key")
        .fetch_one(&mut owner)
        .await
        .expect("counted");
    assert_eq!(sessions, 0);
    let log = process.stderr();
    assert!(
        !log.contains("rolled back") && !log.contains("ERROR"),
        "{log}"
    );
}
