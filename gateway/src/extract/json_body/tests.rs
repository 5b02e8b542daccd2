use super::{DEFAULT_MAX_BODY, JsonBody};
use axum::{
    body::{Body, Bytes},
    extract::FromRequest,
};
use http::{Request, header::CONTENT_TYPE};
use rolegate_auth_client::axum::ApiError;
use secrecy::ExposeSecret;
use std::{convert::Infallible, time::Duration};

async fn read(content_types: &[&str], body: impl Into<Body>) -> Result<JsonBody, ApiError> {
    let mut request = Request::builder();
    for content_type in content_types {
        request = request.header(CONTENT_TYPE, *content_type);
    }
    JsonBody::from_request(request.body(body.into()).expect("a request"), &()).await
}

async fn read_json(body: impl Into<Body>) -> Result<JsonBody, ApiError> {
    read(&["application/json"], body).await
}

#[track_caller]
fn refused(body: Result<JsonBody, ApiError>, status: u16, detail: &str) {
    let problem = body.err().expect("must be refused");
    let expected = ApiError::new(status.try_into().expect("a status"), detail.to_owned());
    assert_eq!(problem, expected);
}

/// A body of unknown length, in pieces.
fn pieces(count: usize, piece: &'static [u8]) -> Body {
    let pieces = std::iter::repeat_n(Ok::<_, Infallible>(Bytes::from_static(piece)), count);
    Body::from_stream(tokio_stream::iter(pieces))
}

#[tokio::test]
async fn strings_are_taken_by_name_and_exactly_as_sent() {
    let text = r#" {"username": "\u0000 \ud83d\ude00é", "role": 1, "password": " a\"b "} "#;
    let mut body = read_json(text).await.expect("an object");
    assert_eq!(body.text("username"), Ok("\0 😀é".to_owned()));
    assert_eq!(body.secret("password").expect("a string").expose_secret(), " a\"b ");
}

#[tokio::test]
async fn a_field_that_is_absent_or_no_string_is_named() {
    for text in ["{}", r#"{"f": 1}"#, r#"{"f": null}"#, r#"{"f": {}}"#, r#"{"F": "x"}"#] {
        let problem = read_json(text).await.expect("an object").text("f").expect_err(text);
        let detail = "Field \"f\" is required and must be a string.";
        assert_eq!(problem, ApiError::bad_request(detail), "{text}");
    }
}

#[tokio::test]
async fn a_field_that_is_given_twice_is_refused_where_it_is_asked_for() {
    let text = r#"{"f": "a", "other": 1, "other": 2, "f": "b", "f": "c"}"#;
    let problem = read_json(text).await.expect("an object").text("f").expect_err("ambiguous");
    assert_eq!(problem, ApiError::bad_request("Field \"f\" is given more than once."));
}

#[tokio::test]
async fn what_is_no_json_is_refused_without_repeating_it() {
    let deep = "[".repeat(60_000);
    let deep_field = format!(r#"{{"f": {}"#, "[".repeat(60_000));
    for text in [
        "",
        " ",
        "{",
        r#"{"f": "hunter2""#,
        r#"{"f": "hunter2",}"#,
        r#"{"f": "hunter2"} x"#,
        "{'f': 'hunter2'}",
        "f=hunter2",
        "{\"f\": \"a\nb\"}",
        r#"{"f": 01}"#,
        r#"{"f": NaN}"#,
        r#"{"f": "\x41"}"#,
        r#"{"f": "x", "other": 01}"#,
        r#"{"f": "x", "other": [1e]}"#,
        r#"{"f": "x", "other": "\uDEFG"}"#,
        "\u{feff}{}",
        &deep_field,
    ] {
        refused(read_json(text.to_owned()).await, 400, "Request body is not valid JSON.");
    }
    let problem = read_json(deep).await.err().expect("must be refused");
    assert_eq!(problem.status(), 400);
    refused(read_json(&b"{\"f\": \"\xff\"}"[..]).await, 400, "Request body is not valid UTF-8.");
}

#[tokio::test]
async fn what_nobody_asks_for_is_ignored_whatever_it_is() {
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    for other in ["1e999", "-1E+9999", "123456789012345678901234567890.5", r#""\ud800""#, &deep] {
        let text = format!(r#"{{"other": {other}, "f": "x"}}"#);
        let mut body = read_json(text).await.expect("an object");
        assert_eq!(body.text("f"), Ok("x".to_owned()));
        let problem = body.text("other").expect_err("no string");
        assert_eq!(problem.status(), 400);
    }
}

#[tokio::test]
async fn half_a_character_is_no_text() {
    for half in [r"\ud800", r"\udc00", r"\ud800x", r"\ud800\ud800"] {
        let mut body = read_json(format!(r#"{{"f": "{half}"}}"#)).await.expect("an object");
        let problem = body.text("f").expect_err(half);
        assert_eq!(problem, ApiError::bad_request("Request body is not valid JSON."));
    }
}

#[tokio::test]
async fn json_other_than_an_object_is_refused() {
    for text in ["null", "1", "\"hunter2\"", "[]", r#"["a", "b"]"#, "true"] {
        refused(read_json(text).await, 400, "Request body must be a JSON object.");
    }
}

#[tokio::test]
async fn the_content_type_must_be_json() {
    for good in [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "application/merge-patch+json",
    ] {
        assert!(read(&[good], "{}").await.is_ok(), "{good}");
    }
    let detail = "Content-Type must be application/json.";
    for wrong in [
        "",
        "json",
        "text/plain",
        "text/json",
        "application/jsonp",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=application/json",
    ] {
        refused(read(&[wrong], "{}").await, 415, detail);
    }
    refused(read(&[], "{}").await, 415, detail);
    refused(read(&["application/json", "application/json"], "{}").await, 415, detail);
}

#[tokio::test]
async fn a_body_may_be_as_large_as_the_limit_and_no_larger() {
    let largest = format!("{}{{}}", " ".repeat(DEFAULT_MAX_BODY - 2));
    assert!(read_json(largest.clone()).await.is_ok());
    refused(read_json(largest + " ").await, 413, "Request body too large.");
    assert!(
        read_json(pieces(DEFAULT_MAX_BODY / 4, b"    ")).await.is_err_and(|it| it.status() == 400)
    );
    refused(
        read_json(pieces(DEFAULT_MAX_BODY / 4 + 1, b"    ")).await,
        413,
        "Request body too large.",
    );
}

#[tokio::test]
async fn size_comes_before_type_and_type_before_form() {
    refused(
        read(&["text/plain"], " ".repeat(DEFAULT_MAX_BODY + 1)).await,
        413,
        "Request body too large.",
    );
    refused(
        read(&["text/plain"], pieces(DEFAULT_MAX_BODY, b"    ")).await,
        413,
        "Request body too large.",
    );
    refused(read(&["text/plain"], "{").await, 415, "Content-Type must be application/json.");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_given_up_after_thirty_seconds() {
    let start = tokio::time::Instant::now();
    let never = tokio_stream::pending::<Result<Bytes, Infallible>>();
    let body = read_json(Body::from_stream(never)).await;
    refused(body, 408, "Request body did not arrive in time.");
    assert_eq!(start.elapsed(), Duration::from_secs(30));
}

#[tokio::test]
async fn a_body_that_breaks_off_is_a_bad_request() {
    let broken = tokio_stream::once(Err::<Bytes, _>("connection reset"));
    refused(read_json(Body::from_stream(broken)).await, 400, "Request body could not be read.");
}
