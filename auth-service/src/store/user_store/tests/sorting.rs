//! Tests the orders and filters of lists of users, on each engine.

use super::listing::{on_postgres, run};
use crate::{
    search_key::search_words,
    store::{
        FileClock, RoleFilter, UserCursor, UserFilter, UserOrder,
        tables::TABLES,
        user_store::{UserStore, open},
    },
};
use rolegate_proto::Role;
use rolegate_sql_store::{DatabaseUrl, Store as _};

/// Users with all that lists are sorted and filtered by. The account of `gus` has ended.
const PEOPLE: [&str; 5] = [
    r#"INSERT INTO "user" (id, username, password, role, last_login_at, until, second_factor) VALUES
        (11, 'bob', '$2b$', 'author', 30, 4000000200, false), (12, 'Ann', '!', 'user', NULL, NULL, false),
        (13, 'ärger', '$2b$', 'user', 10, 4000000100, false), (14, 'ANN', 'otp:$2b$', 'user', 30, NULL, true),
        (15, 'gus', 'otp:!', 'user', NULL, 100, true) RETURNING id"#,
    r#"INSERT INTO "group" (name) VALUES ('staff') RETURNING id"#,
    "INSERT INTO membership (user_id, group_name, until) VALUES
        (11, 'staff', NULL), (12, 'staff', 4000000000), (13, 'staff', 100) RETURNING user_id",
    "INSERT INTO api_key (user_id, name, prefix, digest, role, created_at)
        VALUES (12, 'key', 'rgk_', 'digest', 'author', 1) RETURNING id",
    r#"UPDATE "user" SET disabled = true WHERE username = 'bob' RETURNING id"#,
];

/// Returns the names on all pages of two users, each read from the position of the page before.
async fn names_on_pages(store: &UserStore, filter: &UserFilter) -> Vec<String> {
    let mut filter = UserFilter {
        limit: 2,
        ..filter.clone()
    };
    let mut found = Vec::new();
    loop {
        let page = store.list(&filter).await.expect("read");
        let Some(last) = page.last() else {
            return found;
        };
        assert!(found.len() < 100, "the pages do not end");
        filter.after = Some(UserCursor::of_user(last, filter.order));
        found.extend(page.into_iter().map(|listed| listed.user.username));
    }
}

async fn sort_and_filter(url: &DatabaseUrl) {
    let store = open(url).await.expect("opened");
    let database = url.open(&TABLES, FileClock::Unused).await.expect("opened");
    for insert in PEOPLE {
        assert!(run(&database, insert).await > 0);
    }
    assert!(store.write_search_keys().await.expect("written"));
    for (order, expected) in [
        (UserOrder::Id, ["bob", "Ann", "ärger", "ANN", "gus"]),
        (UserOrder::Username, ["Ann", "ANN", "ärger", "bob", "gus"]),
        (UserOrder::LastLogin, ["Ann", "gus", "ärger", "bob", "ANN"]),
        (UserOrder::Until, ["gus", "ärger", "bob", "Ann", "ANN"]),
    ] {
        for not_since in [None, Some(1000)] {
            for descending in [false, true] {
                let filter = UserFilter {
                    order,
                    descending,
                    not_since,
                    ..UserFilter::default()
                };
                let mut expected = expected;
                if descending {
                    expected.reverse();
                }
                let found = names_on_pages(&store, &filter).await;
                assert_eq!(found, expected, "{filter:?}");
            }
        }
    }
    let everybody = UserFilter::default();
    let author = Role::AUTHOR;
    for (filter, expected) in [
        (
            UserFilter {
                second_factor: Some(true),
                ..everybody.clone()
            },
            &["ANN", "gus"][..],
        ),
        (
            UserFilter {
                second_factor: Some(false),
                ..everybody.clone()
            },
            &["bob", "Ann", "ärger"],
        ),
        (
            UserFilter {
                has_password: Some(true),
                ..everybody.clone()
            },
            &["bob", "ärger", "ANN"],
        ),
        (
            UserFilter {
                has_password: Some(false),
                ..everybody.clone()
            },
            &["Ann", "gus"],
        ),
        (
            UserFilter {
                disabled: Some(true),
                ..everybody.clone()
            },
            &["bob", "gus"],
        ),
        (
            UserFilter {
                group: Some("staff".parse().expect("a name")),
                ..everybody.clone()
            },
            &["bob", "Ann"],
        ),
        (
            UserFilter {
                group: Some("other".parse().expect("a name")),
                ..everybody.clone()
            },
            &[],
        ),
        (
            UserFilter {
                not_since: Some(30),
                ..everybody.clone()
            },
            &["Ann", "ärger", "gus"],
        ),
        (
            UserFilter {
                not_since: Some(31),
                ..everybody.clone()
            },
            &["bob", "Ann", "ärger", "ANN", "gus"],
        ),
        (
            UserFilter {
                not_since: Some(0),
                ..everybody.clone()
            },
            &["Ann", "gus"],
        ),
        (
            UserFilter {
                ends_before: Some(4_000_000_100),
                ..everybody.clone()
            },
            &["gus"],
        ),
        (
            UserFilter {
                ends_before: Some(4_000_000_101),
                ..everybody.clone()
            },
            &["ärger", "gus"],
        ),
        (
            UserFilter {
                role: Some(RoleFilter::User(author)),
                ..everybody.clone()
            },
            &["bob"],
        ),
        (
            UserFilter {
                role: Some(RoleFilter::UserOrApiKey(author)),
                ..everybody.clone()
            },
            &["bob", "Ann"],
        ),
        (
            UserFilter {
                search: search_words("ann"),
                has_password: Some(false),
                ..everybody.clone()
            },
            &["Ann"],
        ),
        (
            UserFilter {
                username_prefix: "ANN".to_owned(),
                ..everybody.clone()
            },
            &["ANN"],
        ),
        (everybody, &["bob", "Ann", "ärger", "ANN", "gus"]),
    ] {
        assert_eq!(
            names_on_pages(&store, &filter).await,
            expected,
            "{filter:?}"
        );
        let count = store.count(&filter).await.expect("read");
        assert_eq!(usize::try_from(count), Ok(expected.len()), "{filter:?}");
    }
    store.close().await;
}

