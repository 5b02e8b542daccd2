use super::{LineFormatter, LogFormat};
use crate::request_context::RequestContext;
use http::HeaderValue;
use serde_json::{Value, json};
use std::{io, sync::Arc};
use tracing_subscriber::{Layer as _, layer::SubscriberExt as _};

/// Returns the lines that `program` logs in this format.
fn logged(format: LogFormat, program: impl FnOnce()) -> String {
    let (reader, writer) = io::pipe().expect("a pipe");
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(Arc::new(writer))
        .event_format(LineFormatter { format })
        .boxed();
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing::subscriber::with_default(subscriber, program);
    io::read_to_string(reader).expect("text")
}

fn in_request(work: impl FnOnce()) {
    let request_id = HeaderValue::from_static("r1");
    let context = RequestContext {
        request_id,
        client_address: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    runtime.block_on(context.scope(async { work() }));
}

#[test]
fn a_json_line_is_one_object_with_typed_fields() {
    let text = logged(LogFormat::Json, || {
        in_request(
            || tracing::warn!(target: "t", status = 503, ok = false, who = "a\"b", "said\n"),
        );
    });
    assert_eq!(text.lines().count(), 1, "{text}");
    let mut line: Value = serde_json::from_str(&text).expect("JSON");
    let timestamp = line["timestamp"].take();
    assert!(
        timestamp.as_str().is_some_and(|time| time.ends_with('Z')),
        "{timestamp}"
    );
    let expected = json!({
        "timestamp": null, "level": "WARN", "target": "t", "message": "said\n", "status": 503,
        "ok": false, "who": "a\"b", "request_id": "r1",
    });
    assert_eq!(line, expected);
}

#[test]
fn a_pretty_line_ends_with_the_request_id() {
    let text = logged(LogFormat::Pretty, || {
        in_request(|| tracing::info!(target: "t", status = 200, "said"));
    });
    assert!(
        text.ends_with("  INFO t: said status=200 request_id=r1\n"),
        "{text:?}"
    );
}

#[test]
fn a_line_outside_requests_has_no_request_id() {
    for format in [LogFormat::Json, LogFormat::Pretty] {
        let text = logged(format, || tracing::info!("said"));
        assert!(
            text.contains("said") && !text.contains("request_id"),
            "{text}"
        );
    }
}

#[test]
fn a_pretty_line_escapes_control_characters() {
    let text = logged(LogFormat::Pretty, || {
        tracing::info!(name = "a\nb\u{1b}[31m", "said");
    });
    assert_eq!(text.lines().count(), 1, "{text:?}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}
