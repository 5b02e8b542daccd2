//! Writes the answers that Envoy reads.

use crate::{accounts::AccountError, user::User};
use prost_types::Struct;
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
    sign_in::SessionRefusal,
};
use std::time::Duration;
use tonic::Code;

/// The reason for refusing a request. It decides which response Envoy sends.
pub(super) enum Refusal {
    /// The request has no credentials, or malformed ones.
    NotAuthenticated,
    /// The request is a change that another site may have caused, with a cookie or a password that the browser
    /// remembers.
    CrossSite,
    /// A person has to sign in first, at the page with the given address.
    SignIn(String),
    /// A person is signed in but may not open this address. The response is a page with the reason.
    Interstitial(AccountError, Interstitial),
    /// Any other error. If its HTTP status is 503, the answer has the code UNAVAILABLE, so that an outage does
    /// not look like a denial.
    Error(AccountError),
}

impl From<AccountError> for Refusal {
    fn from(error: AccountError) -> Self {
        Self::Error(error)
    }
}

impl From<SessionRefusal<AccountError>> for Refusal {
    fn from(refusal: SessionRefusal<AccountError>) -> Self {
        match refusal {
            SessionRefusal::CrossSite => Self::CrossSite,
            SessionRefusal::SignInRequired {
                page: Some(page), ..
            } => Self::SignIn(page),
            SessionRefusal::SignInRequired { error, .. } => {
                error.map_or(Self::NotAuthenticated, Self::Error)
            }
            SessionRefusal::Unchecked(error) => Self::Error(error),
        }
    }
}

/// Tells whether the credential is wrong. Any other error, such as an overload, says nothing about it.
pub(super) fn is_unauthenticated(error: &AccountError) -> bool {
    error.reason().code() == Code::Unauthenticated
}

/// Returns the answer that lets the request pass, with the identity headers. Access logs and other filters of
/// Envoy can read the same values from the dynamic metadata.
pub(super) fn allow(user: &User) -> CheckResponse {
    let identity = identity_headers(user.id, &user.username, user.role, &user.group_names());
    let fields = identity
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone().into()))
        .collect();
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

/// The parts of a refusal, which are the same as in the gateway's response.
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
    /// Creates the denial of a request that was not authenticated.
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

/// Returns the answer that refuses the request, with the same response as the gateway's. Also logs the error of
/// a use case. A 401 requests a password by HTTP Basic only if `allows_basic_challenge` is true.
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
        headers.extend(page.headers().map(|(name, value)| header(name, value)));
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

/// Returns the answer that redirects a person to the sign-in page.
fn redirect(page: &str) -> CheckResponse {
    // The session may have expired or been revoked since the browser cached pages of the application. Clearing
    // the cache keeps the browser from showing these pages again.
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

/// Creates a header that replaces the client's header of the same name. In a refusal, Envoy first removes the
/// old header and then adds all values, so a name may be repeated.
fn header(name: &str, value: impl Into<String>) -> HeaderValueOption {
    HeaderValueOption {
        header: Some(HeaderValue {
            key: name.to_owned(),
            value: value.into(),
            ..HeaderValue::default()
        }),
        append: Some(false),
        keep_empty_value: true,
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
