use super::{JsonBody, MAX_BODY, read_json as read_parts};
use axum::{
    body::{Body, Bytes},
    extract::FromRequest,
};
use http::{
    Request,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
};
use rolegate_auth_client::axum::ApiError;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, de::DeserializeOwned};
use std::{convert::Infallible, time::Duration};

#[derive(Debug, Deserialize)]
struct Fields {
    first: String,
    second: SecretString,
}

type Extracted = Result<Result<Fields, ApiError>, ApiError>;

const NOT_JSON: &str = "Request body is not valid JSON.";
const TOO_LARGE: &str = "Request body too large.";

async fn read(content_types: &[&str], body: impl Into<Body>) -> Extracted {
    let mut request = Request::builder();
    for content_type in content_types {
        request = request.header(CONTENT_TYPE, *content_type);
    }
    let request = request.body(body.into()).expect("a request");
    let (head, body) = request.into_parts();
    read_parts(&head, body, MAX_BODY).await
}

async fn read_json(body: impl Into<Body>) -> Extracted {
    read(&["application/json"], body).await
}

/// Asserts that the body was rejected before its fields were checked.
#[track_caller]
fn assert_rejected(body: Extracted, status: u16, detail: &str) {
    let error = body.expect_err(detail);
    assert_eq!((error.status().as_u16(), error.detail()), (status, detail));
}

/// Asserts that the body was accepted, except for one field.
#[track_caller]
fn assert_field_error(body: Extracted, detail: &str) {
    let error = body.expect("an object").expect_err(detail);
    assert_eq!((error.status().as_u16(), error.detail()), (400, detail));
}

/// Returns a body of unknown length that arrives in pieces.
fn pieces(count: usize, piece: &'static [u8]) -> Body {
    let pieces = std::iter::repeat_n(Ok::<_, Infallible>(Bytes::from_static(piece)), count);
    Body::from_stream(tokio_stream::iter(pieces))
}

#[tokio::test]
async fn strings_are_decoded_exactly_as_sent() {
    let text = r#" {"second": " a\"b ", "first": "\u0000 \ud83d\ude00é", "role": 1} "#;
    let fields = read_json(text)
        .await
        .expect("an object")
        .expect("both fields");
    assert_eq!(fields.first, "\0 😀é");
    assert_eq!(fields.second.expose_secret(), " a\"b ");
}

