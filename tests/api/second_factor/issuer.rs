//! The issuer, which authenticator applications show beside the username.

use crate::grpc::client;
use e2e::{
    TestSetup, for_two_deployments,
    grpc::{authenticated, expect_error},
    second_factor::PATH,
};
use rolegate_proto::auth_v1::EnrolSecondFactorRequest;
use serde_json::json;
use tonic::Code;

for_two_deployments!(
    the_issuer_is_the_title_of_the_pages_or_the_host_of_the_page,
    a_caller_names_the_issuer_and_a_bad_one_is_refused_before_anything_else,
);

async fn the_issuer_is_the_title_of_the_pages_or_the_host_of_the_page(setup: TestSetup) {
    let at_host = setup.with("SIGN_IN_URL", "https://auth.example.org/sign-in");
    let titled = at_host.clone().with("SIGN_IN_TITLE", "A & B");
    for (setup, issuer) in [(at_host, "auth.example.org"), (titled, "A%20%26%20B")] {
        let app = setup.start().await;
        let ann = app.user("ann").await;
        let factor = ann.begin_second_factor(&app.bearer).await;
        let url = format!(
            "otpauth://totp/{issuer}:ann?secret={}&issuer={issuer}&algorithm=SHA1&digits=6&period=30",
            factor.secret
        );
        assert_eq!(factor.otpauth_url, url);
    }
}

async fn a_caller_names_the_issuer_and_a_bad_one_is_refused_before_anything_else(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let mut client = client(&app).await;
    let request = |issuer: Option<&str>, token: &str| {
        let message = EnrolSecondFactorRequest {
            current_password: ann.password.clone(),
            issuer: issuer.map(str::to_owned),
        };
        authenticated(message, token)
    };
    for (issuer, shown) in [
        (None, "Rolegate"),
        (Some("ACME"), "ACME"),
        (Some("a&b=c"), "a%26b%3Dc"),
    ] {
        let made = client
            .enrol_second_factor(request(issuer, &ann.token))
            .await;
        let url = made.expect("begun").into_inner().otpauth_url;
        let start = format!("otpauth://totp/{shown}:ann?secret=");
        assert!(url.starts_with(&start), "{url}");
        assert!(url.contains(&format!("&issuer={shown}&")), "{url}");
    }
    let long = "a".repeat(256);
    for bad in ["", "a:b", " a", "a\n", &long] {
        for token in [&*ann.token, "none"] {
            let refused = client.enrol_second_factor(request(Some(bad), token)).await;
            expect_error(refused, Code::InvalidArgument, "REQUEST_INVALID");
        }
    }
    // A client of the HTTP API cannot choose the issuer.
    let body = json!({ "current_password": ann.password, "issuer": "evil" });
    let begun = app.bearer.with_token(&ann.token).post(PATH, &body).await;
    let url = begun.expect(201).json()["otpauth_url"].to_string();
    assert!(!url.contains("evil"), "{url}");
}
