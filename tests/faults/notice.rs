//! Tests what programs print on stdout when they start to serve.

use e2e::{Process, Program, Store, TestDatabase, TestSetup};
use serde_json::Value;
use std::collections::BTreeMap;

async fn notice(program: Program, settings: &BTreeMap<String, String>) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    Process::start(program, settings, folder.path())
        .ready()
        .await
        .stdout()
}

#[tokio::test]
async fn notice_says_where_the_documents_are_whether_posts_are_on_and_how_to_stop() {
    let nowhere = "127.0.0.1:1".parse().expect("an address");
    let setup = TestSetup::split(Store::Sqlite);
    let off = notice(Program::Gateway, &setup.gateway_settings(nowhere, None)).await;
    assert!(off.contains("/docs and http://127.0.0.1:"), "{off}");
    assert!(
        off.contains("Console: http://127.0.0.1:") && off.contains("/console/\n"),
        "{off}"
    );
    assert!(
        off.contains("Posts: off, because POSTS_SERVICE_URL is not set"),
        "{off}"
    );
    assert!(off.ends_with("Ctrl-C stops\n"), "{off}");
    let setup = setup.with("API_DOCS", "off").with("CONSOLE", "off");
    let on = notice(
        Program::Gateway,
        &setup.gateway_settings(nowhere, Some(nowhere)),
    )
    .await;
    assert!(
        on.contains("Documentation: off, because API_DOCS is off"),
        "{on}"
    );
    assert!(on.contains("Console: off, because CONSOLE is off"), "{on}");
    assert!(
        on.contains("Posts: on, posts-service at http://127.0.0.1:1"),
        "{on}"
    );
}

#[tokio::test]
async fn notice_is_one_json_object_where_the_log_is_json() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let nowhere = "127.0.0.1:1".parse().expect("an address");
    let split = TestSetup::split(Store::Sqlite).with("LOG_FORMAT", "json");
    let whole = TestSetup::all_in_one(Store::Sqlite).with("LOG_FORMAT", "json");
    for (program, settings) in [
        (Program::AuthService, split.auth_settings(&database.url())),
        (
            Program::PostsService,
            split.posts_settings(&database.posts_url(), nowhere),
        ),
        (Program::Gateway, split.gateway_settings(nowhere, None)),
        (whole.auth_program(), whole.auth_settings(&database.url())),
    ] {
        let text = notice(program, &settings).await;
        let notice: Value = serde_json::from_str(&text).expect(&text);
        for listener in program.listeners() {
            let url = notice["listeners"][listener].as_str().expect(&text);
            assert!(url.starts_with("http://127.0.0.1:"), "{text}");
        }
        assert!(
            notice["message"]
                .as_str()
                .is_some_and(|it| it.starts_with("Rolegate ")),
            "{text}"
        );
    }
}
