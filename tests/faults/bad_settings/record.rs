//! Checks that programs refuse invalid settings of the record, and of the programs that follow the changes of users.

use super::{AuthService, PostsService, Rolegate, expect_each_refused};

#[tokio::test]
async fn invalid_retention_of_the_record_is_rejected() {
    let owners = &[AuthService, Rolegate][..];
    expect_each_refused(&[
        (owners, "AUDIT_RETENTION_DAYS", "0"),
        (owners, "AUDIT_RETENTION_DAYS", "36501"),
        (owners, "AUDIT_RETENTION_DAYS", "-1"),
        (owners, "AUDIT_RETENTION_DAYS", "x"),
        (owners, "AUDIT_RETENTION_DAYS", "90days"),
    ])
    .await;
}

#[tokio::test]
async fn invalid_name_of_a_certificate_is_rejected() {
    let owners = &[AuthService, Rolegate][..];
    expect_each_refused(&[
        (owners, "USER_CHANGES_CERTIFICATES", "orders service"),
        (owners, "USER_CHANGES_CERTIFICATES", "orders, posts"),
        (owners, "USER_CHANGES_CERTIFICATES", "orders,,posts"),
        (owners, "USER_CHANGES_CERTIFICATES", "orders,"),
        (owners, "USER_CHANGES_CERTIFICATES", "*.internal"),
    ])
    .await;
}

#[tokio::test]
async fn invalid_setting_of_who_follows_the_changes_of_users_is_rejected() {
    let owners = &[PostsService, Rolegate][..];
    expect_each_refused(&[
        (owners, "POSTS_OF_DELETED_USERS", "Delete"),
        (owners, "POSTS_OF_DELETED_USERS", "true"),
        (owners, "POSTS_OF_DELETED_USERS", "hunter2"),
        (&[PostsService], "USER_CHANGES_KEY", "hunter2"),
        (&[PostsService], "USER_CHANGES_KEY_FILE", "/nowhere/at/all"),
    ])
    .await;
}
