mod additions;
mod changes;
mod end_all;
mod erasure;
mod listing;
mod pending_sign_ins;
mod record_pages;
mod retention;
mod sealing;
mod sorting;
pub(crate) mod test_store;
mod token_rows;
mod usage_pauses;

use super::{TABLES, UserStore, open, open_beside};
use crate::{
    store::{
        DecisionKey, RoleFilter, SortValue, UsageKind, UserCursor, UserFilter, UserOrder,
        list_query::list_query,
    },
    tokens::{NewToken, OpaqueToken, TokenKind},
    user::Credentials,
};
use changes::{insert, insert_token, revoke_tokens};
use rolegate_proto::Role;
use rolegate_sql_store::{
    BatchLabels, BatchedReads, Database, DatabaseUrl, FileClock, Store as _, StoreError, Timed,
};
use std::time::{SystemTime, UNIX_EPOCH};

#[expect(
    clippy::disallowed_methods,
    reason = "compared with the time of the database"
)]
fn system_time() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

rolegate_sql_store::row! {
    struct PlanStep {
        detail: String,
    }
}

/// The steps that read the memberships of a user.
const MEMBERSHIPS: &str = "
SCALAR SUBQUERY 1
SCAN clock
CORRELATED SCALAR SUBQUERY 3
SEARCH membership USING PRIMARY KEY (user_id=?)
SCALAR SUBQUERY 2
SCAN clock";

/// Returns the query plan, one step per line, without the steps that read memberships. These must be there.
async fn plan(database: &Database, filter: &UserFilter) -> String {
    let explain = list_query(database.statement("EXPLAIN QUERY PLAN SELECT "), filter);
    let steps = database.read::<PlanStep>(explain).await;
    let plan = steps
        .expect("explained")
        .into_iter()
        .map(|step| step.detail)
        .collect::<Vec<_>>()
        .join("\n");
    assert!(
        plan.contains(MEMBERSHIPS),
        "no memberships are read: {plan}"
    );
    plan.replace(MEMBERSHIPS, "")
}

#[tokio::test]
async fn other_orders_are_those_of_an_index_unless_a_filter_would_find_few_users_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = DatabaseUrl::from_file("DATABASE_URL", folder.path().join("users.db"));
    let store = url.open(&TABLES, FileClock::Unused).await.expect("opened");
    let everybody = |order, value| UserFilter {
        order,
        after: Some(UserCursor { id: 5, value }),
        limit: 51,
        ..UserFilter::default()
    };
    let by_name = everybody(UserOrder::Username, SortValue::Text("ada".to_owned()));
    let plan_by_name = plan(&store, &by_name).await;
    let range = "SEARCH user USING INDEX user_search_key_idx (search_key>?)";
    assert_eq!(plan_by_name, range);
    let by_end = everybody(UserOrder::Until, SortValue::Seconds(7));
    let plan_by_end = plan(&store, &by_end).await;
    assert_eq!(plan_by_end, "SCAN user USING INDEX user_until_idx");
    for filter in [by_name, by_end] {
        let admins = UserFilter {
            has_password: Some(false),
            ..filter
        };
        let plan = plan(&store, &admins).await;
        let steps = "SCAN user\nUSE TEMP B-TREE FOR ORDER BY";
        assert!(
            plan.contains(steps) && !plan.contains("INDEX user_"),
            "{plan}"
        );
    }
}

#[tokio::test]
async fn page_is_read_from_an_index_and_never_sorted() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = DatabaseUrl::from_file("DATABASE_URL", folder.path().join("users.db"));
    let store = url.open(&TABLES, FileClock::Unused).await.expect("opened");
    let all = UserFilter {
        after: Some(UserCursor::at_id(5)),
        limit: 51,
        ..UserFilter::default()
    };
    let by_id = "SEARCH user USING INTEGER PRIMARY KEY (rowid>?)";
    assert_eq!(plan(&store, &all).await, by_id);
    let authors = UserFilter {
        role: Some(RoleFilter::User(Role::AUTHOR)),
        ..all.clone()
    };
    let by_role = "SEARCH user USING INDEX user_role_idx (role=? AND rowid>?)";
    assert_eq!(plan(&store, &authors).await, by_role);
    for prefix in ["a", "a%_'\"", "\u{10ffff}"] {
        for role in [None, Some(RoleFilter::User(Role::AUTHOR))] {
            let filter = UserFilter {
                username_prefix: prefix.into(),
                role,
                ..all.clone()
            };
            let plan = plan(&store, &filter).await;
            assert!(
                plan.starts_with("SEARCH user") && !plan.contains("SCAN"),
                "{plan}"
            );
        }
    }
}

