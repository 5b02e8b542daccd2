use super::super::{MAX_METADATA, MalformedHead, check_head, timeout, verify};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::time::Duration;
use tonic::{Code, Status};

const GRPC: (&str, &str) = ("content-type", "application/grpc");

fn head(lines: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let value = HeaderValue::from_bytes(value.as_bytes()).expect("a header value");
        headers.append(HeaderName::from_static(name), value);
    }
    headers
}

#[test]
fn heads_of_grpc_clients_are_accepted() {
    for lines in [
        &[GRPC][..],
        &[("content-type", "application/grpc+proto")],
        &[("content-type", "Application/gRPC; charset=utf-8")],
        &[GRPC, ("te", "trailers"), ("grpc-timeout", "5S")],
        &[
            GRPC,
            ("grpc-encoding", "gzip"),
            ("content-encoding", "identity"),
        ],
    ] {
        assert_eq!(verify(&head(lines)), Ok(()), "{lines:?}");
    }
}

#[test]
fn a_malformed_or_repeated_header_is_refused_by_its_name() {
    use MalformedHead::{ContentEncoding, ContentType, GrpcEncoding, GrpcTimeout};
    for (lines, error) in [
        (&[][..], ContentType),
        (&[("content-type", "")], ContentType),
        (&[("content-type", "application/json")], ContentType),
        (&[("content-type", "application/grpcx")], ContentType),
        (&[("content-type", "application/grpc-web")], ContentType),
        (&[("content-type", "application/grpc+json")], ContentType),
        (
            &[("content-type", "application/grpc, application/json")],
            ContentType,
        ),
        (&[("content-type", "application/grpc\u{ff}")], ContentType),
        (&[GRPC, GRPC], ContentType),
        (&[GRPC, ("content-type", "application/json")], ContentType),
        (&[GRPC, ("content-encoding", "gzip")], ContentEncoding),
        (
            &[GRPC, ("content-encoding", "identity, gzip")],
            ContentEncoding,
        ),
        (
            &[
                GRPC,
                ("grpc-encoding", "identity"),
                ("grpc-encoding", "gzip"),
            ],
            GrpcEncoding,
        ),
        (&[GRPC, ("grpc-timeout", "")], GrpcTimeout),
        (
            &[GRPC, ("grpc-timeout", "5S"), ("grpc-timeout", "5S")],
            GrpcTimeout,
        ),
        (&[GRPC, ("grpc-timeout", "5S, 5S")], GrpcTimeout),
    ] {
        let headers = head(lines);
        assert_eq!(verify(&headers), Err(error), "{lines:?}");
        let response = check_head(&headers).expect("a refusal");
        let is_unsupported = response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE;
        assert_eq!(is_unsupported, error == ContentType, "{lines:?}");
        let status = Status::from_header_map(response.headers()).expect("a status");
        assert_eq!(status.code(), Code::InvalidArgument, "{lines:?}");
        assert_eq!(status.message(), error.to_string());
    }
}

#[test]
fn metadata_over_the_limit_is_resource_exhausted() {
    let rest = "content-type".len() + "application/grpc".len() + 32 + "x-note".len() + 32;
    let note = "a".repeat(usize::from(MAX_METADATA) - rest);
    assert!(check_head(&head(&[GRPC, ("x-note", &note)])).is_none());
    let many = vec![("x-note", ""); usize::from(MAX_METADATA / 32)];
    let one = [GRPC, ("x-note", &*format!("{note}a"))];
    for lines in [&one[..], &many] {
        let response = check_head(&head(lines)).expect("a refusal");
        let status = Status::from_header_map(response.headers()).expect("a status");
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert_eq!(response.status(), StatusCode::OK, "as of every gRPC error");
    }
}

#[test]
fn a_timeout_is_at_most_eight_digits_and_a_unit() {
    let read = |text: &str| timeout(&head(&[("grpc-timeout", text)]));
    for (text, time) in [
        ("0n", Duration::ZERO),
        ("7n", Duration::from_nanos(7)),
        ("7u", Duration::from_micros(7)),
        ("100m", Duration::from_millis(100)),
        ("5S", Duration::from_secs(5)),
        ("2M", Duration::from_mins(2)),
        ("99999999H", Duration::from_hours(99_999_999)),
    ] {
        assert_eq!(read(text), Ok(Some(time)), "{text}");
    }
    assert_eq!(timeout(&HeaderMap::new()), Ok(None));
    for text in [
        "",
        "S",
        "5",
        "5x",
        "5s",
        "5 S",
        " 5S",
        "5.5S",
        "-5S",
        "+5S",
        "5S5",
        "0x5S",
        "123456789S",
        "99999999999S",
        "\u{665}S",
        "5\u{ff}",
    ] {
        assert_eq!(read(text), Err(MalformedHead::GrpcTimeout), "{text}");
    }
}
