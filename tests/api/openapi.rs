//! The OpenAPI document of each address describes the running service.

use e2e::{Api, TestSetup, for_one_deployment};
use reqwest::Method;
use serde_json::Value;

for_one_deployment!(
    every_documented_operation_is_served,
    docs_pages_have_their_headers
);

async fn document(api: &Api) -> Value {
    api.get("/openapi.json").await.expect(200).json()
}

/// Fills in the parameters of a path template.
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

async fn every_documented_operation_is_served(setup: TestSetup) {
    let app = setup.start().await;
    for (api, title, least) in [
        (&app.bearer, "Rolegate, bearer tokens", 9),
        (&app.basic, "Rolegate, HTTP Basic", 4),
    ] {
        let document = document(api).await;
        assert_eq!(document["openapi"], "3.1.0");
        assert_eq!(document["info"]["title"], title);
        let mut operations = 0;
        for (template, item) in document["paths"].as_object().expect("paths") {
            let path = concrete(template);
            for (method, operation) in item.as_object().expect("operations") {
                let name = method.to_ascii_uppercase();
                let method = Method::from_bytes(name.as_bytes()).expect("a method");
                let response = api.send(api.request(method, &path)).await;
                let documented = operation["responses"]
                    .get(response.status.to_string())
                    .is_some();
                assert!(documented && response.status != 405, "{response}");
                operations += 1;
            }
        }
        assert!(operations >= least, "{operations} operations of {title}");
    }
}

async fn docs_pages_have_their_headers(setup: TestSetup) {
    let app = setup.start().await;
    for api in [&app.bearer, &app.basic] {
        let page = api.get("/docs/").await;
        assert_eq!(page.status, 200, "{page}");
        let policy = page.header("content-security-policy").unwrap_or_default();
        assert!(policy.contains("default-src 'none'"), "{page}");
        assert_eq!(
            page.header("x-content-type-options"),
            Some("nosniff"),
            "{page}"
        );
        let wrong = api.send(api.request(Method::POST, "/docs/")).await;
        wrong.expect_detail(405, "Method Not Allowed");
    }
}
