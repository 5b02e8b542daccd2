//! Tests lists of users that are too long or too slow for the conformance suite, on each engine.

use super::changes::insert;
use crate::{
    search_key::search_words,
    store::{
        FileClock, UsageKind, UserFilter,
        tables::TABLES,
        user_store::{open, open_beside},
    },
    user::{User, UserRecord},
};
use rolegate_proto::Role;
use rolegate_sql_store::{Database, DatabaseUrl, Store as _};

pub(super) async fn on_postgres() -> (postgres_cluster::Database, DatabaseUrl) {
    let database = postgres_cluster::Database::create().await;
    let url = Some(database.url().as_str().into());
    (
        database,
        DatabaseUrl::required("DATABASE_URL", url, None).expect("a URL"),
    )
}

fn search(text: &str, limit: i64) -> UserFilter {
    UserFilter {
        search: search_words(text),
        limit,
        ..UserFilter::default()
    }
}

pub(super) async fn run(database: &Database, sql: &'static str) -> usize {
    database
        .write::<i64>(database.statement(sql))
        .await
        .expect("written")
        .len()
}

/// Inserts more users than one call gives search keys, as a release would that does not know the keys.
const FILL: &str = r#"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
    INSERT INTO "user" (username, password) SELECT 'Üser ' || i, '-' FROM n RETURNING id"#;

async fn write_search_keys_in_steps(url: &DatabaseUrl) {
    let store = open(url).await.expect("opened");
    let database = url.open(&TABLES, FileClock::Unused).await.expect("opened");
    assert_eq!(run(&database, FILL).await, 12_000);
    let mut steps = 1;
    while !store.write_search_keys().await.expect("written") {
        steps += 1;
        assert!(steps < 10, "no step makes progress");
    }
    assert!(steps > 1, "one step writes all keys");
    let last = search("user 12000", 10);
    let found = store.list(&last).await.expect("read");
    assert_eq!(found.len(), 1);
    assert_eq!(
        store.count(&search("user", 10)).await.expect("read"),
        12_000
    );

    let rename = r#"UPDATE "user" SET username = 'Zoë' WHERE username = 'Üser 12000' RETURNING id"#;
    assert_eq!(run(&database, rename).await, 1);
    assert!(store.write_search_keys().await.expect("written"));
    let renamed = store.list(&search("zoe", 10)).await.expect("read");
    assert_eq!(
        renamed[0].user,
        User {
            username: "Zoë".to_owned(),
            ..found[0].user.clone()
        }
    );
    assert!(store.list(&last).await.expect("read").is_empty());
    store.close().await;
}

#[tokio::test]
async fn search_keys_are_written_in_steps_and_follow_older_releases_on_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("users.db");
    write_search_keys_in_steps(&DatabaseUrl::from_file("DATABASE_URL", file)).await;
}

#[tokio::test]
async fn search_keys_are_written_in_steps_and_follow_older_releases_on_postgres() {
    let (_database, url) = on_postgres().await;
    write_search_keys_in_steps(&url).await;
}

#[tokio::test]
async fn replicas_that_write_search_keys_at_the_same_time_do_not_disturb_each_other() {
    let (_database, url) = on_postgres().await;
    let database = url.open(&TABLES, FileClock::Unused).await.expect("opened");
    run(&database, FILL).await;
    let replicas = [
        open(&url).await.expect("opened"),
        open(&url).await.expect("opened"),
    ];
    let [one, other] = &replicas;
    for _ in 0..4 {
        let (first, second) = tokio::join!(one.write_search_keys(), other.write_search_keys());
        first.expect("written");
        second.expect("written");
    }
    assert!(one.write_search_keys().await.expect("written"));
    for replica in replicas {
        replica.close().await;
    }
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
    assert!(store.write_search_keys().await.expect("written"));
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
