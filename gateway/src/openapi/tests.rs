mod docs_ui;

use crate::{
    basic, bearer,
    settings::Settings,
    state::GatewayState,
    test_support::shared_auth_service,
    test_support::{bare, send},
};
use axum::Router;
use http::StatusCode;
use http_body_util::BodyExt;
use rolegate_auth_client::BalancedChannel;
use rolegate_posts_client::PostsClient;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use tower::ServiceExt;

fn variants(arguments: &[&str]) -> [Router; 2] {
    let settings = Settings::from_args(arguments).expect("settings").public;
    let bearer = bearer::router(
        GatewayState::for_tests(shared_auth_service(), None),
        Some(unavailable_posts()),
        &settings,
        &crate::memory::MemoryBudgets::new(&settings),
    );
    [
        bearer,
        basic::router(
            GatewayState::for_tests(shared_auth_service(), None),
            &settings,
            &crate::memory::MemoryBudgets::new(&settings),
        ),
    ]
}

/// Returns a client of a posts-service that refuses connections.
fn unavailable_posts() -> PostsClient {
    let refuse = async || Err(std::io::ErrorKind::ConnectionRefused.into());
    PostsClient::new(BalancedChannel::with_connector(
        PostsClient::SERVICE,
        refuse,
    ))
}

async fn document_of(router: &Router) -> Value {
    let response = send(router, bare("GET", "/openapi.json")).await;
    assert_eq!(response.status, StatusCode::OK);
    response.body
}

/// Returns the path, the method in upper case, and the operation of each operation.
fn operations(document: &Value) -> Vec<(&str, String, &Value)> {
    let paths = document["paths"].as_object().expect("paths");
    paths
        .iter()
        .flat_map(|(path, item)| {
            let operations = item.as_object().expect("operations").iter();
            operations.map(move |(method, operation)| {
                (path.as_str(), method.to_ascii_uppercase(), operation)
            })
        })
        .collect()
}

/// Returns a path that matches the template.
fn concrete(template: &str) -> String {
    let segment = |segment: &str| {
        if segment.starts_with('{') {
            "1"
        } else {
            segment
        }
        .to_owned()
    };
    template
        .split('/')
        .map(segment)
        .collect::<Vec<_>>()
        .join("/")
}

/// Returns the templates of all routes, which axum exposes only through `Debug`.
fn templates(router: &Router) -> BTreeSet<String> {
    let debug = format!("{router:?}");
    let (_, node) = debug
        .split_once("node: Node")
        .expect("axum shows its routes");
    let (paths, _) = node.split_once("} }").expect("axum shows its routes");
    paths
        .split('"')
        .filter(|text| text.starts_with('/'))
        .map(str::to_owned)
        .collect()
}

