//! Checks the size of a call's head, and the headers of gRPC in it (gRPC over HTTP/2, Requests).
//!
//! A header that is malformed or given twice is refused with `INVALID_ARGUMENT` and its name. To treat it as
//! absent would be a guess: a call without a timeout, for example, would run longer than its caller waits.
//! `te` needs no rule here, because HTTP/2 itself resets a stream with another value than `trailers`.

use crate::error_status::error_status;
use http::{
    HeaderMap, HeaderName, HeaderValue, Response, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
};
use rolegate_proto::Reason;
use std::time::Duration;
use tonic::{Status, body::Body};

const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
const GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

/// The maximum size of a call's metadata in bytes, as HTTP/2 counts it: with 32 more bytes for each entry (RFC
/// 9113, section 6.5.2).
pub(crate) const MAX_METADATA: u16 = 16 * 1024;

/// The maximum number of digits in a timeout.
const MAX_TIMEOUT_DIGITS: usize = 8;

/// The error of a malformed head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedHead {
    /// The content type is missing, given twice, or not that of gRPC.
    #[error("content-type must be application/grpc, given once")]
    ContentType,
    /// The body has a content coding of HTTP, in addition to the encoding of gRPC messages.
    #[error("content-encoding is not supported")]
    ContentEncoding,
    /// The encoding is given twice. tonic itself refuses a single encoding that it does not know.
    #[error("grpc-encoding must be given at most once")]
    GrpcEncoding,
    /// The timeout is malformed or given twice.
    #[error(
        "grpc-timeout must be given at most once: one to eight digits and one of H, M, S, m, u, n"
    )]
    GrpcTimeout,
}

/// Returns the response to a call whose head is malformed or too large, or `None` for any other call.
pub(crate) fn refusal(headers: &HeaderMap) -> Option<Response<Body>> {
    let size: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 32)
        .sum();
    if size > MAX_METADATA.into() {
        return Some(Status::resource_exhausted("metadata must be at most 16 KiB").into_http());
    }
    let error = verify(headers).err()?;
    let mut response = error_status(Reason::RequestInvalid, &error, None).into_http();
    // The specification requires this status. Otherwise, clients that do not speak gRPC would treat the status
    // 200 of gRPC errors as a success.
    if error == MalformedHead::ContentType {
        *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    }
    Some(response)
}

fn verify(headers: &HeaderMap) -> Result<(), MalformedHead> {
    match at_most_once(headers, &CONTENT_TYPE, MalformedHead::ContentType)? {
        Some(content_type) if is_grpc(content_type) => {}
        _ => return Err(MalformedHead::ContentType),
    }
    let mut codings = headers.get_all(CONTENT_ENCODING).iter();
    if !codings.all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(MalformedHead::ContentEncoding);
    }
    at_most_once(headers, &GRPC_ENCODING, MalformedHead::GrpcEncoding)?;
    timeout(headers)?;
    Ok(())
}

/// Returns whether a content type is `application/grpc` or `application/grpc+proto`, with any parameters.
fn is_grpc(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else {
        return false;
    };
    let essence = text.split(';').next().unwrap_or_default().trim();
    let types = ["application/grpc", "application/grpc+proto"];
    types.iter().any(|it| essence.eq_ignore_ascii_case(it))
}

/// Returns the time that the caller waits, which is `grpc-timeout`, or `None` without this header. Fails if the
/// header is malformed or given twice.
pub fn timeout(headers: &HeaderMap) -> Result<Option<Duration>, MalformedHead> {
    at_most_once(headers, &GRPC_TIMEOUT, MalformedHead::GrpcTimeout)?
        .map(|value| parse_timeout(value).ok_or(MalformedHead::GrpcTimeout))
        .transpose()
}

fn parse_timeout(value: &HeaderValue) -> Option<Duration> {
    let text = value.to_str().ok()?;
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    // `parse` alone would also accept a sign.
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || number.len() > MAX_TIMEOUT_DIGITS {
        return None;
    }
    let number: u64 = number.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_hours(number),
        "M" => Duration::from_mins(number),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

/// Returns the value of a header, or `None` without this header. Fails with `error` if it is given more than once.
fn at_most_once<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
    error: MalformedHead,
) -> Result<Option<&'a HeaderValue>, MalformedHead> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    match values.next() {
        Some(_) => Err(error),
        None => Ok(first),
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_METADATA, MalformedHead, refusal, timeout, verify};
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
            let response = refusal(&headers).expect("a refusal");
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
        assert!(refusal(&head(&[GRPC, ("x-note", &note)])).is_none());
        let many = vec![("x-note", ""); usize::from(MAX_METADATA / 32)];
        let one = [GRPC, ("x-note", &*format!("{note}a"))];
        for lines in [&one[..], &many] {
            let response = refusal(&head(lines)).expect("a refusal");
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
}
