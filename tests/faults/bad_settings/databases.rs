//! Databases that cannot be meant.

use super::{AllInOne, AuthService, PostsService, expect_each_refused, expect_refusal, good};
use e2e::{Store, TestDatabase};

#[tokio::test]
async fn a_database_that_cannot_be_meant_is_refused() {
    let owners = &[AuthService, AllInOne][..];
    expect_each_refused(&[
        (owners, "DATABASE_URL", ""),
        (owners, "DATABASE_URL", "hunter2"),
        (owners, "DATABASE_URL", "mysql://root:hunter2@localhost/users"),
        (owners, "DATABASE_URL", "postgres:/hunter2@localhost/users"),
        (owners, "DATABASE_URL", "POSTGRES://root:hunter2@localhost/users"),
        (owners, "DATABASE_URL", "postgres://root:hunter2@localhost:port/users"),
        (owners, "DATABASE_URL", "sqlite::memory:"),
        (owners, "DATABASE_URL", "sqlite://"),
        (owners, "DATABASE_URL", "sqlite://users.db?mode=memory"),
        (owners, "DATABASE_URL", "/var/lib/users.db"),
        (&[PostsService], "DATABASE_URL", ""),
        (&[PostsService], "DATABASE_URL", "mysql://root:hunter2@localhost/posts"),
        (&[AllInOne], "POSTS_DATABASE_URL", ""),
        (&[AllInOne], "POSTS_DATABASE_URL", "hunter2"),
    ])
    .await;
}

#[tokio::test]
async fn posts_service_asks_for_its_database_and_for_one_source_of_it() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = good(PostsService, &database);
    settings.insert("DATABASE_URL_FILE".to_owned(), "/nowhere/at/all".to_owned());
    expect_refusal(PostsService, &settings, folder.path(), "DATABASE_URL").await;
    settings.remove("DATABASE_URL");
    expect_refusal(PostsService, &settings, folder.path(), "DATABASE_URL_FILE").await;
    settings.remove("DATABASE_URL_FILE");
    expect_refusal(PostsService, &settings, folder.path(), "DATABASE_URL").await;
    let mut settings = good(AllInOne, &database);
    settings.insert("POSTS_DATABASE_URL_FILE".to_owned(), "/nowhere/at/all".to_owned());
    expect_refusal(AllInOne, &settings, folder.path(), "POSTS_DATABASE_URL_FILE").await;
}