#[tokio::test]
async fn lists_are_sorted_filtered_and_counted_alike_on_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("users.db");
    sort_and_filter(&DatabaseUrl::from_file("DATABASE_URL", file)).await;
}

#[tokio::test]
async fn lists_are_sorted_filtered_and_counted_alike_on_postgres() {
    let (_database, url) = on_postgres().await;
    sort_and_filter(&url).await;
}

/// Users are written without a key, and may be renamed, at any time. A list leaves out the former, and has the latter at
/// the place of the name before.
async fn sort_while_keys_are_missing(url: &DatabaseUrl) {
    let store = open(url).await.expect("opened");
    let database = url.open(&TABLES, FileClock::Unused).await.expect("opened");
    run(&database, PEOPLE[0]).await;
    assert!(store.write_search_keys().await.expect("written"));
    for sql in [
        r#"INSERT INTO "user" (username, password) VALUES ('zoe', '-') RETURNING id"#,
        r#"UPDATE "user" SET username = 'aaa' WHERE username = 'gus' RETURNING id"#,
        r#"UPDATE "user" SET username = 'yvonne' WHERE username = 'Ann' RETURNING id"#,
    ] {
        assert_eq!(run(&database, sql).await, 1, "{sql}");
    }
    for descending in [false, true] {
        let mut expected = ["yvonne", "ANN", "ärger", "bob", "aaa"];
        if descending {
            expected.reverse();
        }
        let filter = UserFilter {
            order: UserOrder::Username,
            descending,
            ..UserFilter::default()
        };
        assert_eq!(names_on_pages(&store, &filter).await, expected);
        assert_eq!(store.count(&filter).await.expect("read"), 5);
    }
    store.close().await;
}

#[tokio::test]
async fn a_sorted_list_neither_repeats_nor_skips_users_whose_keys_are_outdated_on_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("users.db");
    sort_while_keys_are_missing(&DatabaseUrl::from_file("DATABASE_URL", file)).await;
}

#[tokio::test]
async fn a_sorted_list_neither_repeats_nor_skips_users_whose_keys_are_outdated_on_postgres() {
    let (_database, url) = on_postgres().await;
    sort_while_keys_are_missing(&url).await;
}

/// A page does not move if the users on it change between two pages.
#[tokio::test]
async fn the_next_page_begins_where_the_last_user_of_the_page_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = DatabaseUrl::from_file("DATABASE_URL", folder.path().join("users.db"));
    let store = open(&url).await.expect("opened");
    let database = url.open(&TABLES, FileClock::Unused).await.expect("opened");
    run(&database, PEOPLE[0]).await;
    let mut filter = UserFilter {
        order: UserOrder::LastLogin,
        limit: 3,
        ..UserFilter::default()
    };
    let page = store.list(&filter).await.expect("read");
    assert_eq!(page[2].user.username, "ärger");
    filter.after = Some(UserCursor::of_user(&page[2], filter.order));
    let sign_in = r#"UPDATE "user" SET last_login_at = 99 WHERE id = 13 RETURNING id"#;
    run(&database, sign_in).await;
    let delete = r#"DELETE FROM "user" WHERE id = 12 RETURNING id"#;
    run(&database, delete).await;
    let next = store.list(&filter).await.expect("read");
    let names: Vec<&str> = next.iter().map(|listed| &*listed.user.username).collect();
    assert_eq!(names, ["bob", "ANN", "ärger"]);
    store.close().await;
}
