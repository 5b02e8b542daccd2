//! Writes what Envoy reads.

use crate::user::User;
use envoy_types::pb::{
    envoy::{
        config::core::v3::{HeaderValue, HeaderValueOption},
        service::auth::v3::{
            CheckResponse, DeniedHttpResponse, OkHttpResponse, check_response::HttpResponse,
        },
        r#type::v3::HttpStatus,
    },
    google::{
        protobuf::{BoolValue, Struct, Value, value::Kind},
        rpc,
    },
};
use rolegate_proto::{
    Reason,
    http::{BASIC_CHALLENGE, BEARER_CHALLENGE, HttpReason, REASON_HEADER, retry_after},
    identity_headers::identity_headers,
};
use std::time::Duration;
use tonic::Code;

/// The request passes, with the identity headers. Access logs and other filters of Envoy read the same
/// from the dynamic metadata.
pub(super) fn allowed(user: &User) -> CheckResponse {
    let identity = identity_headers(user.id, &user.username, user.role);
    let fields = identity
        .clone()
        .map(|(name, value)| (name.to_owned(), Value { kind: Some(Kind::StringValue(value)) }));
    let headers = identity.map(|(name, value)| header(name, value)).into();
    CheckResponse {
        status: Some(status(Code::Ok, "")),
        dynamic_metadata: Some(Struct { fields: fields.into() }),
        http_response: Some(HttpResponse::OkResponse(OkHttpResponse {
            headers,
            ..OkHttpResponse::default()
        })),
    }
}

/// A refusal, as the gateway answers it.
#[derive(Debug)]
pub(super) struct Denial {
    code: Code,
    http_status: u16,
    reason: &'static str,
    detail: &'static str,
    challenge: &'static str,
    /// In seconds.
    retry_after: Option<u64>,
}

impl Denial {
    /// The request has no credentials, or malformed ones.
    pub(super) fn not_authenticated() -> Self {
        let (detail, challenge) = ("Not authenticated.", BEARER_CHALLENGE);
        let (reason, http_status) = HttpReason::NotAuthenticated.http();
        let code = Code::Unauthenticated;
        Self { code, http_status, reason, detail, challenge, retry_after: None }
    }

    /// Whatever is temporary for a client is UNAVAILABLE.
    pub(super) fn of_reason(reason: Reason, delay: Option<Duration>) -> Self {
        let (http_status, detail) = reason.http();
        let code = if http_status == 503 { Code::Unavailable } else { reason.code() };
        Self {
            code,
            http_status,
            reason: reason.as_str(),
            detail: detail.unwrap_or_default(),
            challenge: reason.bearer_challenge(),
            retry_after: retry_after(http_status, delay),
        }
    }
}

impl From<Denial> for CheckResponse {
    fn from(denial: Denial) -> Self {
        let Denial { code, http_status, reason, detail, challenge, retry_after } = denial;
        let challenges =
            [challenge, BASIC_CHALLENGE].map(|value| ("www-authenticate", value.to_owned()));
        let always = [
            ("content-type", "application/json"),
            ("cache-control", "no-store"),
            (REASON_HEADER, reason),
        ];
        let headers = always
            .map(|(name, value)| (name, value.to_owned()))
            .into_iter()
            .chain(challenges.into_iter().filter(|_| http_status == 401))
            .chain(retry_after.map(|seconds| ("retry-after", seconds.to_string())))
            .map(|(name, value)| header(name, value))
            .collect();
        let body = serde_json::json!({ "detail": detail }).to_string();
        let http_status = Some(HttpStatus { code: http_status.into() });
        let response = DeniedHttpResponse { status: http_status, headers, body };
        Self {
            status: Some(status(code, detail)),
            http_response: Some(HttpResponse::DeniedResponse(response)),
            ..Self::default()
        }
    }
}

fn status(code: Code, message: &str) -> rpc::Status {
    rpc::Status { code: code.into(), message: message.to_owned(), ..rpc::Status::default() }
}

/// Replaces the header of the client. Envoy appends if `append` is unset. In a refusal, it removes the
/// header and then adds all values.
#[expect(deprecated, reason = "Envoy reads `append` first, and older ones nothing else")]
fn header(name: &str, value: String) -> HeaderValueOption {
    let header = HeaderValue { key: name.to_owned(), value, ..HeaderValue::default() };
    let append = Some(BoolValue { value: false });
    HeaderValueOption { header: Some(header), append, ..HeaderValueOption::default() }
}

#[cfg(test)]
mod tests {
    use super::{Code, Denial, Duration, HttpResponse, Reason};
    use envoy_types::pb::envoy::service::auth::v3::CheckResponse;

    #[test]
    fn every_reason_denies_and_an_outage_never_looks_like_a_denial() {
        for &reason in Reason::ALL {
            let response = CheckResponse::from(Denial::of_reason(reason, Some(Duration::ZERO)));
            let code = response.status.expect("a status").code;
            assert_ne!(code, i32::from(Code::Ok), "{reason:?}");
            let Some(HttpResponse::DeniedResponse(denied)) = response.http_response else {
                panic!("{reason:?} does not deny");
            };
            let status = denied.status.expect("a status").code;
            assert_eq!(status == 503, code == i32::from(Code::Unavailable), "{reason:?}");
            let has = |name| {
                denied.headers.iter().any(|it| it.header.as_ref().is_some_and(|it| it.key == name))
            };
            assert_eq!(has("retry-after"), [429, 503].contains(&status), "{reason:?}");
            assert_eq!(has("www-authenticate"), status == 401, "{reason:?}");
        }
    }
}
