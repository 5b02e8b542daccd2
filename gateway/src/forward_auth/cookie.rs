//! Checks the sessions in a browser's cookies, and redirects a person without a valid session to the sign-in page.

use crate::{extract::credentials::cross_site, sign_in::interstitials};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header::LOCATION};
use rolegate_auth_client::{
    AuthClient, CallContext, CallError, Reason, Requirement, User,
    axum::{ApiError, BearerToken},
};
use rolegate_sign_in::{
    clear_site_data::{CACHE, CLEAR_SITE_DATA},
    cookie::CookieError,
    request::BrowserRequest,
    sign_in::{RedirectReason, SignIn},
};
use secrecy::SecretString;

/// The outcome of checking all sessions in the cookies of a request.
enum CookieCheck {
    /// The only valid session belongs to this user, who meets the requirement.
    Admitted(User),
    /// The user of the only valid session does not meet the requirement.
    Denied {
        error: CallError,
        session: SecretString,
    },
    /// No session is valid.
    NotAuthenticated(ApiError),
    /// Two sessions are valid. Neither counts, because another host may have set either of them.
    TwoSessions,
}

/// Returns the user of the only valid session in the cookies. Refuses a user whose stored role does not meet the
/// requirement.
///
/// A person without a valid session, or with two, is redirected to the sign-in page with `redirect_status`. If the role
/// does not suffice, the response has the session in its extensions, for the audit log.
pub(super) async fn authenticate(
    auth: &AuthClient,
    sign_in: &SignIn,
    headers: &HeaderMap,
    context: CallContext,
    requirement: Requirement<'_>,
    redirect_status: StatusCode,
) -> Result<User, Response> {
    let request = BrowserRequest::forwarded(headers);
    let check = match sign_in.session_candidates(request) {
        Ok(sessions) => check_sessions(auth, sessions, context, requirement)
            .await
            .map_err(ApiError::into_response)?,
        Err(CookieError::TooMany) => CookieCheck::TwoSessions,
        Err(CookieError::CrossSite) => return Err(cross_site().into_response()),
    };
    let redirect = |reason, refusal| {
        let page = sign_in.redirect(request, reason);
        redirect(page, refusal, redirect_status)
    };
    match check {
        CookieCheck::Admitted(user) => Ok(user),
        CookieCheck::Denied { error, session } => {
            Err(deny(auth, sign_in, request, error, session, context).await)
        }
        CookieCheck::NotAuthenticated(refusal) => {
            Err(redirect(RedirectReason::NotAuthenticated, refusal))
        }
        CookieCheck::TwoSessions => {
            let refusal = ApiError::not_authenticated();
            Err(redirect(RedirectReason::TwoSessions, refusal))
        }
    }
}

/// Checks all sessions, because a valid one counts only if no other is valid. An error other than 401, such as an
/// outage, is returned at once, because it leaves open whether that session is valid.
async fn check_sessions(
    auth: &AuthClient,
    sessions: Vec<SecretString>,
    context: CallContext,
    requirement: Requirement<'_>,
) -> Result<CookieCheck, ApiError> {
    let mut refusal = ApiError::not_authenticated();
    let mut valid = None;
    let mut has_two_sessions = false;
    for session in sessions {
        let check = match auth.authorize_cookie(&session, requirement, context).await {
            Ok(user) => CookieCheck::Admitted(user),
            Err(error) if error.reason().is_some_and(Reason::is_denial) => {
                CookieCheck::Denied { error, session }
            }
            Err(error) => {
                refusal = error.into();
                if refusal.status() != StatusCode::UNAUTHORIZED {
                    return Err(refusal);
                }
                continue;
            }
        };
        has_two_sessions |= valid.replace(check).is_some();
    }
    if has_two_sessions {
        return Ok(CookieCheck::TwoSessions);
    }
    Ok(valid.unwrap_or(CookieCheck::NotAuthenticated(refusal)))
}

/// Returns the denial of a user whose role does not suffice, with the session in its extensions. If a browser opens a
/// page, the body is a page that explains the denial.
async fn deny(
    auth: &AuthClient,
    sign_in: &SignIn,
    request: BrowserRequest<'_>,
    error: CallError,
    session: SecretString,
    context: CallContext,
) -> Response {
    let mut denial = ApiError::from(error).into_response();
    if request.can_be_redirected() {
        let any = Requirement::AnyAuthenticated;
        let user = auth.authorize_cookie(&session, any, context).await.ok();
        denial = interstitials::explain_denial(denial, sign_in, request, user.as_ref());
    }
    denial.extensions_mut().insert(BearerToken(session));
    denial
}

/// Returns a redirect to `page`, the address of the sign-in page, or `refusal` if `page` is `None`. With the status
/// 401, the redirect is `refusal` with the header `Location`.
fn redirect(page: Option<String>, refusal: ApiError, redirect_status: StatusCode) -> Response {
    let Some(page) = page.and_then(|page| HeaderValue::from_str(&page).ok()) else {
        return refusal.into_response();
    };
    let mut response = match redirect_status {
        StatusCode::UNAUTHORIZED => refusal.into_response(),
        status => status.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(LOCATION, page);
    // The session may have ended since the browser loaded its last page. The browser must not show pages of the
    // application from its cache again.
    headers.insert(CLEAR_SITE_DATA, HeaderValue::from_static(CACHE));
    response
}
