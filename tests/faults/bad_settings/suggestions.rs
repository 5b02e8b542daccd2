//! Tests what the error about a setting suggests.

use super::{AuthService, Gateway, PostsService, Rolegate, expect_rejected, good};
use e2e::{Store, TestDatabase};

#[tokio::test]
async fn error_suggests_a_valid_value_of_its_setting() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    for (program, variable, right) in [
        (
            AuthService,
            "AUTH_LISTEN_ADDR",
            "127.0.0.1:50051, or a network and port such as 10.0.0.0/8:50051",
        ),
        (AuthService, "OPS_LISTEN_ADDR", "127.0.0.1:9001"),
        (
            PostsService,
            "POSTS_LISTEN_ADDR",
            "127.0.0.1:50052, or a network and port such as 10.0.0.0/8:50052",
        ),
        (PostsService, "OPS_LISTEN_ADDR", "127.0.0.1:9002"),
        (
            PostsService,
            "AUTH_SERVICE_URL",
            "http://auth-service:50051",
        ),
        (Gateway, "BASIC_LISTEN_ADDR", "127.0.0.1:8001, or off"),
        (
            Gateway,
            "FORWARD_AUTH_LISTEN_ADDR",
            "127.0.0.1:8002, or off",
        ),
        (Gateway, "OPS_LISTEN_ADDR", "127.0.0.1:9000"),
        (Gateway, "AUTH_SERVICE_URL", "http://auth-service:50051"),
        (Gateway, "POSTS_SERVICE_URL", "http://posts-service:50052"),
        (Rolegate, "POSTS_LISTEN_ADDR", "127.0.0.1:50052, or off"),
    ] {
        let mut settings = good(program, &database);
        settings.insert(variable.to_owned(), "hunter2".to_owned());
        let line = expect_rejected(program, &settings, folder.path(), variable).await;
        assert!(line.ends_with(&format!("such as {right}\n")), "{line}");
    }
}
