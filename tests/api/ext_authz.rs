//! Envoy's service `envoy.service.auth.v3.Authorization`, called with Envoy's own messages.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use e2e::{
    ADMIN_PASSWORD, TestApp, TestSetup,
    ext_authz::{self, Client, Decision, check, decide, from},
    for_all_deployments, for_one_deployment, for_postgres_deployments, for_two_deployments,
};
use std::time::Instant;

for_all_deployments!(the_stored_role_decides_at_once);
for_two_deployments!(
    refusals_are_those_of_the_gateway,
    guesses_count_for_the_client_that_a_trusted_envoy_reports,
);
for_one_deployment!(
    a_route_without_a_valid_requirement_admits_no_request_and_is_in_the_log,
    a_request_with_large_headers_gets_an_answer,
);
for_postgres_deployments!(an_outage_is_closed_and_never_a_denial);

async fn client(app: &TestApp) -> Client {
    ext_authz::client(&app.auth().address("grpc")).await
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

fn basic(username: &str, password: &str) -> String {
    format!(
        "Basic {}",
        STANDARD.encode(format!("{username}:{password}"))
    )
}

async fn ask(client: &Client, roles: &str, authorization: &str) -> Decision {
    decide(client, check(Some(roles), Some(authorization))).await
}

async fn the_stored_role_decides_at_once(setup: TestSetup) {
    let app = setup.start().await;
    let started = Instant::now();
    let client = client(&app).await;
    let ann = app.user("j\u{f6}rg, 1").await;
    let encoded = "j%C3%B6rg%2C 1";
    let credentials = [bearer(&ann.token), basic(&ann.username, &ann.password)];
    for role in ["user", "author", "admin", "user"] {
        app.database.set_role(&ann.username, role).await;
        for authorization in &credentials {
            for roles in ["*", role, "user,author,admin"] {
                let decision = ask(&client, roles, authorization).await;
                decision.expect_passed(ann.id, encoded, role);
            }
            let others: Vec<_> = ["user", "author", "admin"]
                .into_iter()
                .filter(|it| *it != role)
                .collect();
            let denied = ask(&client, &others.join(","), authorization).await;
            denied.expect_refused(7, 403, "Insufficient privileges.");
        }
    }
    let is_audited = |line: &str| {
        line.contains("access_denied")
            && line.contains("app.example/reports")
            && line.contains("author,admin")
    };
    app.auth().logs("the denial", is_audited).await;
    ask(&client, "admin", &credentials[0])
        .await
        .expect_refused(7, 403, "Insufficient privileges.");
    app.auth()
        .logs("the last denial", |line| {
            line.contains(r#"required_roles="admin""#)
        })
        .await;
    let log = app.auth().stderr();
    assert!(!log.contains("month=5"), "the query is in the log");
    // There were nine denials, and the log has at most one line a minute for each requirement.
    let minutes = 1 + started.elapsed().as_secs() / 60;
    assert!(
        log.matches("access_denied").count() as u64 <= 4 * minutes,
        "{log}"
    );
    app.database.delete(&ann.username).await;
    ask(&client, "*", &credentials[0])
        .await
        .expect_refused(16, 401, "User not found.");
    let refused = ask(&client, "*", &credentials[1]).await;
    refused.expect_refused(16, 401, "Invalid username or password.");
}

async fn refusals_are_those_of_the_gateway(setup: TestSetup) {
    let app = setup.start().await;
    let client = client(&app).await;
    let token = app.admin().await.token;
    let twice = format!("{}, {}", bearer(&token), bearer(&token));
    let invalid = "Bearer error=\"invalid_token\"";
    for (authorization, challenge, detail, reason) in [
        ("", "Bearer", "Not authenticated.", "NOT_AUTHENTICATED"),
        (
            "Digest x",
            "Bearer",
            "Not authenticated.",
            "NOT_AUTHENTICATED",
        ),
        (&*twice, "Bearer", "Not authenticated.", "NOT_AUTHENTICATED"),
        (
            "Bearer x",
            invalid,
            "Invalid or expired token.",
            "TOKEN_INVALID",
        ),
        (
            &*basic("admin", "wrong"),
            "Bearer",
            "Invalid username or password.",
            "CREDENTIALS_INVALID",
        ),
        (
            &*basic("stranger", "x"),
            "Bearer",
            "Invalid username or password.",
            "CREDENTIALS_INVALID",
        ),
    ] {
        let refused = ask(&client, "*", authorization).await;
        refused.expect_refused(16, 401, detail);
        assert_eq!(
            refused.values("rolegate-reason"),
            [reason],
            "{authorization}"
        );
        assert_eq!(
            refused.values("www-authenticate"),
            ["Basic realm=\"Rolegate\"", challenge],
            "{authorization}"
        );
    }
    let refused = decide(&client, check(Some("*"), None)).await;
    refused.expect_refused(16, 401, "Not authenticated.");
}

async fn a_route_without_a_valid_requirement_admits_no_request_and_is_in_the_log(setup: TestSetup) {
    let app = setup.start().await;
    let client = client(&app).await;
    let token = bearer(&app.admin().await.token);
    for authorization in [&*token, ""] {
        let refused = decide(&client, check(None, Some(authorization))).await;
        refused.expect_refused(7, 403, "Insufficient privileges.");
    }
    for roles in ["", "root", "admin,root", "**", "Admin"] {
        let refused = ask(&client, roles, &token).await;
        refused.expect_refused(3, 500, "Internal server error.");
        ask(&client, roles, "")
            .await
            .expect_refused(16, 401, "Not authenticated.");
    }
    let names_the_route = |line: &str| {
        line.contains("WARN") && line.contains("app.example") && line.contains("/reports")
    };
    app.auth().logs("the route", names_the_route).await;
    let log = app.auth().stderr();
    assert!(!log.contains("month=5") && !log.contains(&token), "{log}");
}

async fn guesses_count_for_the_client_that_a_trusted_envoy_reports(setup: TestSetup) {
    // `rolegate` trusts only its own gateway.
    let is_trusted = !setup.is_all_in_one();
    let app = setup.with("LOGIN_FAILURE_LIMIT", "2").start().await;
    let client = client(&app).await;
    let (guesser, home) = ("203.0.113.5", "198.51.100.7");
    let ask = async |address: &str, password: &str| {
        let authorization = basic("admin", password);
        decide(
            &client,
            from(address, check(Some("*"), Some(&authorization))),
        )
        .await
    };
    for _ in 0..2 {
        ask(guesser, "wrong")
            .await
            .expect_refused(16, 401, "Invalid username or password.");
    }
    let refused = ask(guesser, ADMIN_PASSWORD).await;
    refused.expect_refused(8, 429, "Too many attempts, try again later.");
    assert_eq!(
        ask(home, ADMIN_PASSWORD).await.code,
        if is_trusted { 0 } else { 8 }
    );
    let is_warning = |line: &str| line.contains("source.address, which is ignored");
    if is_trusted {
        assert!(!app.auth().stderr().lines().any(is_warning));
    } else {
        app.auth().logs("the ignored address", is_warning).await;
    }
}

/// Large headers must not cause a gRPC error, because Envoy would let the request pass where
/// `failure_mode_allow` is set.
async fn a_request_with_large_headers_gets_an_answer(setup: TestSetup) {
    let app = setup.start().await;
    let client = client(&app).await;
    for size in [5000, 60_000, 500_000] {
        let refused = ask(&client, "*", &bearer(&"x".repeat(size))).await;
        refused.expect_refused(16, 401, "Invalid or expired token.");
    }
}

async fn an_outage_is_closed_and_never_a_denial(setup: TestSetup) {
    let mut app = setup.with_database_proxy().start().await;
    let client = client(&app).await;
    let credentials = [
        bearer(&app.admin().await.token),
        basic("admin", ADMIN_PASSWORD),
    ];
    app.database_proxy().cut();
    for authorization in &credentials {
        let refused = ask(&client, "*", authorization).await;
        refused.expect_refused(14, 503, "Service temporarily unavailable.");
    }
    app.database_proxy().open();
    app.auth().wait_for_readiness(200).await;
    // If the database does not answer at all, Envoy still gets its answer before its own timeout.
    app.database_proxy().silence();
    for authorization in &credentials {
        let mut request = tonic::Request::new(check(Some("*"), Some(authorization)));
        request.set_timeout(std::time::Duration::from_secs(4));
        let response = client
            .clone()
            .check(request)
            .await
            .expect("an answer in time");
        let refused = ext_authz::decision(response.into_inner());
        refused.expect_refused(14, 503, "Service temporarily unavailable.");
    }
}
