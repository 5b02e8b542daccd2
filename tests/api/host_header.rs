//! Requests whose `Host` header is ambiguous.

use e2e::{Store, TestSetup, raw_http::exchange};

#[tokio::test]
async fn missing_repeated_or_malformed_host_is_a_bad_request() {
    const DETAIL: &str = "Host header is missing, repeated or malformed.";
    let app = TestSetup::all_in_one(Store::Sqlite).start().await;
    for base in [
        app.bearer.base(),
        app.basic.base(),
        &app.auth().address("ops"),
    ] {
        let path = if base == app.auth().address("ops") {
            "/livez"
        } else {
            "/public"
        };
        for (version, hosts, status) in [
            ("1.1", "Host: a\r\n", 200),
            ("1.0", "", 200),
            ("1.1", "", 400),
            ("1.1", "Host: a\r\nHost: a\r\n", 400),
            ("1.1", "Host: a\r\nhost: b\r\n", 400),
            ("1.1", "Host: a, b\r\n", 400),
            ("1.1", "Host: user@a\r\n", 400),
        ] {
            let head = format!("GET {path} HTTP/{version}\r\n{hosts}Connection: close\r\n\r\n");
            let response = exchange(base, head.as_bytes()).await;
            if status == 400 {
                response.expect_detail(400, DETAIL);
            } else {
                response.expect(200);
            }
        }
    }
}
