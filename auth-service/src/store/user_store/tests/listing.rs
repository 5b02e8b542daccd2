//! Tests lists of users that are too long or too slow for the conformance suite, on each engine.

use super::changes::insert;
use crate::{
    store::{
        FileClock, StoreError, UsageKind, UserFilter,
        tables::TABLES,
        user_store::{open, open_beside},
    },
    user::UserRecord,
};
use rolegate_proto::Role;
use rolegate_sql_store::{Database, DatabaseUrl, Store as _};
use std::time::{Duration, Instant};

async fn on_postgres() -> (postgres_cluster::Database, DatabaseUrl) {
    let database = postgres_cluster::Database::create().await;
    let url = Some(database.url().as_str().into());
    (
        database,
        DatabaseUrl::required("DATABASE_URL", url, None).expect("a URL"),
    )
}

fn search(text: &str, limit: i64) -> UserFilter {
    UserFilter {
        search: text.to_owned(),
        limit,
        ..UserFilter::default()
    }
}

async fn run(database: &Database, sql: &'static str) -> usize {
    database
        .write::<i64>(database.statement(sql))
        .await
        .expect("written")
        .len()
}

/// Inserts so many users that a search needs several statements, with gaps between their ids.
const FILL: &str = r#"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120000)
    INSERT INTO "user" (id, username, password) SELECT i * 3, 'User ' || i, '-' FROM n RETURNING id"#;

async fn search_page_by_page(url: &DatabaseUrl) {
    let store = open(url).await.expect("opened");
    let database = url.open(&TABLES, FileClock::Unused).await.expect("opened");
    assert_eq!(run(&database, FILL).await, 120_000);
    for (text, limit) in [
        ("5000", 7),
        ("user 1199", 200),
        ("000", 1000),
        ("nowhere", 5),
    ] {
        let digits = text.trim_start_matches("user ");
        let is_found = |i: &i64| format!("user {i}").contains(text);
        let expected: Vec<i64> = (1..=120_000).filter(is_found).map(|i| i * 3).collect();
        let (mut filter, mut found) = (search(text, limit), Vec::new());
        loop {
            let page = store.list(&filter).await.expect("found");
            found.extend(page.iter().map(|listed| listed.user.id));
            if i64::try_from(page.len()).expect("a page") < limit {
                break;
            }
            filter.after = found[found.len() - 1];
        }
        assert_eq!(found, expected, "{digits}");
    }
    store.close().await;
}

#[tokio::test]
async fn a_search_of_many_steps_finds_each_user_once_on_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("users.db");
    search_page_by_page(&DatabaseUrl::from_file("DATABASE_URL", file)).await;
}

#[tokio::test]
async fn a_search_of_many_steps_finds_each_user_once_on_postgres() {
    let (_database, url) = on_postgres().await;
    search_page_by_page(&url).await;
}

#[tokio::test]
async fn a_search_of_many_slow_steps_ends_at_the_deadline_of_one_statement() {
    let (_database, url) = on_postgres().await;
    let store = open(&url).await.expect("opened");
    let database = url.open(&TABLES, FileClock::Unused).await.expect("opened");
    // Each statement is slow, but ends before its own deadline.
    run(&database, r#"ALTER TABLE "user" RENAME TO renamed"#).await;
    let slow = r#"CREATE VIEW "user" AS SELECT id::bigint, 'u' || id AS username, 'user'::text AS role,
            0::bigint AS tokens_not_before, false AS disabled, 0::bigint AS tokens_marked_until, false AS second_factor,
            NULL::bigint AS created_at, NULL::bigint AS last_login_at, NULL::bigint AS until
        FROM generate_series(1, 400000) AS id, (SELECT pg_sleep(0.5)) AS slow"#;
    run(&database, slow).await;
    let started = Instant::now();
    let outcome = store.list(&search("nowhere", 51)).await;
    assert!(matches!(outcome, Err(StoreError::TimedOut)), "{outcome:?}");
    assert!(
        started.elapsed() < Duration::from_secs(4),
        "{:?}",
        started.elapsed()
    );
    store.close().await;
}

async fn create_users(url: &DatabaseUrl) {
    let store = open(url).await.expect("opened");
    let database = url.open(&TABLES, FileClock::Unused).await.expect("opened");
    let of_before = r#"INSERT INTO "user" (username, password, role) VALUES ('old', '-', 'user')
        RETURNING id"#;
    assert_eq!(run(&database, of_before).await, 1);
    let started = store.users_by_id(&[], &[]).await.expect("read").at;
    insert(&store, "new").await;
    let (_, operator_database) = open_beside(url, FileClock::Keep).await.expect("opened");
    let record = |id, username: &str| UserRecord {
        id,
        username: username.into(),
        password_hash: "-".into(),
        role: Role::USER,
        disabled: false,
        tokens_not_before: 0,
        tokens_marked_until: 0,
        created_at: started.try_into().ok(),
        until: None,
        memberships: Vec::new(),
    };
    let mut import = operator_database.import().await.expect("begun");
    let records = vec![record(Some(900), "given id"), record(None, "assigned id")];
    import.insert(records).await.expect("imported");
    import.commit().await.expect("imported");
    let ended = store.users_by_id(&[], &[]).await.expect("read").at;
    let listed = store
        .list(&UserFilter {
            limit: 10,
            ..UserFilter::default()
        })
        .await;
    let listed = listed.expect("read");
    let names: Vec<_> = listed.iter().map(|listed| &*listed.user.username).collect();
    assert_eq!(names, ["old", "new", "given id", "assigned id"]);
    assert_eq!(listed[0].user.created_at, None);
    for new in &listed[1..] {
        let created_at = new.user.created_at.expect("kept");
        assert!(
            (started..=ended).contains(&created_at),
            "{started} {created_at} {ended}"
        );
    }
    store.note_use(UsageKind::Password, listed[0].user.id, ended);
    store.close().await;
    let store = open(url).await.expect("opened");
    let listed = store
        .list(&search("OLD", 10))
        .await
        .expect("read")
        .remove(0);
    assert_eq!(
        (listed.user.created_at, listed.last_login_at),
        (None, Some(ended))
    );
    store.close().await;
}

#[tokio::test]
async fn all_but_users_of_programs_of_before_have_the_time_of_their_creation_on_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("users.db");
    create_users(&DatabaseUrl::from_file("DATABASE_URL", file)).await;
}

#[tokio::test]
async fn all_but_users_of_programs_of_before_have_the_time_of_their_creation_on_postgres() {
    let (_database, url) = on_postgres().await;
    create_users(&url).await;
}