#[tokio::test]
async fn missing_field_or_other_type_names_the_first_declared_field() {
    let required = |name| format!("Field \"{name}\" is required and must be a string.");
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    for value in [
        "1", "1e999", "-0.5", "null", "true", "[]", r#"["x"]"#, "{}", &deep,
    ] {
        let text = format!(r#"{{"second": {value}, "first": "x"}}"#);
        assert_field_error(read_json(text).await, &required("second"));
        let text = format!(r#"{{"second": {value}, "first": {value}}}"#);
        assert_field_error(read_json(text).await, &required("first"));
    }
    for text in ["{}", r#"{"second": 1}"#, r#"{"First": "x", "second": "x"}"#] {
        assert_field_error(read_json(text).await, &required("first"));
    }
}

#[derive(Debug, Deserialize)]
struct Optional {
    first: bool,
    second: Option<String>,
}

#[derive(Debug, Deserialize)]
#[expect(clippy::option_option, reason = "so that it may be null")]
struct Nullable {
    first: Option<Option<String>>,
}

async fn read_optional<T: DeserializeOwned>(body: &'static str) -> Result<T, ApiError> {
    let request = Request::builder().header(CONTENT_TYPE, "application/json");
    let request = request.body(Body::from(body)).expect("a request");
    let body: Result<JsonBody<T>, ApiError> = JsonBody::from_request(request, &()).await;
    body.map(|JsonBody(fields)| fields)
}

#[tokio::test]
async fn booleans_and_optional_fields_have_errors_of_their_own() {
    let required = "Field \"first\" is required and must be true or false.";
    for text in [
        "{}",
        r#"{"first": "true"}"#,
        r#"{"first": null}"#,
        r#"{"first": 1}"#,
    ] {
        let error = read_optional::<Optional>(text).await.expect_err(text);
        assert_eq!(error.detail(), required);
    }
    for text in [
        r#"{"first": true, "second": null}"#,
        r#"{"second": 1, "first": true}"#,
    ] {
        let error = read_optional::<Optional>(text).await.expect_err(text);
        assert_eq!(error.detail(), "Field \"second\" must be a string.");
    }
    let twice = r#"{"first": true, "second": "a", "second": "b"}"#;
    let twice = read_optional::<Optional>(twice).await;
    let detail = "Field \"second\" is given more than once.";
    assert_eq!(twice.expect_err("twice").detail(), detail);
    let missing: Optional = read_optional(r#"{"first": false}"#).await.expect("valid");
    assert_eq!((missing.first, missing.second), (false, None));
    let given: Optional = read_optional(r#"{"second": "a", "first": true}"#)
        .await
        .expect("valid");
    assert_eq!((given.first, given.second.as_deref()), (true, Some("a")));
}

#[tokio::test]
async fn only_a_field_that_may_be_null_may_be_null() {
    for (text, value) in [
        ("{}", None),
        (r#"{"first": null}"#, None),
        (r#"{"first":null }"#, None),
        (r#"{"first": "null"}"#, Some("null")),
        (r#"{"first": ""}"#, Some("")),
    ] {
        let fields: Nullable = read_optional(text).await.expect(text);
        assert_eq!(fields.first.flatten().as_deref(), value, "{text}");
    }
    for text in [
        r#"{"first": 1}"#,
        r#"{"first": false}"#,
        r#"{"first": [null]}"#,
        r#"{"first": {}}"#,
    ] {
        let error = read_optional::<Nullable>(text).await.expect_err(text);
        assert_eq!(error.detail(), "Field \"first\" must be a string.");
    }
    for text in [
        r#"{"first": null, "first": null}"#,
        r#"{"first": "a", "first": null}"#,
    ] {
        let error = read_optional::<Nullable>(text).await.expect_err(text);
        assert_eq!(error.detail(), "Field \"first\" is given more than once.");
    }
}

#[tokio::test]
async fn repeated_field_is_rejected_and_repeated_unknown_field_is_ignored() {
    let text = r#"{"first": "a", "other": 1, "other": 2, "first": 1, "second": "x"}"#;
    assert_field_error(
        read_json(text).await,
        "Field \"first\" is given more than once.",
    );
    let text = r#"{"first": "a", "other": 1, "other": 2, "second": "x", "\u0066irst": "a"}"#;
    assert_field_error(
        read_json(text).await,
        "Field \"first\" is given more than once.",
    );
    let text = r#"{"first": "a", "other": 1, "other": 2, "second": "x"}"#;
    assert!(read_json(text).await.expect("an object").is_ok());
}

#[tokio::test]
async fn malformed_json_is_rejected_without_repeating_it() {
    let deep = "[".repeat(60_000);
    let deep_field = format!(r#"{{"first": {deep}"#);
    for text in [
        "",
        " ",
        "{",
        r#"{"first": "hunter2""#,
        r#"{"first": "hunter2",}"#,
        r#"{"first": "hunter2"} x"#,
        "{'first': 'hunter2'}",
        "first=hunter2",
        "{\"first\": \"a\nb\"}",
        r#"{"first": 01}"#,
        r#"{"first": NaN}"#,
        r#"{"first": "\x41"}"#,
        r#"{"first": "x", "other": 01}"#,
        r#"{"first": "x", "other": [1e]}"#,
        r#"{"first": "x", "other": "\uDEFG"}"#,
        r#"{"first": 1, "\ud800": 1}"#,
        "\u{feff}{}",
        &deep_field,
    ] {
        assert_rejected(read_json(text.to_owned()).await, 400, NOT_JSON);
    }
    assert_eq!(
        read_json(deep).await.expect_err("not an object").status(),
        400
    );
    let invalid = &b"{\"other\": \"\xff\"}"[..];
    assert_rejected(
        read_json(invalid).await,
        400,
        "Request body is not valid UTF-8.",
    );
}

#[tokio::test]
async fn unknown_fields_are_not_decoded() {
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    for other in [
        "1e999",
        "-1E+9999",
        "123456789012345678901234567890.5",
        r#""\ud800""#,
        &deep,
    ] {
        let text = format!(r#"{{"other": {other}, "first": "x", "second": "y"}}"#);
        let fields = read_json(text)
            .await
            .expect("an object")
            .expect("both fields");
        assert_eq!(fields.first, "x");
    }
}

#[tokio::test]
async fn lone_surrogate_is_not_text() {
    for half in [r"\ud800", r"\udc00", r"\ud800x", r"\ud800\ud800"] {
        let text = format!(r#"{{"first": "{half}", "second": "x"}}"#);
        assert_field_error(read_json(text).await, NOT_JSON);
    }
}

#[tokio::test]
async fn json_other_than_an_object_is_rejected() {
    for text in ["null", "1", "\"hunter2\"", "[]", r#"["a", "b"]"#, "true"] {
        assert_rejected(
            read_json(text).await,
            400,
            "Request body must be a JSON object.",
        );
    }
}

#[tokio::test]
async fn content_type_must_be_json() {
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
        "application/+json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=application/json",
    ] {
        assert_rejected(read(&[wrong], "{}").await, 415, detail);
    }
    assert_rejected(read(&[], "{}").await, 415, detail);
    assert_rejected(
        read(&["application/json", "application/json"], "{}").await,
        415,
        detail,
    );
}

#[tokio::test]
async fn a_coded_body_is_refused_after_its_size_and_before_its_type() {
    let read_coded = async |content_type: &str, body: String| {
        let request = Request::builder()
            .header(CONTENT_TYPE, content_type)
            .header(CONTENT_ENCODING, "gzip");
        let (head, body) = request
            .body(Body::from(body))
            .expect("a request")
            .into_parts();
        read_parts::<Fields>(&head, body, MAX_BODY).await
    };
    let coded = "Content-Encoding is not supported.";
    let good = r#"{"first": "x", "second": "y"}"#.to_owned();
    assert_rejected(
        read_coded("application/json", good.clone()).await,
        415,
        coded,
    );
    assert_rejected(read_coded("text/plain", good).await, 415, coded);
    let long = " ".repeat(MAX_BODY + 1);
    assert_rejected(read_coded("application/json", long).await, 413, TOO_LARGE);
}

#[tokio::test]
async fn body_over_the_limit_is_rejected() {
    let largest = format!("{}{{}}", " ".repeat(MAX_BODY - 2));
    assert!(read_json(largest.clone()).await.is_ok());
    assert_rejected(read_json(largest + " ").await, 413, TOO_LARGE);
    assert!(
        read_json(pieces(MAX_BODY / 4, b"    "))
            .await
            .is_err_and(|error| error.status() == 400)
    );
    assert_rejected(
        read_json(pieces(MAX_BODY / 4 + 1, b"    ")).await,
        413,
        TOO_LARGE,
    );
}

#[tokio::test]
async fn size_is_checked_before_type_and_type_before_syntax() {
    assert_rejected(
        read(&["text/plain"], " ".repeat(MAX_BODY + 1)).await,
        413,
        TOO_LARGE,
    );
    assert_rejected(
        read(&["text/plain"], pieces(MAX_BODY, b"    ")).await,
        413,
        TOO_LARGE,
    );
    assert_rejected(
        read(&["text/plain"], "{").await,
        415,
        "Content-Type must be application/json.",
    );
}

#[tokio::test(start_paused = true)]
async fn body_that_does_not_arrive_times_out_after_30_seconds() {
    let start = tokio::time::Instant::now();
    let never = tokio_stream::pending::<Result<Bytes, Infallible>>();
    let body = read_json(Body::from_stream(never)).await;
    assert_rejected(body, 408, "Request body did not arrive in time.");
    assert_eq!(start.elapsed(), Duration::from_secs(30));
}

#[tokio::test]
async fn body_that_breaks_off_is_a_bad_request() {
    let broken = tokio_stream::once(Err::<Bytes, _>("connection reset"));
    assert_rejected(
        read_json(Body::from_stream(broken)).await,
        400,
        "Request body could not be read.",
    );
}
