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
use std::time::Duration;
use tonic::Code;

pub(super) enum Refusal {
    /// The request has no credentials, or malformed ones.
    NotAuthenticated,
    /// A change with a cookie, or with a password that a browser remembers, that another site may have caused.
    CrossSite,
    /// A person has to sign in first, at this address.
    SignIn(String),
    /// A person may not open this, and sees why.
    Interstitial(AccountError, Interstitial),
    /// An error. One that is temporary for a client has the code UNAVAILABLE.
    Error(AccountError),
}

impl From<AccountError> for Refusal {
    fn from(error: AccountError) -> Self {
        Self::Error(error)
    }
}

/// The request passes, with the identity headers. Access logs and other filters of Envoy read the same
/// from the dynamic metadata.
pub(super) fn allow(user: &User) -> CheckResponse {
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

/// The parts of a refusal, as the gateway answers it.
struct Denial {
    code: Code,
    http_status: u16,
    /// The value of [`REASON_HEADER`].
    reason: &'static str,
    detail: &'static str,
    bearer_challenge: &'static str,
    delay: Option<Duration>,
}

impl Denial {
    /// The denial of a request that nobody is authenticated for.
    fn anonymous(code: Code, reason: HttpReason, detail: &'static str) -> Self {
        Self {
            code,
            http_status: reason.http_status(),
            reason: reason.as_str(),
            detail,
            bearer_challenge: BEARER_CHALLENGE,
            delay: None,
        }
    }
}

impl From<&AccountError> for Denial {
    fn from(error: &AccountError) -> Self {
        let reason = error.reason();
        let http_status = reason.http_status();
        Self {
            code: if http_status == 503 {
                Code::Unavailable
            } else {
                reason.code()
            },
            http_status,
            reason: reason.as_str(),
            detail: reason.http_detail().unwrap_or_default(),
            bearer_challenge: reason.bearer_challenge(),
            delay: error.retry_after(),
        }
    }
}

/// The answer of the gateway, which asks for a password where `allows_basic_challenge` says so.
pub(super) fn deny(refusal: &Refusal, allows_basic_challenge: bool) -> CheckResponse {
    let denial = match refusal {
        Refusal::NotAuthenticated => Denial::anonymous(
            Code::Unauthenticated,
            HttpReason::NotAuthenticated,
            "Not authenticated.",
        ),
        Refusal::CrossSite => Denial::anonymous(
            Code::PermissionDenied,
            HttpReason::CrossSite,
            "Cross-site request.",
        ),
        Refusal::SignIn(page) => return redirect(page),
        Refusal::Error(error) | Refusal::Interstitial(error, _) => {
            log_error(error.reason(), error);
            Denial::from(error)
        }
    };
    let mut headers = vec![
        header("cache-control", "no-store"),
        header(REASON_HEADER, denial.reason),
    ];
    let body = if let Refusal::Interstitial(_, page) = refusal {
        let page_headers = page.headers();
        headers.extend(
            page_headers
                .iter()
                .map(|(name, value)| header(name, *value)),
        );
        page.html.clone()
    } else {
        headers.push(header("content-type", "application/json"));
        serde_json::json!({ "detail": denial.detail }).to_string()
    };
    if denial.http_status == 401 {
        if allows_basic_challenge {
            headers.push(header("www-authenticate", BASIC_CHALLENGE_WITH_REALM));
        }
        headers.push(header("www-authenticate", denial.bearer_challenge));
    }
    if let Some(seconds) = retry_after(denial.http_status, denial.delay) {
        headers.push(header("retry-after", seconds.to_string()));
    }
    denied_response(
        denial.code,
        denial.detail,
        denial.http_status,
        headers,
        body,
    )
}

/// Sends a person to the page to sign in at.
fn redirect(page: &str) -> CheckResponse {
    // A session may have ended meanwhile, and what its browser has kept must not be shown again.
    let headers = vec![
        header("location", page),
        header("cache-control", "no-store"),
        header(CLEAR_SITE_DATA.as_str(), CACHE),
    ];
    denied_response(
        Code::Unauthenticated,
        "sign in first",
        303,
        headers,
        String::new(),
    )
}

fn denied_response(
    code: Code,
    message: &str,
    http_status: u16,
    headers: Vec<HeaderValueOption>,
    body: String,
) -> CheckResponse {
    let response = DeniedHttpResponse {
        status: Some(HttpStatus {
            code: http_status.into(),
        }),
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
    HeaderValueOption {
        header: Some(HeaderValue {
            key: name.to_owned(),
            value: value.into(),
            ..HeaderValue::default()
        }),
        append: Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::{AccountError, Code, HttpResponse, Refusal, deny};
    use rolegate_proto::Reason;
    use std::time::Duration;

    #[test]
    fn every_reason_denies_and_an_outage_never_looks_like_a_denial() {
        for &reason in Reason::ALL {
            let error = AccountError::RetryLater {
                reason,
                retry_after: Duration::ZERO,
            };
            let response = deny(&Refusal::Error(error), true);
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
