use super::{gateway, send_one, with_token};
use crate::test_support::{authorized, bare, json, send, time};
use axum::extract::ConnectInfo;
use rolegate_auth_client::auth_v1::{EventGroup, ListAuditRequest, ListAuditResponse};
use serde_json::{Value, json};
use std::net::SocketAddr;

#[tokio::test]
async fn the_record_is_an_object_with_every_member() {
    let (gateway, calls) = gateway();
    calls.edit("ListAudit", |page: &mut ListAuditResponse| {
        for entry in &mut page.entries {
            entry.time = time(1);
        }
        // Other rows lack these members.
        let oldest = page.entries.last_mut().expect("an entry");
        oldest.username = None;
        oldest.actor_id = None;
        oldest.actor = None;
        oldest.client_address = None;
        oldest.request_id = None;
    });
    let register = json(
        "POST",
        "/register",
        r#"{"username": "new", "password": "a"}"#,
    );
    let change = json("PUT", "/users/2/role", r#"{"role":"author"}"#);
    for (request_id, mut request) in [("r0", register), ("r1", with_token(change, "rgk_admin"))] {
        let peer: SocketAddr = "10.0.0.1:4242".parse().expect("an address");
        request.extensions_mut().insert(ConnectInfo(peer));
        for (name, value) in [
            ("x-request-id", request_id),
            ("x-forwarded-for", "203.0.113.9"),
        ] {
            let value = value.parse().expect("a header value");
            request.headers_mut().insert(name, value);
        }
        assert_eq!(send(&gateway, request).await.status, 200);
    }
    let response = send(
        &gateway,
        authorized("GET", "/audit?limit=2", "Bearer admin"),
    )
    .await;
    let page: ListAuditResponse = calls.last_response("ListAudit");
    let revisions = [page.entries[0].revision, page.entries[1].revision];
    response.assert_ok(&json!({
        "entries": [
            {
                "revision": revisions[0], "time": "1970-01-01T00:00:01.000Z", "event": "role_changed",
                "user_id": 2, "username": "user", "actor_id": 1, "actor": "admin",
                "actor_key": 7, "actor_session": null, "client_address": "203.0.113.9",
                "request_id": "r1", "details": {"from": "user", "to": "author"},
            },
            {
                "revision": revisions[1], "time": "1970-01-01T00:00:01.000Z", "event": "registered",
                "user_id": 13, "username": null, "actor_id": null, "actor": null,
                "actor_key": null, "actor_session": null, "client_address": null,
                "request_id": null, "details": {},
            },
        ],
        "next": revisions[1],
    }));
}

#[tokio::test]
async fn filters_are_passed_on_and_ones_own_is_asked_for() {
    let (router, calls) = gateway();
    let all = "/audit?user_id=1&actor_id=2&event=role_changed&after=9&limit=200";
    assert_eq!(
        send(&router, authorized("GET", all, "Bearer admin"))
            .await
            .status,
        200
    );
    let others = "/audit?username=ann&actor=b%C3%B6b&events=changes&since=2026-03-01&before=2026-03-02T00:00:00Z";
    assert_eq!(
        send(&router, authorized("GET", others, "Bearer admin"))
            .await
            .status,
        200
    );
    let own = "/profile/audit?after=9";
    assert_eq!(
        send(&router, authorized("GET", own, "Bearer user"))
            .await
            .status,
        200
    );
    let expected = [
        ListAuditRequest {
            user_id: Some(1),
            actor_id: Some(2),
            event: "role_changed".to_owned(),
            after: Some(9),
            page_size: 200,
            ..ListAuditRequest::default()
        },
        ListAuditRequest {
            username: "ann".to_owned(),
            actor_username: "böb".to_owned(),
            event_group: EventGroup::Changes.into(),
            since: time(1_772_323_200),
            before: time(1_772_409_600),
            ..ListAuditRequest::default()
        },
        ListAuditRequest {
            after: Some(9),
            own: true,
            ..ListAuditRequest::default()
        },
    ];
    assert_eq!(calls.requests::<ListAuditRequest>("ListAudit"), expected);
}

#[tokio::test]
async fn an_auth_service_that_ignores_a_filter_is_an_error_and_not_a_page() {
    let (router, calls) = gateway();
    calls.edit("ListAudit", |page: &mut ListAuditResponse| {
        page.follows_request = false;
    });
    for (query, status) in [
        ("?event=role_changed", 200),
        ("?username=ann", 500),
        ("?actor=ann", 500),
        ("?events=sign-ins", 500),
        ("?since=2026-03-01", 500),
        ("?before=2026-03-01", 500),
    ] {
        let request = authorized("GET", &format!("/audit{query}"), "Bearer admin");
        assert_eq!(send(&router, request).await.status, status, "{query}");
    }
}

#[tokio::test]
async fn an_invalid_query_of_the_record_is_a_bad_request_that_names_it() {
    for (query, detail) in [
        ("user_id=0", "\"user_id\" must be a whole number from 1."),
        ("user_id=x", "\"user_id\" must be a whole number from 1."),
        ("actor_id=-1", "\"actor_id\" must be a whole number from 1."),
        (
            "actor_id=9223372036854775808",
            "\"actor_id\" must be a whole number from 1.",
        ),
        ("after=0", "\"after\" must be a whole number from 1."),
        ("after=", "\"after\" must be a whole number from 1."),
        (
            "limit=201",
            "\"limit\" must be a whole number from 1 to 200.",
        ),
        ("event=", "\"event\" must be 1 to 64 letters a to z and _."),
        (
            "event=Role",
            "\"event\" must be 1 to 64 letters a to z and _.",
        ),
        (
            "event=%00",
            "\"event\" must be 1 to 64 letters a to z and _.",
        ),
        ("event=a&event=a", "\"event\" is given more than once."),
        (
            "events=",
            "\"events\" must be sign-ins or changes or refusals.",
        ),
        (
            "events=logins",
            "\"events\" must be sign-ins or changes or refusals.",
        ),
        (
            "events=changes&event=login_ok",
            "\"events\" cannot be combined with \"event\".",
        ),
        (
            "since=yesterday",
            "\"since\" must be a time in RFC 3339, such as 2030-01-31T00:00:00Z, or a date, such as 2030-01-31.",
        ),
        (
            "before=2026-02-30",
            "\"before\" must be a time in RFC 3339, such as 2030-01-31T00:00:00Z, or a date, such as 2030-01-31.",
        ),
        (
            "username=a&username=a",
            "\"username\" is given more than once.",
        ),
        ("actor=a&actor=a", "\"actor\" is given more than once."),
        ("own=true", "\"own\" is not known."),
    ] {
        let path = format!("/audit?{query}");
        let response = send_one(authorized("GET", &path, "Bearer admin")).await;
        response.assert_error(400, &format!("Query parameter {detail}"));
    }
}

#[tokio::test]
async fn the_least_documented_number_is_the_least_that_is_accepted() {
    let document = send_one(bare("GET", "/openapi.json")).await.body;
    for (path, numbers) in [("/audit", 4), ("/profile/audit", 2)] {
        let parameters = document["paths"][path]["get"]["parameters"]
            .as_array()
            .expect("some");
        let least = |it: &Value| Some((it["name"].clone(), it["schema"]["minimum"].as_i64()?));
        let documented: Vec<_> = parameters.iter().filter_map(least).collect();
        assert_eq!(documented.len(), numbers, "{documented:?}");
        for (name, least) in documented {
            for (number, status) in [(least, 200), (least - 1, 400)] {
                let path = format!("{path}?{}={number}", name.as_str().expect("text"));
                let response = send_one(authorized("GET", &path, "Bearer admin")).await;
                assert_eq!(response.status, status, "{path}: {response:?}");
            }
        }
    }
}