/// Stores two uses of a key and two of a password, each time the later use first. Then closes and reopens the store,
/// and checks that the later times were kept.
async fn use_a_key_and_a_password(url: &DatabaseUrl) {
    let store = open(url).await.expect("opened");
    let user_id = insert(&store, "ann").await.id;
    let used = insert_token(&store, NewToken::key(user_id, "used")).await;
    insert_token(&store, NewToken::key(user_id, "unused")).await;
    for at in [20, 10] {
        store.note_use(UsageKind::Token, used, at);
        store.note_use(UsageKind::Token, 999, at);
        store.note_use(UsageKind::Password, user_id, at);
        store.note_use(UsageKind::Password, 999, at);
    }
    let last_used = async |store: &UserStore| {
        let keys = store
            .tokens_of_user(TokenKind::ApiKey, user_id)
            .await
            .expect("read")
            .value;
        keys.into_iter()
            .map(|key: OpaqueToken| key.last_used_at)
            .collect::<Vec<_>>()
    };
    let last_logins = async |store: &UserStore| {
        let listed = store
            .list(&UserFilter {
                limit: 10,
                ..UserFilter::default()
            })
            .await;
        listed
            .expect("read")
            .into_iter()
            .map(|listed| listed.last_login_at)
            .collect::<Vec<_>>()
    };
    let read = last_used(&store).await;
    assert_eq!(read, [None, None], "nothing is written when a key is used");
    assert_eq!(last_logins(&store).await, [None], "or a password");
    store.close().await;
    for at in [15, 30] {
        let store = open(url).await.expect("opened");
        let read = last_used(&store).await;
        assert_eq!(read, [Some(20), None]);
        assert_eq!(last_logins(&store).await, [Some(20)]);
        store.note_use(UsageKind::Token, used, at);
        store.note_use(UsageKind::Password, user_id, at);
        store.close().await;
    }
    let store = open(url).await.expect("opened");
    let read = last_used(&store).await;
    assert_eq!(read, [Some(30), None]);
    assert_eq!(last_logins(&store).await, [Some(30)]);
    store.close().await;
}

#[tokio::test]
async fn uses_of_keys_and_passwords_are_written_together_at_last_by_close_on_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("users.db");
    use_a_key_and_a_password(&DatabaseUrl::from_file("DATABASE_URL", file)).await;
}

#[tokio::test]
async fn uses_of_keys_and_passwords_are_written_together_at_last_by_close_on_postgres() {
    let database = postgres_cluster::Database::create().await;
    let url = Some(database.url().as_str().into());
    let url = DatabaseUrl::required("DATABASE_URL", url, None).expect("a URL");
    use_a_key_and_a_password(&url).await;
}

/// Reads a name that contains NUL together with other names, and checks that the other reads succeed. Returns the
/// result for the name with NUL.
async fn read_names_together(url: &DatabaseUrl) -> Result<Timed<Option<Credentials>>, StoreError> {
    let store = open(url).await.expect("opened");
    insert(&store, "ann").await;
    let labels = BatchLabels {
        store: "users",
        key: "username",
    };
    let reads = BatchedReads::<UserStore, DecisionKey<String>, Credentials>::new(
        labels,
        &store,
        |store, keys| {
            Box::pin(async move {
                let names: Vec<String> = keys.iter().map(|key| key.key.clone()).collect();
                store.credentials_by_username(&names, &[]).await
            })
        },
        |found| found.user.username.clone(),
    );
    let read = |name: &str| reads.get(name.to_owned());
    let (bob, ann, with_nul, again) =
        tokio::join!(read("bob"), read("ann"), read("a\0b"), read("ann"));
    let is_found = [bob, ann, again].map(|read| read.expect("read").value.is_some());
    assert_eq!(is_found, [false, true, true]);
    store.close().await;
    with_nul
}

#[tokio::test]
async fn a_name_with_nul_is_unknown_on_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = DatabaseUrl::from_file("DATABASE_URL", folder.path().join("users.db"));
    assert!(
        read_names_together(&url)
            .await
            .expect("read")
            .value
            .is_none()
    );
}

#[tokio::test]
async fn a_name_with_nul_fails_only_its_own_read_on_postgres() {
    let database = postgres_cluster::Database::create().await;
    let url = Some(database.url().as_str().into());
    let url = DatabaseUrl::required("DATABASE_URL", url, None).expect("a URL");
    assert!(read_names_together(&url).await.is_err());
}

