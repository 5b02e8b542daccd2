//! The forms of the `Authorization` header that both schemes accept or refuse (RFC 6750, RFC 7617).

use base64::{Engine as _, engine::general_purpose::STANDARD};
use e2e::{
    ADMIN_PASSWORD, TestApp, TestResponse, TestSetup, for_one_deployment, for_two_deployments,
    raw_http,
};

for_two_deployments!(impossible_basic_credentials_are_answered_like_a_wrong_password);
for_one_deployment!(
    scheme_name_is_case_insensitive,
    malformed_bearer_header_is_not_authenticated,
    malformed_basic_header_is_not_authenticated,
    two_authorization_headers_are_not_authenticated,
);

fn basic(credentials: impl AsRef<[u8]>) -> String {
    STANDARD.encode(credentials)
}

fn admin_basic() -> String {
    basic(format!("admin:{ADMIN_PASSWORD}"))
}

async fn bearer_says(app: &TestApp, header: &[u8]) -> TestResponse {
    let request = raw_http::request("GET /profile", &[header], b"");
    raw_http::exchange(app.bearer.base(), &request).await
}

async fn basic_says(app: &TestApp, header: &[u8]) -> TestResponse {
    let request = raw_http::request("GET /protected", &[header], b"");
    raw_http::exchange(app.basic.base(), &request).await
}

async fn scheme_name_is_case_insensitive(setup: TestSetup) {
    let app = setup.start().await;
    let token = app.admin().await.token;
    for scheme in ["Bearer", "bearer", "BEARER", "bEaReR"] {
        let header = format!("Authorization: {scheme} {token}");
        bearer_says(&app, header.as_bytes()).await.expect(200);
    }
    for scheme in ["Basic", "basic", "BASIC", "bAsIc"] {
        let header = format!("authorization: {scheme} {}", admin_basic());
        basic_says(&app, header.as_bytes())
            .await
            .expect_message("Welcome admin!");
    }
}

async fn malformed_bearer_header_is_not_authenticated(setup: TestSetup) {
    let app = setup.start().await;
    let token = app.admin().await.token;
    let mut headers: Vec<Vec<u8>> = [
        "X-Nothing: here".to_owned(),
        "Authorization:".to_owned(),
        "Authorization: ".to_owned(),
        "Authorization: Bearer".to_owned(),
        "Authorization: Bearer ".to_owned(),
        "Authorization: Bearer   ".to_owned(),
        format!("Authorization: {token}"),
        format!("Authorization: Bearer{token}"),
        format!("Authorization: Bearer:{token}"),
        format!("Authorization: Bearer\t{token}"),
        format!("Authorization: Token {token}"),
        format!("Authorization: Bearer {token} {token}"),
        format!("Authorization: Bearer {token}, Bearer {token}"),
        format!("Authorization: Bearer Bearer {token}"),
        format!("Authorization: Basic {}", admin_basic()),
        format!("Authorization: B\u{e9}arer {token}"),
        format!("Proxy-Authorization: Bearer {token}"),
    ]
    .map(String::into_bytes)
    .into();
    headers.push(b"Authorization: Bearer \xff\xfe".to_vec());
    headers.push(format!("Authorization: Bearer {token}\u{e9}").into_bytes());
    for header in headers {
        let mut response = bearer_says(&app, &header).await;
        response.request = String::from_utf8_lossy(&header).into_owned();
        response.expect_detail(401, "Not authenticated.");
        response.expect_header("www-authenticate", Some("Bearer"));
    }
}

async fn malformed_basic_header_is_not_authenticated(setup: TestSetup) {
    let app = setup.start().await;
    let (token, good) = (app.admin().await.token, admin_basic());
    for header in [
        "X-Nothing: here".to_owned(),
        "Authorization:".to_owned(),
        "Authorization: Basic".to_owned(),
        "Authorization: Basic ".to_owned(),
        "Authorization: Basic !!!!".to_owned(),
        format!("Authorization: {good}"),
        format!("Authorization: Basic{good}"),
        format!("Authorization: Basic {good} {good}"),
        format!("Authorization: Basic {good}, Basic {good}"),
        format!("Authorization: Basic {good}="),
        format!("Authorization: Basic ={good}"),
        format!("Authorization: Basic {}", basic("admin")),
        format!("Authorization: Basic {}", basic("")),
        format!("Authorization: Basic admin:{ADMIN_PASSWORD}"),
        format!("Authorization: Bearer {good}"),
        format!("Authorization: Bearer {token}"),
        format!("Proxy-Authorization: Basic {good}"),
    ] {
        let mut response = basic_says(&app, header.as_bytes()).await;
        response.request = header;
        response.expect_detail(401, "Not authenticated.");
        response.expect_header("www-authenticate", Some("Basic"));
    }
}

async fn impossible_basic_credentials_are_answered_like_a_wrong_password(setup: TestSetup) {
    let app = setup.start().await;
    let header = |credentials: &[u8]| format!("Authorization: Basic {}", basic(credentials));
    let wrong = basic_says(&app, header(b"admin:wrong").as_bytes()).await;
    wrong.expect_detail(401, "Invalid username or password.");
    wrong.expect_header("www-authenticate", Some("Basic"));
    let nul = format!("admin:{ADMIN_PASSWORD}\0");
    let long = format!("admin:{}", "x".repeat(73));
    let long_name = format!("{}:{ADMIN_PASSWORD}", "x".repeat(256));
    for credentials in [
        b"stranger:wrong".as_slice(),
        b":",
        b"admin:",
        b":wrong",
        b"admin:\xff\xfe",
        b"\xff\xfe:wrong",
        b"ADMIN:wrong",
        b" admin:wrong",
        nul.as_bytes(),
        long.as_bytes(),
        long_name.as_bytes(),
    ] {
        let response = basic_says(&app, header(credentials).as_bytes()).await;
        assert_eq!(response.comparable(), wrong.comparable(), "{response}");
    }
}

async fn two_authorization_headers_are_not_authenticated(setup: TestSetup) {
    let app = setup.start().await;
    let bearer = format!("Authorization: Bearer {}", app.admin().await.token);
    let basic = format!("Authorization: Basic {}", admin_basic());
    for other in [bearer.as_bytes(), basic.as_bytes(), b"Authorization: x"] {
        let headers = [bearer.as_bytes(), other];
        let request = raw_http::request("GET /profile", &headers, b"");
        let response = raw_http::exchange(app.bearer.base(), &request).await;
        response.expect_detail(401, "Not authenticated.");
        let headers = [other, basic.as_bytes()];
        let request = raw_http::request("GET /protected", &headers, b"");
        let response = raw_http::exchange(app.basic.base(), &request).await;
        response.expect_detail(401, "Not authenticated.");
    }
}
