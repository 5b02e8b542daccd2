//! Runs the cases of `clients/conformance.json` against the gateway. The clients in other languages must give the same
//! answers.

use e2e::{Api, ClientStage, Process, Program, Store, TestResponse, TestSetup, eventually};
use serde_json::{Value, json};
use std::path::Path;

/// Returns the route with this requirement, or `None` if only `/authorize` can express it.
fn route(roles: &[&str], groups: &[&str]) -> Option<&'static str> {
    if !groups.is_empty() {
        return None;
    }
    match roles {
        [] => Some("/profile"),
        ["admin"] => Some("/admin"),
        ["author", "admin"] => Some("/author"),
        _ => None,
    }
}

/// Returns the path of `/authorize` with this requirement.
fn authorize_path(roles: &[&str], groups: &[&str]) -> String {
    let mut parameters = Vec::new();
    if !roles.is_empty() {
        parameters.push(format!("roles={}", roles.join(",")));
    }
    if !groups.is_empty() {
        parameters.push(format!("groups={}", groups.join(",")));
    }
    format!("/authorize?{}", parameters.join("&"))
}

/// Returns the names in a list of a case. A list that is not there is empty.
fn names(list: &Value) -> Vec<&str> {
    let names = list.as_array().into_iter().flatten();
    names.map(|name| name.as_str().expect("a name")).collect()
}

/// Returns whether this is the named outcome of a case. A mistake of the asking service is a mistake in the URL here.
fn is_as(outcome: &Value, name: &str, table: &Value) -> bool {
    if name == "REQUEST_INVALID" {
        outcome["status"] == 400
    } else {
        *outcome == table["outcomes"][name]
    }
}

/// Returns the parts of a response that the table describes.
fn outcome(response: &TestResponse) -> Value {
    let mut outcome = json!({ "status": response.status });
    if response.status != 200 {
        outcome["detail"] = response.json()["detail"].clone();
    }
    for name in ["rolegate-reason", "retry-after"] {
        if let Some(value) = response.header(name) {
            outcome[name] = value.into();
        }
    }
    // `/authorize` also accepts passwords, so a Basic challenge may come before the one for tokens.
    let challenges = response.headers.get_all("www-authenticate").iter();
    let mut challenges = challenges.map(|value| value.to_str().expect("ASCII"));
    if let Some(bearer) = challenges.find(|value| value.starts_with("Bearer")) {
        outcome["www-authenticate"] = bearer.into();
    }
    outcome
}

fn table() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/conformance.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("it is there")).expect("JSON")
}

#[tokio::test]
async fn gateway_answers_every_case_as_clients_in_other_languages_must() {
    let table = table();
    let mut stage = ClientStage::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let unused = "127.0.0.1:1".parse().expect("an address");
    let mut settings = TestSetup::split(Store::Postgres).gateway_settings(unused, None);
    settings.insert("AUTH_SERVICE_URL".to_owned(), stage.url());
    let hosts = stage.hosts();
    let gateway = Process::start_with_hosts(Program::Gateway, &settings, folder.path(), &hosts);
    let gateway = gateway.ready().await;
    let [bearer, forward_auth] =
        ["bearer", "forward"].map(|listener| Api::at(&gateway.address(listener)));
    for case in table["cases"].as_array().expect("cases") {
        let name = case["name"].as_str().expect("a name");
        let user = stage
            .user(case["token"].as_str().expect("a kind of token"))
            .await;
        let roles = names(&case["roles"]);
        let groups = names(&case["groups"]);
        let (api, path) = match route(&roles, &groups) {
            Some(route) => (&bearer, route.to_owned()),
            None => (&forward_auth, authorize_path(&roles, &groups)),
        };
        let form = case
            .get("authorization")
            .cloned()
            .unwrap_or_else(|| json!("Bearer {token}"));
        let api = match form.as_str() {
            Some(form) => api.with_authorization(form.replace("{token}", &user.token).as_bytes()),
            None => api.clone(),
        };
        for step in case["steps"].as_array().expect("steps") {
            for given in step["given"].as_array().into_iter().flatten() {
                stage
                    .bring_about(given.as_str().expect("text"), &user)
                    .await;
            }
            let expect = step["expect"].as_str().expect("outcomes");
            let is_expected =
                |outcome: &Value| expect.split(' ').any(|name| is_as(outcome, name, &table));
            let ask = async || outcome(&api.get(&path).await);
            if step["eventually"] == true {
                eventually(name, async || is_expected(&ask().await).then_some(())).await;
            }
            for _ in 0..step["times"].as_u64().unwrap_or(1) {
                let outcome = ask().await;
                assert!(is_expected(&outcome), "{name}: {step}: {outcome}");
            }
        }
    }
}