/// Deletes a user by the statement of an older release, which does not know the table of API keys. So the schema itself
/// must delete the keys.
#[tokio::test]
async fn a_user_deleted_with_the_statement_of_an_older_process_leaves_no_keys() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = DatabaseUrl::from_file("DATABASE_URL", folder.path().join("users.db"));
    let database = url.open(&TABLES, FileClock::Unused).await.expect("opened");
    for sql in [
        r#"INSERT INTO "user" (id, username, password) VALUES (2, 'ann', 'hash') RETURNING id"#,
        "INSERT INTO api_key (user_id, name, prefix, digest, created_at)
            VALUES (2, 'export', 'rgk_abcd', 'one', 7) RETURNING id",
        r#"DELETE FROM "user" WHERE id = 2 RETURNING id"#,
    ] {
        database
            .write::<i64>(database.statement(sql))
            .await
            .expect("written");
    }
    let count = database.statement("SELECT count(*) FROM api_key");
    assert_eq!(database.read::<i64>(count).await.expect("read"), [0]);
}

const HOUR: u64 = 3600;

/// Returns the time by which the clock of a store is ahead of the clock of the system, in seconds.
async fn ahead(store: &UserStore) -> u64 {
    let at = store.users_by_id(&[], &[]).await.expect("read").at;
    // The result is rounded, because the test takes some seconds.
    (at + 60).saturating_sub(system_time()) / 600 * 600
}

#[tokio::test]
async fn the_clock_of_a_file_never_goes_back_and_only_a_service_advances_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = DatabaseUrl::from_file("DATABASE_URL", folder.path().join("users.db"));
    let running = open(&url).await.expect("opened");
    assert_eq!(ahead(&running).await, 0);
    let database = url.open(&TABLES, FileClock::Unused).await.expect("opened");
    let set = async |sql| {
        database
            .write::<i64>(database.statement(sql))
            .await
            .expect("set")
    };
    let opened = async |is_service| {
        let store = if is_service {
            open(&url).await
        } else {
            open_beside(&url, FileClock::Keep).await.map(|it| it.0)
        };
        ahead(&store.expect("opened")).await
    };

    // The clock of the system has stepped back by an hour since the service started.
    set("UPDATE clock SET zero = zero + 3600000 RETURNING id").await;
    assert_eq!([opened(false).await, opened(true).await], [HOUR, HOUR]);
    // The machine was booted again, and its clock is two hours behind the latest time that the file has stored.
    set("UPDATE clock SET boot = 'x', zero = 0,
        latest = (unixepoch() + 7200) * 1000 RETURNING id")
    .await;
    assert_eq!(
        [opened(false).await, opened(true).await],
        [2 * HOUR, 2 * HOUR]
    );
    // The clock of the system has stepped forward by an hour. A command beside the service keeps the time of the
    // service.
    set("UPDATE clock SET zero = zero - 10800000, latest = 0 RETURNING id").await;
    let (beside, _) = open_beside(&url, FileClock::Keep).await.expect("opened");
    let at = beside.users_by_id(&[], &[]).await.expect("read").at;
    assert!(at.abs_diff(system_time() - HOUR) < 60, "{at}");
    assert_eq!(opened(true).await, 0);
    // Both stores use the current clock of the file when they write, although it has changed since they read it.
    set("UPDATE clock SET zero = zero + 3600000 RETURNING id").await;
    let id = insert(&running, "ann").await.id;
    for store in [running, beside] {
        let stored = revoke_tokens(&store, id).await.tokens_not_before;
        assert!(stored.abs_diff(system_time() + HOUR) < 60, "{stored}");
    }
    // After a read of the time, the store writes a later time to the file, from which the clock continues after the
    // next boot.
    let patience = std::time::Instant::now() + std::time::Duration::from_mins(1);
    let store = open(&url).await.expect("opened");
    loop {
        let at = store.users_by_id(&[], &[]).await.expect("read").at;
        let latest = database.statement("SELECT latest / 1000 FROM clock");
        let latest = database.read::<i64>(latest).await.expect("read")[0];
        if latest > i64::try_from(at).expect("a time") {
            break;
        }
        assert!(
            std::time::Instant::now() < patience,
            "{latest} is before {at}"
        );
        tokio::task::yield_now().await;
    }
    let forgotten = set("DELETE FROM clock RETURNING id").await;
    assert_eq!(forgotten, [1]);
    assert_eq!(opened(true).await, 0, "as the operator asked");
}

#[tokio::test]
async fn health_checks_do_not_write_the_clock_of_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = DatabaseUrl::from_file("DATABASE_URL", folder.path().join("users.db"));
    let store = open(&url).await.expect("opened");
    let database = url.open(&TABLES, FileClock::Unused).await.expect("opened");
    // There is only one connection for writes, so a write that began earlier has finished before this one.
    let latest = async |username: &str| {
        insert(&store, username).await;
        let latest = database.statement("SELECT latest FROM clock");
        database.read::<i64>(latest).await.expect("read")[0]
    };
    for _ in 0..100 {
        store.ping().await.expect("read");
    }
    assert_eq!([latest("ann").await, latest("bob").await], [0, 0]);
    store.users_by_id(&[], &[]).await.expect("read");
    latest("carl").await;
    assert!(latest("dan").await > 0, "it was due");
}
