use super::{NewUser, SELECT, TABLES, UserFilter, list_query, open};
use crate::{
    api_key::ApiKey,
    store::{BatchedReads, Credentials, NewApiKey},
};
use rolegate_proto::Role;
use rolegate_sql_store::{Database, DatabaseUrl, StoreError};

/// The query plan, one step per line.
async fn plan(database: &Database, filter: &UserFilter) -> String {
    let explain = database.statement("EXPLAIN QUERY PLAN ").push(SELECT);
    let steps = database.read::<(i64, i64, i64, String)>(list_query(explain, filter)).await;
    steps.expect("explained").into_iter().map(|(.., step)| step).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn page_is_read_from_an_index_and_never_sorted() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = DatabaseUrl::from_file("DATABASE_URL", folder.path().join("users.db"));
    let store = url.open(&TABLES).await.expect("opened");
    let all = UserFilter { after: 5, limit: 51, ..UserFilter::default() };
    let by_id = "SEARCH user USING INTEGER PRIMARY KEY (rowid>?)";
    assert_eq!(plan(&store, &all).await, by_id);
    let authors = UserFilter { role: Some(Role::Author), ..all.clone() };
    let by_role = "SEARCH user USING INDEX user_role_idx (role=? AND rowid>?)";
    assert_eq!(plan(&store, &authors).await, by_role);
    for prefix in ["a", "a%_'\"", "\u{10ffff}"] {
        for role in [None, Some(Role::Author)] {
            let filter = UserFilter { username_prefix: prefix.into(), role, ..all.clone() };
            let plan = plan(&store, &filter).await;
            assert!(plan.starts_with("SEARCH user") && !plan.contains("SCAN"), "{plan}");
        }
    }
}

/// Uses the key twice, the second time before the first, and reads it after the store was closed.
async fn use_a_key(url: &DatabaseUrl) {
    let store = open(url).await.expect("opened");
    let new = NewUser { username: "ann".into(), password_hash: "hash".into(), role: Role::User };
    let user_id = store.insert(None, new).await.expect("inserted").id;
    let key = |digest: &str| NewApiKey {
        user_id,
        name: "export".to_owned(),
        prefix: "rgk_abcd".to_owned(),
        digest: digest.to_owned(),
        role: None,
        created_at: 7,
        expires_at: None,
    };
    let used = store.insert_key(key("one")).await.expect("inserted").id;
    store.insert_key(key("two")).await.expect("inserted");
    for at in [20, 10] {
        store.note_key_use(used, at);
        store.note_key_use(999, at);
    }
    let last_used = |keys: Vec<ApiKey>| keys.into_iter().map(|key| key.last_used_at).collect();
    let read: Vec<_> = last_used(store.keys_of_user(user_id).await.expect("read"));
    assert_eq!(read, [None, None], "nothing is written when a key is used");
    store.close().await;
    for at in [15, 30] {
        let store = open(url).await.expect("opened");
        let read: Vec<_> = last_used(store.keys_of_user(user_id).await.expect("read"));
        assert_eq!(read, [Some(20), None]);
        store.note_key_use(used, at);
        store.close().await;
    }
    let store = open(url).await.expect("opened");
    let read: Vec<_> = last_used(store.keys_of_user(user_id).await.expect("read"));
    assert_eq!(read, [Some(30), None]);
    store.close().await;
}

#[tokio::test]
async fn uses_of_keys_are_written_together_at_last_by_close_on_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    use_a_key(&DatabaseUrl::from_file("DATABASE_URL", folder.path().join("users.db"))).await;
}

#[tokio::test]
async fn uses_of_keys_are_written_together_at_last_by_close_on_postgres() {
    let database = postgres_cluster::Database::create().await;
    let url = Some(database.url().as_str().into());
    use_a_key(&DatabaseUrl::required("DATABASE_URL", url, None).expect("a URL")).await;
}

/// Reads a name with NUL together with others, which must not fail with it. Returns its outcome.
async fn read_names_together(url: &DatabaseUrl) -> Result<Option<Credentials>, StoreError> {
    let store = open(url).await.expect("opened");
    let new = NewUser { username: "ann".into(), password_hash: "hash".into(), role: Role::User };
    store.insert(None, new).await.expect("inserted");
    let reads = BatchedReads::new(&store);
    let read = |name: &str| reads.credentials(name.to_owned());
    let (bob, ann, with_nul, again) =
        tokio::join!(read("bob"), read("ann"), read("a\0b"), read("ann"));
    let is_found = [bob, ann, again].map(|read| read.expect("read").is_some());
    assert_eq!(is_found, [false, true, true]);
    store.close().await;
    with_nul
}

#[tokio::test]
async fn a_name_with_nul_is_unknown_on_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = DatabaseUrl::from_file("DATABASE_URL", folder.path().join("users.db"));
    assert!(read_names_together(&url).await.expect("read").is_none());
}

#[tokio::test]
async fn a_name_with_nul_fails_only_its_own_read_on_postgres() {
    let database = postgres_cluster::Database::create().await;
    let url = Some(database.url().as_str().into());
    let url = DatabaseUrl::required("DATABASE_URL", url, None).expect("a URL");
    assert!(read_names_together(&url).await.is_err());
}

/// A process of an older version knows neither the table nor its rows.
#[tokio::test]
async fn a_user_deleted_with_the_statement_of_an_older_process_leaves_no_keys() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = DatabaseUrl::from_file("DATABASE_URL", folder.path().join("users.db"));
    let database = url.open(&TABLES).await.expect("opened");
    for sql in [
        r#"INSERT INTO "user" (id, username, password) VALUES (2, 'ann', 'hash') RETURNING id"#,
        "INSERT INTO api_key (user_id, name, prefix, digest, created_at)
            VALUES (2, 'export', 'rgk_abcd', 'one', 7) RETURNING id",
        r#"DELETE FROM "user" WHERE id = 2 RETURNING id"#,
    ] {
        database.write::<(i64,)>(database.statement(sql)).await.expect("written");
    }
    let count = database.statement("SELECT count(*) FROM api_key");
    assert_eq!(database.read::<(i64,)>(count).await.expect("read"), [(0,)]);
}
