//! Tests what Swagger UI needs: the login, the order of operations, and examples.

use super::{document_of, operations, variants};
use crate::test_support::bare;
use axum::Router;
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;

async fn text_of(router: &Router, path: &str) -> String {
    let response = router
        .clone()
        .oneshot(bare("GET", path))
        .await
        .expect("routers cannot fail");
    assert_eq!(response.status(), 200, "{path}");
    let bytes = response
        .into_body()
        .collect()
        .await
        .expect("a body in memory")
        .to_bytes();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn page_has_the_title_of_the_api_and_no_explore_bar() {
    for router in variants(&[]) {
        let page = text_of(&router, "/docs/").await;
        assert!(page.contains("<title>Rolegate API</title>"), "{page}");
        assert!(!page.contains("swagger-ui-standalone-preset"), "{page}");
        let start = text_of(&router, "/docs/swagger-initializer.js").await;
        assert!(start.contains(r#""layout": "BaseLayout""#), "{start}");
    }
}

#[tokio::test]
async fn the_embedded_version_of_swagger_ui_is_the_one_that_the_code_names() {
    let [bearer, _] = variants(&[]);
    let bundle = text_of(&bearer, "/docs/swagger-ui-bundle.js").await;
    let (_, version) = bundle.split_once("{PACKAGE_VERSION:\"").expect("a version");
    let (version, _) = version.split_once('"').expect("a version");
    assert!(
        include_str!("../docs_ui.rs").contains(&format!(" Swagger UI {version}. ")),
        "{version}"
    );
}

#[tokio::test]
async fn authorize_logs_in_on_the_bearer_address() {
    let [bearer, _] = variants(&[]);
    assert!(
        text_of(&bearer, "/docs/")
            .await
            .contains(r#"src="./sign-in.js""#)
    );
    let plugin = text_of(&bearer, "/docs/sign-in.js").await;
    assert!(plugin.contains(r#"fetch("/login""#), "{plugin}");
    let start = text_of(&bearer, "/docs/swagger-initializer.js").await;
    assert!(start.contains(r#""plugins": [signIn]"#), "{start}");
}

#[tokio::test]
async fn tokens_survive_a_reload_and_passwords_are_not_stored() {
    let [bearer, basic] = variants(&[]);
    let start = text_of(&bearer, "/docs/swagger-initializer.js").await;
    assert!(start.contains(r#""persistAuthorization": true"#), "{start}");
    let start = text_of(&basic, "/docs/swagger-initializer.js").await;
    assert!(
        start.contains(r#""persistAuthorization": false"#),
        "{start}"
    );
}

#[tokio::test]
async fn groups_start_with_register_log_in_and_profile() {
    let [bearer, basic] = variants(&[]);
    let names = |document: &Value| -> Vec<String> {
        let tags = document["tags"].as_array().expect("tags");
        tags.iter()
            .map(|tag| tag["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    let document = document_of(&bearer).await;
    assert_eq!(
        names(&document),
        ["Accounts", "API keys", "Access", "Users", "Posts"]
    );
    let text = text_of(&bearer, "/openapi.json").await;
    let position = |path: &str| text.find(&format!("\"{path}\":")).expect(path);
    assert!(position("/register") < position("/login"));
    assert!(position("/login") < position("/profile"));
    assert!(position("/profile") < position("/profile/password"));
    assert_eq!(names(&document_of(&basic).await), ["Accounts", "Access"]);
}

#[tokio::test]
async fn every_operation_is_in_a_described_group() {
    for router in variants(&[]) {
        let document = document_of(&router).await;
        let tags = document["tags"].as_array().expect("tags");
        assert!(
            tags.iter().all(|tag| tag["description"].is_string()),
            "{tags:?}"
        );
        for (path, method, operation) in operations(&document) {
            let group = &operation["tags"][0];
            assert!(
                tags.iter().any(|tag| tag["name"] == *group),
                "{method} {path}: {group}"
            );
        }
    }
}

#[tokio::test]
async fn every_path_id_has_an_example() {
    let [bearer, _] = variants(&[]);
    let document = document_of(&bearer).await;
    let mut ids = 0;
    for (path, method, operation) in operations(&document) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if parameter["in"] == "path" {
                assert!(
                    parameter["example"].is_u64(),
                    "{method} {path}: {parameter}"
                );
                ids += 1;
            }
        }
    }
    assert!(ids >= 7, "{ids} path ids");
}
