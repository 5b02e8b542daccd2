use crate::{
    basic, bearer,
    settings::Settings,
    state::GatewayState,
    test_support::shared_auth_service,
    test_support::{authorized, bare, json, send},
};
use axum::{Router, body::Body};
use http::{Request, header::ORIGIN};

const APP: &str = "https://app.example";

fn variants(origins: &str) -> [Router; 2] {
    let arguments = ["--cors-allowed-origins", origins];
    let settings = Settings::from_args(&arguments).expect("origins").public;
    [
        bearer::router(
            GatewayState::for_tests(shared_auth_service(), None),
            None,
            &settings,
            &crate::memory::MemoryBudgets::new(&settings),
        ),
        basic::router(
            GatewayState::for_tests(shared_auth_service(), None),
            &settings,
            &crate::memory::MemoryBudgets::new(&settings),
        ),
    ]
}

fn from(origin: &str, mut request: Request<Body>) -> Request<Body> {
    request
        .headers_mut()
        .insert(ORIGIN, origin.parse().expect("a header value"));
    request
}

fn preflight(origin: &str, path: &str) -> Request<Body> {
    let mut request = from(origin, bare("OPTIONS", path));
    let headers = request.headers_mut();
    headers.insert(
        "access-control-request-method",
        "PUT".parse().expect("a header value"),
    );
    let wanted = "authorization,content-type"
        .parse()
        .expect("a header value");
    headers.insert("access-control-request-headers", wanted);
    request
}

#[tokio::test]
async fn preflight_of_an_allowed_origin_is_granted() {
    for origins in [APP, "http://localhost:5173, https://app.example"] {
        for router in variants(origins) {
            let response = send(&router, preflight(APP, "/users/1/role")).await;
            assert_eq!(response.status, 200);
            assert_eq!(response.header("access-control-allow-origin"), APP);
            let methods = response.header("access-control-allow-methods");
            assert!(
                methods.contains("PUT") && methods.contains("PATCH"),
                "{methods}"
            );
            let headers = response.header("access-control-allow-headers");
            assert_eq!(headers, "authorization,content-type");
            assert_eq!(response.header("access-control-max-age"), "600");
            assert_eq!(response.header("access-control-allow-credentials"), "");
            assert!(response.header("vary").contains("origin"));
            assert_eq!(response.header("x-content-type-options"), "nosniff");
            assert_eq!(response.header("cache-control"), "no-store");
            assert_eq!(response.header("x-request-id").len(), 32);
        }
    }
}

#[tokio::test]
async fn other_origins_are_not_allowed() {
    for router in variants(APP) {
        for other in [
            "https://evil.example",
            "http://app.example",
            "https://app.example:8443",
            "null",
        ] {
            for request in [
                preflight(other, "/login"),
                from(other, bare("GET", "/public")),
            ] {
                let response = send(&router, request).await;
                assert_eq!(
                    response.header("access-control-allow-origin"),
                    "",
                    "{other}"
                );
            }
        }
    }
}

#[tokio::test]
async fn every_response_is_readable_errors_included() {
    let [bearer, basic] = variants(APP);
    let down = r#"{"username": "down", "password": "x"}"#;
    for (router, request, status) in [
        (&bearer, bare("GET", "/public"), 200),
        (&bearer, json("POST", "/login", "{"), 400),
        (&bearer, bare("GET", "/profile"), 401),
        (&bearer, authorized("GET", "/admin", "Bearer user"), 403),
        (&bearer, bare("GET", "/nowhere"), 404),
        (&bearer, bare("PUT", "/login"), 405),
        (&bearer, json("POST", "/login", down), 503),
        (&basic, bare("GET", "/protected"), 401),
    ] {
        let response = send(router, from(APP, request)).await;
        assert_eq!(response.status, status);
        assert_eq!(
            response.header("access-control-allow-origin"),
            APP,
            "{response:?}"
        );
        let exposed = response.header("access-control-expose-headers");
        assert_eq!(
            exposed,
            "location,retry-after,www-authenticate,x-request-id,rolegate-reason"
        );
    }
}

#[tokio::test]
async fn asterisk_allows_every_origin() {
    for router in variants("*") {
        let response = send(&router, from("null", bare("GET", "/public"))).await;
        assert_eq!(response.header("access-control-allow-origin"), "*");
    }
}

#[tokio::test]
async fn without_the_setting_there_is_no_cors() {
    for router in variants("") {
        let response = send(&router, from(APP, bare("GET", "/public"))).await;
        assert!(
            response
                .headers
                .keys()
                .all(|name| !name.as_str().starts_with("access-control"))
        );
        let response = send(&router, preflight(APP, "/public")).await;
        response.assert_error(405, "Method Not Allowed");
    }
}
