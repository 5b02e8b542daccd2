//! Writes what Envoy reads.

use crate::{accounts::AccountError, user::User};
use prost_types::{Struct, Value, value::Kind};
use rolegate_grpc_server::log_error;
use rolegate_proto::{
    envoy_auth_v3::{
        CheckResponse, DeniedHttpResponse, HeaderValue, HeaderValueOption, HttpStatus,
        OkHttpResponse, Status, check_response::HttpResponse,
    },
    http::{BASIC_CHALLENGE_WITH_REALM, BEARER_CHALLENGE, HttpReason, REASON_HEADER, retry_after},
    identity_headers::identity_headers,
};
use rolegate_sign_in::{
    clear_site_data::{CACHE, CLEAR_SITE_DATA},
    interstitial::Interstitial,
};
use tonic::Code;

pub(super) enum Refusal {
    /// Without credentials, or with malformed ones.
    NotAuthenticated,
    /// A change with a cookie, or with a password that a browser remembers, that another site may have caused.
    CrossSite,
    /// A person has to sign in first, at this address.
    SignIn(String),
    /// A person may not open this, and sees why.
    Interstitial(AccountError, Interstitial),
    /// Whatever is temporary for a client is UNAVAILABLE.
    Error(AccountError),
}

impl From<AccountError> for Refusal {
    fn from(error: AccountError) -> Self {
        Self::Error(error)
    }
}

/// The request passes, with the identity headers. Access logs and other filters of Envoy read the same
/// from the dynamic metadata.
pub(super) fn allowed(user: &User) -> CheckResponse {
    let identity = identity_headers(user.id, &user.username, user.role);
    let field = |(name, value): &(&str, String)| {
        let kind = Some(Kind::StringValue(value.clone()));
        ((*name).to_owned(), Value { kind })
    };
    let fields = identity.iter().map(field).collect();
    let headers = identity
        .into_iter()
        .map(|(name, value)| header(name, value))
        .collect();
    CheckResponse {
        status: Some(status(Code::Ok, "")),
        dynamic_metadata: Some(Struct { fields }),
        http_response: Some(HttpResponse::OkResponse(OkHttpResponse { headers })),
    }
}

/// The answer of the gateway, which asks for a password where `allows_basic_challenge` says so.
pub(super) fn denied(refusal: &Refusal, allows_basic_challenge: bool) -> CheckResponse {
    let (code, (reason, http_status), detail, challenge, delay) = match refusal {
        Refusal::NotAuthenticated => {
            let reason = HttpReason::NotAuthenticated;
            (
                Code::Unauthenticated,
                (reason.as_str(), reason.http_status()),
                "Not authenticated.",
                BEARER_CHALLENGE,
                None,
            )
        }
        Refusal::CrossSite => {
            let reason = HttpReason::CrossSite;
            (
                Code::PermissionDenied,
                (reason.as_str(), reason.http_status()),
                "Cross-site request.",
                BEARER_CHALLENGE,
                None,
            )
        }
        Refusal::SignIn(page) => {
            // A session may have ended meanwhile, and what its browser has kept must not be shown again.
            let headers = vec![
                header("location", page),
                header("cache-control", "no-store"),
                header(CLEAR_SITE_DATA.as_str(), CACHE),
            ];
            return refused(
                Code::Unauthenticated,
                "sign in first",
                303,
                headers,
                String::new(),
            );
        }
        Refusal::Error(error) | Refusal::Interstitial(error, _) => {
            let (reason, delay) = (error.reason(), error.retry_after());
            log_error(reason, error);
            let status = reason.http_status();
            let detail = reason.http_detail();
            let code = if status == 503 {
                Code::Unavailable
            } else {
                reason.code()
            };
            let (detail, challenge) = (detail.unwrap_or_default(), reason.bearer_challenge());
            (code, (reason.as_str(), status), detail, challenge, delay)
        }
    };
    let retry_after = retry_after(http_status, delay);
    let challenges = [
        allows_basic_challenge.then_some(BASIC_CHALLENGE_WITH_REALM),
        Some(challenge),
    ];
    let challenges = challenges
        .into_iter()
        .flatten()
        .map(|it| header("www-authenticate", it));
    let json = [("content-type", "application/json")];
    let (of_body, body) = match refusal {
        Refusal::Interstitial(_, page) => (&page.headers()[..], page.html.clone()),
        _ => (
            &json[..],
            serde_json::json!({ "detail": detail }).to_string(),
        ),
    };
    let always = [
        header("cache-control", "no-store"),
        header(REASON_HEADER, reason),
    ];
    let headers = always
        .into_iter()
        .chain(of_body.iter().map(|(name, value)| header(name, *value)))
        .chain(challenges.filter(|_| http_status == 401))
        .chain(retry_after.map(|seconds| header("retry-after", seconds.to_string())))
        .collect();
    refused(code, detail, http_status, headers, body)
}

fn refused(
    code: Code,
    message: &str,
    http_status: u16,
    headers: Vec<HeaderValueOption>,
    body: String,
) -> CheckResponse {
    let http_status = Some(HttpStatus {
        code: http_status.into(),
    });
    let response = DeniedHttpResponse {
        status: http_status,
        headers,
        body,
    };
    CheckResponse {
        status: Some(status(code, message)),
        http_response: Some(HttpResponse::DeniedResponse(response)),
        ..CheckResponse::default()
    }
}

fn status(code: Code, message: &str) -> Status {
    Status {
        code: code.into(),
        message: message.to_owned(),
    }
}

/// Replaces the header of the client. In a refusal, Envoy removes the header and then adds all values.
fn header(name: &str, value: impl Into<String>) -> HeaderValueOption {
    let (key, value) = (name.to_owned(), value.into());
    let header = HeaderValue {
        key,
        value,
        ..HeaderValue::default()
    };
    HeaderValueOption {
        header: Some(header),
        append: Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::{AccountError, Code, HttpResponse, Refusal, denied};
    use rolegate_proto::Reason;
    use std::time::Duration;

    #[test]
    fn every_reason_denies_and_an_outage_never_looks_like_a_denial() {
        for &reason in Reason::ALL {
            let error = AccountError::Later {
                reason,
                retry_after: Duration::ZERO,
            };
            let response = denied(&Refusal::Error(error), true);
            let code = response.status.expect("a status").code;
            assert_ne!(code, i32::from(Code::Ok), "{reason:?}");
            let Some(HttpResponse::DeniedResponse(denied)) = response.http_response else {
                panic!("{reason:?} does not deny");
            };
            let status = denied.status.expect("a status").code;
            assert_eq!(
                status == 503,
                code == i32::from(Code::Unavailable),
                "{reason:?}"
            );
            let has = |name| {
                denied
                    .headers
                    .iter()
                    .any(|it| it.header.as_ref().is_some_and(|it| it.key == name))
            };
            assert_eq!(
                has("retry-after"),
                [429, 503].contains(&status),
                "{reason:?}"
            );
            assert_eq!(has("www-authenticate"), status == 401, "{reason:?}");
        }
    }
}
