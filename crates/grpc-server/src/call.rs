//! Checks the head of an incoming call, identifies its caller, and gives handlers the credential, the client address
//! and the deadline of the call.
//!
//! [`check_head`] checks the size of the head and the headers of gRPC in it (gRPC over HTTP/2, Requests). A header that is
//! malformed or given twice is refused with `INVALID_ARGUMENT` and its name. To treat it as absent would be a guess: a
//! call without a timeout, for example, would run longer than its caller waits. `te` needs no rule here, because HTTP/2
//! itself resets a stream with another value than `trailers`.

use crate::{connection::Peer, error_status::error_status};
use http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
};
use rolegate_http_server::ignored_address::AddressHeader;
use rolegate_program::{cidr_set::CidrSet, request_context::RequestContext};
use rolegate_proto::{Reason, RequestId, authorization::bearer_token, metadata};
use std::{
    net::IpAddr,
    time::{Duration, Instant},
};
use tonic::{Status, body::Body, metadata::MetadataMap};

/// Counts and logs client addresses that are ignored, because callers outside of `TRUSTED_GATEWAYS` report
/// them.
pub static IGNORED_ADDRESSES: AddressHeader = AddressHeader::new(
    metadata::CLIENT_ADDRESS,
    "TRUSTED_GATEWAYS",
    "gateway or a service of yours",
);

// As constants, these names are parsed once and not with each call.
const CLIENT_ADDRESS: HeaderName = HeaderName::from_static(metadata::CLIENT_ADDRESS);
const GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
const REQUEST_ID: HeaderName = HeaderName::from_static(metadata::REQUEST_ID);

/// The maximum size of a call's metadata in bytes, as HTTP/2 counts it: with 32 more bytes for each entry (RFC
/// 9113, section 6.5.2).
pub(crate) const MAX_METADATA: u16 = 16 * 1024;

/// The maximum time until the response to a call begins. A caller may set a shorter one.
pub(crate) const MAX_TIMEOUT: Duration = Duration::from_secs(30);

/// The time in which handlers answer a caller that sets no timeout.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum part of a timeout that is reserved for the response, so that the response still reaches the
/// caller in time. If a tenth of the timeout is less, only that tenth is reserved.
const MAX_RESPONSE_RESERVE: Duration = Duration::from_millis(500);

/// The maximum number of digits in a timeout.
const MAX_TIMEOUT_DIGITS: usize = 8;

/// The caller of a call, and the end user for whom it calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    /// True if the caller may report client address, request id and trace, as in [`Peer::is_trusted`]. Unknown
    /// peers are not trusted.
    pub(crate) is_trusted: bool,
    /// The address of the end user. It is the address that a trusted caller reports, and otherwise the address
    /// of the caller. `None` if neither is known.
    pub(crate) client_address: Option<IpAddr>,
}

impl Caller {
    pub(crate) fn identify<B>(request: &Request<B>, trusted: &CidrSet) -> Self {
        let peer: Option<&Peer> = request.extensions().get();
        let is_trusted = peer.is_some_and(|peer| peer.is_trusted(trusted));
        let address = peer.and_then(Peer::address);
        let client_address = match request.headers().get(CLIENT_ADDRESS) {
            Some(reported) if is_trusted => parse_address(reported).or(address),
            Some(_) => {
                IGNORED_ADDRESSES.ignore(address);
                address
            }
            None => address,
        };
        Self {
            is_trusted,
            client_address,
        }
    }

    /// Returns the request context of a call with these headers. Request ids are accepted only from a trusted caller.
    pub(crate) fn request_context(&self, headers: &HeaderMap) -> RequestContext {
        let reported = if self.is_trusted {
            parse_request_ids(headers)
        } else {
            None
        };
        RequestContext {
            request_id: reported.unwrap_or_else(new_request_id),
            client_address: self.client_address,
        }
    }
}

fn parse_address(value: &HeaderValue) -> Option<IpAddr> {
    value.to_str().ok()?.parse().ok()
}

/// Returns the request id that the caller sent, or several ids separated by commas; `None` if the header is
/// missing, given twice or malformed.
fn parse_request_ids(headers: &HeaderMap) -> Option<HeaderValue> {
    let value = metadata::only_value(headers.get_all(REQUEST_ID))?;
    let are_ids = value
        .to_str()
        .ok()?
        .split(',')
        .all(|id| id.parse::<RequestId>().is_ok());
    are_ids.then(|| value.clone())
}

fn new_request_id() -> HeaderValue {
    // The conversion never fails, because an id consists of characters that a header may have.
    HeaderValue::from_str(RequestId::new_random().as_str()).unwrap_or(HeaderValue::from_static("-"))
}

/// A call without its message, as handlers see it.
pub struct Call {
    caller: Caller,
    /// The time at which the message was complete.
    received_at: Instant,
    metadata: MetadataMap,
    extensions: Extensions,
}

impl Call {
    /// Takes the message out of a request of this caller.
    pub(crate) fn split<M>(caller: Caller, request: tonic::Request<M>) -> (Self, M) {
        let (metadata, extensions, message) = request.into_parts();
        let call = Self {
            caller,
            received_at: Instant::now(),
            metadata,
            extensions,
        };
        (call, message)
    }

    /// Returns the credential of the actor, which is the token of `authorization: Bearer <token>` (RFC 6750, section
    /// 2.1). Anything else yields the empty token, which is rejected like any invalid token.
    pub fn credential(&self) -> &str {
        metadata::only_value(self.metadata.get_all(metadata::AUTHORIZATION).iter())
            .and_then(|value| bearer_token(value.as_bytes()))
            .unwrap_or_default()
    }

    /// Does the same as [`Self::credential`], for methods that allow anonymous actors. Returns `None` only if there is
    /// no `authorization`; anything invalid yields the empty token.
    pub fn optional_credential(&self) -> Option<&str> {
        if self.metadata.contains_key(metadata::AUTHORIZATION) {
            Some(self.credential())
        } else {
            None
        }
    }

    /// Returns whether the caller may report the client address, the request id and the trace of the end user: it has
    /// an address in a trusted network, has a verified certificate, or is in this process.
    pub fn is_trusted(&self) -> bool {
        self.caller.is_trusted
    }

    /// Returns the first of these DNS names that is in the verified certificate of the caller. A caller in this
    /// process has a fixed name of its own. Returns `None` for any other caller.
    pub fn caller_name(&self, names: &[String]) -> Option<String> {
        self.extensions.get::<Peer>()?.name_among(names)
    }

    /// Returns the address of the end user; `None` if it is unknown.
    pub fn client_address(&self) -> Option<IpAddr> {
        self.caller.client_address
    }

    /// Returns when the answer must be ready, so that it reaches the caller in time. This is at most `MAX_TIMEOUT`
    /// after the message was complete.
    pub fn deadline(&self) -> Instant {
        // A malformed timeout cannot arrive here, because the server has already refused such a call.
        let timeout = timeout(self.metadata.as_ref())
            .ok()
            .flatten()
            .unwrap_or(DEFAULT_TIMEOUT)
            .min(MAX_TIMEOUT);
        let response_reserve = (timeout / 10).min(MAX_RESPONSE_RESERVE);
        self.received_at + timeout.saturating_sub(response_reserve)
    }
}

/// The error of a malformed head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum MalformedHead {
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
pub(crate) fn check_head(headers: &HeaderMap) -> Option<Response<Body>> {
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
fn timeout(headers: &HeaderMap) -> Result<Option<Duration>, MalformedHead> {
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
mod tests;
