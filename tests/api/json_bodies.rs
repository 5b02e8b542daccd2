//! Invalid, unexpected and too large JSON, sent to every endpoint that reads a body.

use e2e::{
    Api, TestApp, TestResponse, TestSetup, for_one_deployment, for_two_deployments, raw_http,
};
use reqwest::{Method, header::CONTENT_TYPE};
use serde_json::json;

for_two_deployments!(nul_in_a_string_is_handled_like_any_other_character);
for_one_deployment!(
    missing_body_is_rejected,
    malformed_json_is_rejected,
    json_other_than_an_object_of_strings_is_rejected,
    other_content_type_is_rejected,
    a_coded_body_is_rejected,
    content_type_variants_of_json_are_accepted,
    client_that_sends_5_megabytes_receives_413,
    unknown_fields_are_ignored,
);

const JSON: &str = "application/json";

struct Endpoint {
    api: Api,
    method: Method,
    path: &'static str,
    /// The names of the required fields.
    fields: &'static [&'static str],
    /// A body that the endpoint accepts.
    good: &'static str,
}

/// Returns an endpoint of each kind that reads a body, with sufficient credentials.
async fn endpoints(app: &TestApp) -> [Endpoint; 4] {
    let admin = app.bearer.with_token(&app.admin().await.token);
    let user = &["username", "password"];
    let register = |api: &Api, good| {
        let (api, method) = (api.clone(), Method::POST);
        Endpoint {
            api,
            method,
            path: "/register",
            fields: user,
            good,
        }
    };
    let good = r#"{"username":"admin","password":"the password of the admin"}"#;
    [
        register(&app.bearer, r#"{"username":"ann","password":"pw"}"#),
        register(&app.basic, r#"{"username":"bob","password":"pw"}"#),
        Endpoint {
            api: app.bearer.clone(),
            path: "/login",
            good,
            ..register(&app.bearer, "")
        },
        Endpoint {
            api: admin,
            method: Method::PUT,
            path: "/users/1/role",
            fields: &["role"],
            good: r#"{"role":"admin"}"#,
        },
    ]
}

impl Endpoint {
    async fn send(&self, content_type: &str, body: impl Into<Vec<u8>>) -> TestResponse {
        let body = body.into();
        let shown = String::from_utf8_lossy(&body)
            .chars()
            .take(200)
            .collect::<String>();
        let request = self.api.request(self.method.clone(), self.path);
        let request = request.header(CONTENT_TYPE, content_type).body(body);
        let mut response = self.api.send(request).await;
        response.request = format!("{} {content_type} {shown}", response.request);
        response
    }
}

async fn missing_body_is_rejected(setup: TestSetup) {
    let app = setup.start().await;
    for endpoint in endpoints(&app).await {
        endpoint.send(JSON, "").await.expect_error(400);
        endpoint.send(JSON, "  \n").await.expect_error(400);
        let nothing = endpoint.api.request(endpoint.method, endpoint.path);
        endpoint.api.send(nothing).await.expect_error(415);
    }
}

async fn malformed_json_is_rejected(setup: TestSetup) {
    let app = setup.start().await;
    for endpoint in endpoints(&app).await {
        let good = endpoint.good;
        for body in [
            "{".to_owned(),
            "}".to_owned(),
            "nonsense".to_owned(),
            good[..good.len() - 1].to_owned(),
            good[1..].to_owned(),
            format!("{good}x"),
            format!("{good}{good}"),
            good.replace('"', "'"),
            good.replace(':', "="),
            good.replacen('}', ",}", 1),
            good.replacen('{', "{/* no comments */", 1),
            good.replacen('{', "{\"x\":NaN,", 1),
            good.replacen('{', "{\"x\":01,", 1),
            good.replace(":\"", ":\"\u{1}"),
            good.replace(":\"", ":\"\\x"),
            good.replace(":\"", ":\"\\ud800"),
            good.replace(":\"", ":\"\\udc00\\ud800"),
            good.replace(":\"", ":\"\\u12"),
            format!("\u{feff}{good}"),
            "[".repeat(60_000),
            "{\"x\":".repeat(12_000),
            format!("{{\"x\":{}{}}}", "[".repeat(30_000), "]".repeat(30_000)),
        ] {
            endpoint.send(JSON, body).await.expect_error(400);
        }
        let mut not_utf8 = good.as_bytes().to_vec();
        not_utf8.insert(good.rfind('"').expect("a string"), 0xff);
        endpoint.send(JSON, not_utf8).await.expect_error(400);
        let utf16: Vec<u8> = good.encode_utf16().flat_map(u16::to_le_bytes).collect();
        endpoint.send(JSON, utf16).await.expect_error(400);
    }
    assert_eq!(app.database.count_users().await, 1, "only the admin");
}

async fn json_other_than_an_object_of_strings_is_rejected(setup: TestSetup) {
    let app = setup.start().await;
    for endpoint in endpoints(&app).await {
        for body in [
            "null",
            "true",
            "7",
            "\"text\"",
            "[]",
            "{}",
            r#"["a","b"]"#,
            r#"["a"]"#,
            r#"[{"role":"user"}]"#,
        ] {
            endpoint.send(JSON, body).await.expect_error(400);
        }
        let good: serde_json::Value = serde_json::from_str(endpoint.good).expect("JSON");
        for field in endpoint.fields {
            for value in [
                json!(null),
                json!(7),
                json!(1.5),
                json!(true),
                json!([]),
                json!(["a"]),
                json!({}),
            ] {
                let mut body = good.clone();
                body[field] = value;
                endpoint
                    .send(JSON, body.to_string())
                    .await
                    .expect_error(400);
            }
            let mut body = good.clone();
            body.as_object_mut().expect("an object").remove(*field);
            endpoint
                .send(JSON, body.to_string())
                .await
                .expect_error(400);
            // A field that is sent twice is refused, because parsers disagree on which of the two
            // counts.
            let twice = endpoint
                .good
                .replacen('{', &format!("{{\"{field}\":\"x\","), 1);
            endpoint.send(JSON, twice).await.expect_error(400);
        }
    }
    assert_eq!(app.database.count_users().await, 1, "only the admin");
}

async fn nul_in_a_string_is_handled_like_any_other_character(setup: TestSetup) {
    let app = setup.start().await;
    let admin = app.bearer.with_token(&app.admin().await.token);
    let escaped = [
        (
            &app.bearer,
            Method::POST,
            "/register",
            r#"{"username":"a\u0000","password":"pw"}"#,
            400,
        ),
        (
            &app.bearer,
            Method::POST,
            "/register",
            r#"{"username":"a","password":"p\u0000"}"#,
            400,
        ),
        (
            &app.basic,
            Method::POST,
            "/register",
            r#"{"username":"\u0000","password":"pw"}"#,
            400,
        ),
        (
            &app.bearer,
            Method::POST,
            "/login",
            r#"{"username":"admin\u0000","password":"p"}"#,
            401,
        ),
        (
            &app.bearer,
            Method::POST,
            "/login",
            r#"{"username":"admin","password":"\u0000"}"#,
            401,
        ),
        (
            &admin,
            Method::PUT,
            "/users/1/role",
            r#"{"role":"admin\u0000"}"#,
            400,
        ),
    ];
    for (api, method, path, body, status) in escaped {
        let request = api
            .request(method, path)
            .header(CONTENT_TYPE, JSON)
            .body(body);
        api.send(request).await.expect_error(status);
    }
}

async fn other_content_type_is_rejected(setup: TestSetup) {
    let app = setup.start().await;
    for endpoint in endpoints(&app).await {
        for content_type in [
            "text/plain",
            "text/json",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/octet-stream",
            "application/jsonp",
            "json",
            "",
            "application/json, text/plain",
            "application/json; charset",
            "application/json; charset=utf-16",
            "application/json; charset=utf-8; charset=utf-16",
        ] {
            endpoint
                .send(content_type, endpoint.good)
                .await
                .expect_error(415);
        }
    }
    assert_eq!(app.database.count_users().await, 1, "only the admin");
}

async fn a_coded_body_is_rejected(setup: TestSetup) {
    let app = setup.start().await;
    for endpoint in endpoints(&app).await {
        for (name, coding) in [
            ("content-encoding", "gzip"),
            ("content-encoding", "br"),
            ("content-encoding", "identity, gzip"),
            ("transfer-encoding", "gzip, chunked"),
        ] {
            let request = endpoint
                .api
                .request(endpoint.method.clone(), endpoint.path)
                .header(CONTENT_TYPE, JSON)
                .header(name, coding)
                .body(endpoint.good);
            endpoint.api.send(request).await.expect_error(415);
        }
        // Credentials are checked first, so a stranger learns nothing about the body.
        if endpoint.path.starts_with("/users/") {
            let request = app
                .bearer
                .request(endpoint.method.clone(), endpoint.path)
                .header("content-encoding", "gzip")
                .body(endpoint.good);
            app.bearer.send(request).await.expect_error(401);
        }
    }
    assert_eq!(app.database.count_users().await, 1, "only the admin");
    let login = app.bearer.request(Method::POST, "/login");
    let login = login
        .header(CONTENT_TYPE, JSON)
        .header("content-encoding", "identity")
        .body(r#"{"username":"admin","password":"the password of the admin"}"#);
    app.bearer.send(login).await.expect(200);
}

async fn content_type_variants_of_json_are_accepted(setup: TestSetup) {
    let app = setup.start().await;
    for endpoint in endpoints(&app)
        .await
        .into_iter()
        .filter(|one| one.path != "/register")
    {
        for content_type in [
            "application/json; charset=utf-8",
            "Application/JSON",
            "application/json;charset=UTF-8",
        ] {
            endpoint.send(content_type, endpoint.good).await.expect(200);
        }
    }
}

async fn client_that_sends_5_megabytes_receives_413(setup: TestSetup) {
    let app = setup.start().await;
    let huge = format!("{{\"x\":\"{}\"}}", "x".repeat(5 * 1024 * 1024));
    for endpoint in endpoints(&app).await {
        endpoint.send(JSON, huge.clone()).await.expect_error(413);
        let mut just_too_large = endpoint.good.to_owned();
        just_too_large += &" ".repeat(64 * 1024 + 1 - just_too_large.len());
        endpoint
            .send(JSON, just_too_large.clone())
            .await
            .expect_error(413);
        endpoint
            .send(JSON, &just_too_large[..64 * 1024])
            .await
            .expect(200);
    }
    // One client does not announce the length, and one reads the response only after it has sent
    // the whole body.
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x1_0000));
    let chunked = format!("{}0\r\n\r\n", chunk.repeat(80));
    let length = format!("Content-Length: {}", huge.len());
    for (headers, body) in [
        (
            [
                b"Content-Type: application/json".as_slice(),
                b"Transfer-Encoding: chunked",
            ],
            &chunked,
        ),
        (
            [
                b"Content-Type: application/json".as_slice(),
                length.as_bytes(),
            ],
            &huge,
        ),
    ] {
        let request = raw_http::request("POST /register", &headers, body.as_bytes());
        for api in [&app.bearer, &app.basic] {
            raw_http::exchange(api.base(), &request)
                .await
                .expect_error(413);
        }
    }
}

async fn unknown_fields_are_ignored(setup: TestSetup) {
    let app = setup.start().await;
    for endpoint in endpoints(&app).await {
        let body = endpoint
            .good
            .replacen('{', r#"{"x":[{"y":null}],"":"","exp":1e999999,"#, 1);
        endpoint.send(JSON, body).await.expect(200);
    }
}
