//! Tests the second factor, and the second step of a login.

use super::{gateway, send_one, with_token};
use crate::{
    bearer::router,
    logo::default_logo,
    memory::MemoryBudgets,
    settings::Settings,
    state::GatewayState,
    test_support::{auth_service, authorized, bare, json, send},
};
use auth_fixture::{one_time_code, recovery_code, refusal};
use rolegate_auth_client::{
    Reason,
    auth_v1::{
        DisableSecondFactorRequest, EnableSecondFactorRequest, EnrolSecondFactorRequest,
        EnrolSecondFactorResponse,
    },
};
use serde_json::json;

const PATH: &str = "/profile/second-factor";
const FORBIDDEN: &str = "Insufficient privileges.";
const FLOOD: &str = "Too many attempts, try again later.";

fn login(path: &str, username: &str, otp: &str) -> http::Request<axum::body::Body> {
    let body = format!(r#"{{"username": "{username}", "password": "right"{otp}}}"#);
    json("POST", path, &body)
}

#[tokio::test]
async fn success_bodies_are_those_of_the_documents() {
    let request = json("POST", PATH, r#"{"current_password": "right"}"#);
    let (gateway, calls) = gateway();
    let made = send(&gateway, with_token(request, "rgs_user")).await;
    let enrolment: EnrolSecondFactorResponse = calls.last_response("EnrolSecondFactor");
    let shown = json!({
        "secret": enrolment.secret, "otpauth_url": enrolment.otpauth_url,
        "recovery_codes": enrolment.recovery_codes,
    });
    assert_eq!((made.status.as_u16(), &made.body), (201, &shown));
    assert_eq!(made.header("cache-control"), "no-store");
    let off = json!({"message": "Second factor is off."});
    for (method, path, token, body, answer) in [
        (
            "PUT",
            PATH,
            "user",
            &*one_time_code("user"),
            json!({"message": "Second factor is on."}),
        ),
        (
            "DELETE",
            PATH,
            "author",
            recovery_code("author", 1),
            off.clone(),
        ),
        ("DELETE", "/users/3/second-factor", "rgs_admin", "", off),
    ] {
        let request = json(method, path, &json!({"otp": body}).to_string());
        send(&self::gateway().0, with_token(request, token))
            .await
            .assert_ok(&answer);
    }
    for (token, enabled, left) in [
        ("user", false, 0),
        ("author", true, 9),
        ("rgs_user", false, 0),
        ("rgk_user", false, 0),
    ] {
        let shown = send_one(authorized("GET", PATH, &format!("Bearer {token}"))).await;
        shown.assert_ok(&json!({"enabled": enabled, "recovery_codes": left}));
    }
}

/// Returns the issuer that auth-service gets with these settings and this `Host`. It is empty if there is none.
async fn issuer_of(arguments: &[&str], host: &str) -> String {
    let settings = Settings::from_args(arguments).expect("settings");
    let (auth, calls) = auth_service();
    let state = GatewayState::new(auth, None, settings.sign_in, default_logo());
    let memory = MemoryBudgets::new(&settings.public);
    let gateway = router(state, None, &settings.public, &memory);
    let request = json("POST", PATH, r#"{"current_password": "right"}"#);
    let mut request = with_token(request, "rgs_user");
    let headers = request.headers_mut();
    headers.insert("host", host.parse().expect("a value"));
    let made = send(&gateway, request).await;
    assert_eq!(made.status, 201, "{made:?}");
    let mut requests: Vec<EnrolSecondFactorRequest> = calls.requests("EnrolSecondFactor");
    let request = requests.pop().expect("a call");
    request.issuer.unwrap_or_default()
}

#[tokio::test]
async fn issuer_is_the_title_or_the_host_at_which_people_sign_in_or_that_of_the_request() {
    const TITLE: [&str; 2] = ["--sign-in-title", "A & B"];
    const PAGE: [&str; 2] = ["--sign-in-url", "https://auth.example.org:8443/sign-in"];
    let both = [TITLE, PAGE].concat();
    let off = [&TITLE[..], &["--sign-in", "off"]].concat();
    for arguments in [&TITLE[..], &both, &off] {
        assert_eq!(issuer_of(arguments, "app.example.org").await, "A & B");
    }
    assert_eq!(
        issuer_of(&PAGE, "app.example.org").await,
        "auth.example.org"
    );
    for (host, issuer) in [
        ("app.example.org", "app.example.org"),
        ("App.Example.org:8443", "app.example.org"),
        ("127.0.0.1:8000", "127.0.0.1"),
        // A colon would end the issuer, so an IPv6 address cannot be one.
        ("[::1]:8000", ""),
    ] {
        assert_eq!(issuer_of(&[], host).await, issuer, "{host}");
    }
    let long = format!("{}a", "a.".repeat(127));
    assert_eq!(issuer_of(&[], &long).await, long);
    assert_eq!(issuer_of(&[], &format!("{long}a")).await, "");
}

#[tokio::test]
async fn code_of_a_login_is_optional_and_may_be_null() {
    let (gateway, calls) = gateway();
    for (path, status, first_code) in [("/login", 200, 0), ("/sessions", 201, 2)] {
        let code = |index: usize| recovery_code("enrolled", first_code + index);
        let with_spaces = format!(r#", "otp": "{}""#, code(0).replace('-', " "));
        let with_hyphens = format!(r#", "otp": "{}""#, code(1));
        for (username, otp) in [
            ("ann", ""),
            ("ann", r#", "otp": null"#),
            ("ann", r#", "otp": "wrong""#),
            ("enrolled", &*with_spaces),
            ("enrolled", &with_hyphens),
        ] {
            let response = send(&gateway, login(path, username, otp)).await;
            assert_eq!(
                response.status, status,
                "{path} {username}{otp}: {response:?}"
            );
        }
        let long = format!(r#", "otp": "{}""#, "1".repeat(60_000));
        for (otp, reason, detail) in [
            ("", "OTP_REQUIRED", "One-time code required."),
            (
                r#", "otp": null"#,
                "OTP_REQUIRED",
                "One-time code required.",
            ),
            (r#", "otp": """#, "OTP_REQUIRED", "One-time code required."),
            (
                r#", "otp": "654321""#,
                "OTP_INVALID",
                "Invalid one-time code.",
            ),
            (
                r#", "otp": "\u0000""#,
                "OTP_REQUIRED",
                "One-time code required.",
            ),
            (&long, "OTP_INVALID", "Invalid one-time code."),
        ] {
            let refused = send(&gateway, login(path, "enrolled", otp)).await;
            refused.assert_error(401, detail);
            refused.assert_reason(reason);
            assert_eq!(refused.header("www-authenticate"), "Bearer");
        }
        let flood = send(&gateway, login(path, "enrolled", r#", "otp": "flood""#)).await;
        flood.assert_error(429, FLOOD);
        assert_eq!(flood.header("retry-after"), "7");
        calls.clear();
        for (otp, detail) in [
            (r#", "otp": 123456"#, "Field \"otp\" must be a string."),
            (r#", "otp": ["123456"]"#, "Field \"otp\" must be a string."),
            (r#", "otp": true"#, "Field \"otp\" must be a string."),
            (r#", "otp": "\ud800""#, "Request body is not valid JSON."),
            (
                r#", "otp": null, "otp": "123456""#,
                "Field \"otp\" is given more than once.",
            ),
        ] {
            send(&gateway, login(path, "enrolled", otp))
                .await
                .assert_error(400, detail);
        }
        assert!(calls.all().is_empty(), "{path}");
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
async fn requests_are_checked_in_the_documented_order() {
    let too_large = " ".repeat(64 * 1024 + 1);
    let long = format!(r#"{{"otp": "{}"}}"#, "1".repeat(60_000));
    let field = |name| format!("Field \"{name}\" is required and must be a string.");
    let (not_json, wrong) = (
        "Request body is not valid JSON.",
        "One-time code is incorrect.",
    );
    let code = r#"{"otp": "123456"}"#;
    for (method, token, body, status, detail) in [
        ("POST", "", &*too_large, 401, "Not authenticated."),
        ("POST", "bad", &too_large, 401, "Invalid or expired token."),
        ("POST", "deleted", &too_large, 401, "User not found."),
        ("POST", "rgk_user", &too_large, 403, FORBIDDEN),
        ("POST", "user", &too_large, 413, "Request body too large."),
        ("POST", "user", "{", 400, not_json),
        ("POST", "user", "{}", 400, &*field("current_password")),
        (
            "POST",
            "user",
            r#"{"current_password": null}"#,
            400,
            &field("current_password"),
        ),
        (
            "POST",
            "user",
            r#"{"current_password": ""}"#,
            400,
            "Current password is incorrect.",
        ),
        (
            "POST",
            "user",
            r#"{"current_password": "flood"}"#,
            429,
            FLOOD,
        ),
        (
            "POST",
            "author",
            r#"{"current_password": "x"}"#,
            400,
            "Second factor is already on.",
        ),
        ("PUT", "", &too_large, 401, "Not authenticated."),
        ("PUT", "rgk_user", &too_large, 403, FORBIDDEN),
        ("PUT", "user", &too_large, 413, "Request body too large."),
        ("PUT", "user", "{}", 400, &field("otp")),
        ("PUT", "user", r#"{"otp": null}"#, 400, &field("otp")),
        ("PUT", "user", r#"{"otp": 123456}"#, 400, &field("otp")),
        (
            "PUT",
            "user",
            r#"{"otp": "", "otp": ""}"#,
            400,
            "Field \"otp\" is given more than once.",
        ),
        ("PUT", "user", r#"{"otp": ""}"#, 400, wrong),
        ("PUT", "user", &long, 400, wrong),
        ("PUT", "user", r#"{"otp": "flood"}"#, 429, FLOOD),
        ("PUT", "author", code, 400, "Second factor is already on."),
        ("PUT", "admin", code, 400, "Second factor is not begun."),
        ("DELETE", "", &too_large, 401, "Not authenticated."),
        ("DELETE", "rgk_user", &too_large, 403, FORBIDDEN),
        (
            "DELETE",
            "author",
            &too_large,
            413,
            "Request body too large.",
        ),
        ("DELETE", "author", "", 400, not_json),
        ("DELETE", "author", "{}", 400, &field("otp")),
        ("DELETE", "author", r#"{"otp": false}"#, 400, &field("otp")),
        ("DELETE", "author", r#"{"otp": "654321"}"#, 400, wrong),
        ("DELETE", "author", &long, 400, wrong),
        ("DELETE", "author", r#"{"otp": "flood"}"#, 429, FLOOD),
        ("DELETE", "user", code, 400, "Second factor is not on."),
        ("GET", "", "", 401, "Not authenticated."),
        ("GET", "rgs_unknown", "", 401, "Invalid or expired token."),
        ("GET", "deleted", "", 401, "User not found."),
    ] {
        let request = json(method, PATH, body);
        let request = if token.is_empty() {
            request
        } else {
            with_token(request, token)
        };
        send_one(request).await.assert_error(status, detail);
    }
    let (gateway, calls) = gateway();
    calls.fail("unavailable", refusal(Reason::SecondFactorUnavailable));
    let body = r#"{"current_password": "unavailable"}"#;
    send(&gateway, with_token(json("POST", PATH, body), "admin"))
        .await
        .assert_error(400, "Second factors are not available.");
    // A request without a body lacks its media type, too.
    let no_body = send_one(with_token(bare("DELETE", PATH), "author")).await;
    no_body.assert_error(415, "Content-Type must be application/json.");
    let flood = with_token(json("DELETE", PATH, r#"{"otp": "flood"}"#), "author");
    assert_eq!(send_one(flood).await.header("retry-after"), "7");
}

#[tokio::test]
async fn admins_remove_it_after_the_documented_checks() {
    let not_integer = "Path parameter \"user_id\" must be an integer.";
    let own = "Use /profile/second-factor to turn off your own second factor.";
    for (token, id, status, detail) in [
        ("", "x", 401, "Not authenticated."),
        ("bad", "x", 401, "Invalid or expired token."),
        ("author", "x", 403, FORBIDDEN),
        ("rgk_admin", "x", 403, FORBIDDEN),
        ("rgk_admin", "3", 403, FORBIDDEN),
        ("admin", "x", 400, not_integer),
        ("admin", "%FF", 400, not_integer),
        ("admin", "1", 400, own),
        ("admin", "99", 404, "User not found."),
        ("admin", "99999999999999999999", 404, "User not found."),
        ("admin", "2", 400, "Second factor is not on."),
    ] {
        let request = bare("DELETE", &format!("/users/{id}/second-factor"));
        let request = if token.is_empty() {
            request
        } else {
            with_token(request, token)
        };
        send_one(request).await.assert_error(status, detail);
    }
}

#[tokio::test]
async fn what_a_person_typed_is_sent_as_it_is_and_by_no_key() {
    let (gateway, calls) = gateway();
    for (method, token) in [("PUT", "rgk_user"), ("PUT", "user"), ("DELETE", "author")] {
        let request = json(method, PATH, r#"{"otp": " 123-456"}"#);
        send(&gateway, with_token(request, token)).await;
    }
    send(
        &gateway,
        with_token(bare("DELETE", "/users/3/second-factor"), "rgk_admin"),
    )
    .await;
    send(
        &gateway,
        with_token(bare("DELETE", "/users/3/second-factor"), "admin"),
    )
    .await;
    let otp = || " 123-456".to_owned();
    let enabled: Vec<EnableSecondFactorRequest> = calls.requests("EnableSecondFactor");
    assert_eq!(enabled, [EnableSecondFactorRequest { otp: otp() }]);
    let disabled: Vec<DisableSecondFactorRequest> = calls.requests("DisableSecondFactor");
    let own = DisableSecondFactorRequest {
        user_id: None,
        otp: otp(),
    };
    let by_admin = DisableSecondFactorRequest {
        user_id: Some(3),
        otp: String::new(),
    };
    assert_eq!(disabled, [own, by_admin]);
}
