//! Request ids, which are in the response and in the log lines of both services.

use e2e::{
    TestApp, TestSetup, eventually, for_all_deployments, for_one_deployment,
    for_postgres_deployments,
};
use reqwest::Method;
use serde_json::Value;
use std::collections::HashSet;

for_all_deployments!(only_a_trusted_proxy_may_set_the_request_id);
for_one_deployment!(every_response_has_a_unique_id);
for_postgres_deployments!(failed_batch_is_logged_by_both_services_with_all_its_request_ids);

async fn response_id(app: &TestApp, id: &str) -> String {
    let request = app
        .bearer
        .request(Method::GET, "/public")
        .header("x-request-id", id);
    let response = app.bearer.send(request).await;
    response
        .expect(200)
        .header("x-request-id")
        .expect("an id")
        .to_owned()
}

async fn every_response_has_a_unique_id(setup: TestSetup) {
    let app = setup.start().await;
    let mut ids = HashSet::new();
    for api in [&app.bearer, &app.basic] {
        for path in ["/", "/public", "/profile", "/protected", "/nowhere"] {
            let response = api.get(path).await;
            let id = response
                .header("x-request-id")
                .unwrap_or_default()
                .to_owned();
            assert!(
                id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{response}"
            );
            assert!(ids.insert(id), "an id twice: {response}");
        }
    }
}

async fn only_a_trusted_proxy_may_set_the_request_id(setup: TestSetup) {
    let app = setup.clone().start().await;
    assert_ne!(
        response_id(&app, "from-a-stranger").await,
        "from-a-stranger"
    );
    let app = setup.with("TRUSTED_PROXIES", "127.0.0.0/8").start().await;
    assert_eq!(response_id(&app, "from-a-proxy").await, "from-a-proxy");
    let longest = "x".repeat(64);
    assert_eq!(response_id(&app, &longest).await, longest);
    for bad in ["a b", "a,b", "\"", "", &"x".repeat(65)] {
        assert_eq!(
            response_id(&app, bad).await.len(),
            32,
            "{bad:?} is not an id"
        );
    }
}

async fn failed_batch_is_logged_by_both_services_with_all_its_request_ids(setup: TestSetup) {
    // At the default level, only the first failure of a second is logged.
    let setup = setup
        .with("LOG_FORMAT", "json")
        .with("RUST_LOG", "rolegate=debug");
    let mut app = setup.with_database_proxy().start().await;
    let admin = app.admin().await;
    let bearer = app.bearer.with_token(&admin.token);
    app.database_proxy().cut();
    let asking = (0..40).map(|_| {
        let bearer = bearer.clone();
        tokio::spawn(async move { bearer.get("/profile").await })
    });
    let mut ids = Vec::new();
    for response in asking.collect::<Vec<_>>() {
        let response = response.await.expect("no panic");
        ids.push(
            response
                .expect(503)
                .header("x-request-id")
                .expect("an id")
                .to_owned(),
        );
    }
    for (process, message) in [
        (app.gateway(), "request failed"),
        (app.auth(), "call failed"),
    ] {
        let logged = eventually("a log line of every id", async || {
            let logged = ids_of(&process.stderr(), message);
            ids.iter().all(|id| logged.contains(id)).then_some(logged)
        });
        assert!(logged.await.len() >= ids.len());
    }
}

/// Returns the request ids of all lines with this message.
fn ids_of(log: &str, message: &str) -> HashSet<String> {
    let lines = log.lines().map(|line| -> Value {
        serde_json::from_str(line).unwrap_or_else(|_| panic!("a line is no JSON: {line}"))
    });
    lines
        .filter(|line| line["message"] == message)
        .filter_map(|line| line["request_id"].as_str().map(str::to_owned))
        .flat_map(|ids| ids.split(',').map(str::to_owned).collect::<Vec<_>>())
        .collect()
}