/// Returns the methods in the `Allow` header of a 405.
async fn methods(router: &Router, path: &str) -> BTreeSet<String> {
    let response = send(router, bare("PROPFIND", path)).await;
    response.assert_error(405, "Method Not Allowed");
    response
        .header("allow")
        .split(',')
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn document_lists_exactly_the_routes() {
    for router in variants(&[]) {
        let document = document_of(&router).await;
        let mut documented: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (path, method, _) in operations(&document) {
            let methods = documented.entry(path.to_owned()).or_default();
            if method == "GET" {
                methods.insert("HEAD".to_owned());
            }
            methods.insert(method);
        }
        let mut served = BTreeMap::new();
        for template in templates(&router) {
            let is_page = ["/openapi.json", "/docs", "/console", "/sign-"];
            if !is_page.iter().any(|page| template.starts_with(page)) {
                let methods = methods(&router, &concrete(&template)).await;
                served.insert(template, methods);
            }
        }
        assert_eq!(served, documented);
        assert!(served.len() >= 4, "{served:?}");
    }
}

#[tokio::test]
async fn exactly_the_operations_with_security_require_credentials() {
    for router in variants(&[]) {
        let document = document_of(&router).await;
        for (path, method, operation) in operations(&document) {
            let response = send(&router, bare(&method, &concrete(path))).await;
            // Without the key `security`, readers of the document would not know whether an operation is public.
            let security = operation["security"].as_array().expect("a list");
            let is_protected = !security.is_empty();
            assert_eq!(
                response.status == 401,
                is_protected,
                "{method} {path}: {response:?}"
            );
            let schemes = &document["components"]["securitySchemes"];
            for requirement in security {
                let name = requirement
                    .as_object()
                    .and_then(|it| it.keys().next())
                    .expect("a name");
                assert!(schemes.get(name).is_some(), "{method} {path}: {name}");
            }
        }
    }
}

#[tokio::test]
async fn every_error_has_a_description_a_body_and_an_example() {
    for router in variants(&[]) {
        let document = document_of(&router).await;
        for (path, method, operation) in operations(&document) {
            for (status, response) in operation["responses"].as_object().expect("responses") {
                let what = format!("{method} {path} {status}: {response}");
                assert!(
                    !response["description"].as_str().unwrap_or("").is_empty(),
                    "{what}"
                );
                let json = &response["content"]["application/json"];
                let reason = &response["headers"]["Rolegate-Reason"]["schema"]["$ref"];
                assert_eq!(
                    reason == "#/components/schemas/Reason",
                    !status.starts_with('2'),
                    "{what}"
                );
                if !status.starts_with('2') {
                    assert_eq!(
                        json["schema"]["$ref"], "#/components/schemas/ApiError",
                        "{what}"
                    );
                    let several = json["examples"].as_object().into_iter().flatten();
                    let several = several.map(|(_, example)| &example["value"]);
                    let examples: Vec<_> = json.get("example").into_iter().chain(several).collect();
                    let has_detail = |example: &&Value| example["detail"].is_string();
                    assert!(
                        !examples.is_empty() && examples.iter().all(has_detail),
                        "{what}"
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn operation_documents_the_statuses_of_its_kind() {
    let [bearer, basic] = variants(&[]);
    let statuses = |document: &Value, path: &str, method: &str| {
        let responses = document["paths"][path][method]["responses"]
            .as_object()
            .expect(path);
        responses
            .keys()
            .map(|status| status.parse().expect("a status"))
            .collect::<Vec<u16>>()
    };
    let bearer = document_of(&bearer).await;
    let role = statuses(&bearer, "/users/{user_id}/role", "put");
    assert_eq!(
        role,
        [200, 400, 401, 403, 404, 405, 408, 413, 415, 500, 503, 504]
    );
    assert_eq!(
        statuses(&bearer, "/profile", "get"),
        [200, 401, 405, 500, 503, 504]
    );
    assert_eq!(statuses(&bearer, "/public", "get"), [200, 405, 500]);
    let login = statuses(&bearer, "/login", "post");
    assert_eq!(
        login,
        [200, 400, 401, 405, 408, 413, 415, 429, 500, 503, 504]
    );
    let post = statuses(&bearer, "/posts/{id}", "put");
    assert_eq!(
        post,
        [200, 400, 401, 403, 404, 405, 408, 413, 415, 500, 503, 504]
    );
    assert_eq!(
        statuses(&bearer, "/posts", "get"),
        [200, 400, 405, 500, 503, 504]
    );
    let basic = document_of(&basic).await;
    let protected = statuses(&basic, "/protected", "get");
    assert_eq!(protected, [200, 401, 405, 429, 500, 503, 504]);
}

#[tokio::test]
async fn every_reference_resolves() {
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    for router in variants(&[]) {
        let document = document_of(&router).await;
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(!found.is_empty());
        for reference in found {
            let pointer = reference.strip_prefix('#').expect("within the document");
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }
}

#[tokio::test]
async fn docs_page_is_complete_and_loads_nothing_from_other_origins() {
    async fn get(router: &Router, path: &str) -> (http::response::Parts, String) {
        let response = router
            .clone()
            .oneshot(bare("GET", path))
            .await
            .expect("routers cannot fail");
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.expect("a body in memory").to_bytes();
        (head, String::from_utf8_lossy(&bytes).into_owned())
    }
    for router in variants(&[]) {
        let (redirect, _) = get(&router, "/docs").await;
        assert_eq!(redirect.status, StatusCode::TEMPORARY_REDIRECT);
        assert_eq!(redirect.headers["location"], "/docs/");
        let (head, page) = get(&router, "/docs/").await;
        assert_eq!(head.headers["content-type"], "text/html");
        let policy = head.headers["content-security-policy"]
            .to_str()
            .expect("text");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; "),
            "{policy}"
        );
        let attributes = page.split(['"', ' ']).collect::<Vec<_>>();
        let loaded: Vec<_> = attributes
            .windows(2)
            .filter(|pair| matches!(pair[0], "src=" | "href="))
            .map(|pair| pair[1])
            .collect();
        assert!(loaded.len() >= 3, "{page}");
        for file in loaded.into_iter().filter(|file| *file != "/console/") {
            assert!(!file.contains("//"), "{file} is on another origin");
            let (head, _) = get(&router, &format!("/docs/{}", file.trim_start_matches("./"))).await;
            assert_eq!(head.status, 200, "{file}");
            assert_eq!(head.headers["x-content-type-options"], "nosniff");
        }
        let (_, start) = get(&router, "/docs/swagger-initializer.js").await;
        assert!(start.contains(r#""url": "/openapi.json""#), "{start}");
        assert!(start.contains(r#""validatorUrl": "none""#), "{start}");
        for missing in ["/docs/nowhere.js", "/docs/%ff"] {
            let missing = send(&router, bare("GET", missing)).await;
            missing.assert_error(404, "Not Found");
        }
    }
}

#[tokio::test]
async fn docs_can_be_off() {
    for router in variants(&["--api-docs", "off"]) {
        for path in ["/openapi.json", "/docs", "/docs/", "/docs/index.html"] {
            send(&router, bare("GET", path))
                .await
                .assert_error(404, "Not Found");
        }
        assert_eq!(send(&router, bare("GET", "/public")).await.status, 200);
    }
}

#[tokio::test]
async fn without_posts_service_there_are_no_routes_of_posts() {
    let settings = Settings::from_args(&[]).expect("settings").public;
    let router = bearer::router(
        GatewayState::for_tests(shared_auth_service(), None),
        None,
        &settings,
        &crate::memory::MemoryBudgets::new(&settings),
    );
    for (method, path) in [
        ("GET", "/posts"),
        ("POST", "/posts"),
        ("DELETE", "/posts/1"),
    ] {
        send(&router, bare(method, path))
            .await
            .assert_error(404, "Not Found");
    }
    let document = document_of(&router).await;
    assert!(!document.to_string().contains("/posts"), "{document}");
}
