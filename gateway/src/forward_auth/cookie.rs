//! Browsers: the session in a cookie, and the way to the page to sign in at.

use crate::{extract::credentials::cross_site, sign_in::interstitials};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header::LOCATION};
use rolegate_auth_client::{
    AuthClient, CallContext, Reason, Requirement, User,
    axum::{ApiError, BearerToken},
};
use rolegate_sign_in::{
    clear_site_data::{CACHE, CLEAR_SITE_DATA},
    cookie::CookieError,
    request::BrowserRequest,
    sign_in::SignIn,
};

/// The user of the only good session in the cookies, if the role stored now meets the requirement. A person without
/// one, or with two, is led to the page, with `redirect_status`. The denial of a role has the session in its
/// extensions, for the audit log.
pub(super) async fn user(
    auth: &AuthClient,
    sign_in: &SignIn,
    headers: &HeaderMap,
    context: CallContext,
    requirement: Requirement<'_>,
    redirect_status: StatusCode,
) -> Result<User, Response> {
    let request = BrowserRequest::forwarded(headers);
    let (sessions, mut has_two_sessions) = match sign_in.session_candidates(request) {
        Ok(sessions) => (sessions, false),
        Err(CookieError::TooMany) => (Vec::new(), true),
        Err(CookieError::CrossSite) => return Err(cross_site().into_response()),
    };
    let mut refused = ApiError::not_authenticated();
    let mut decision = None;
    for session in sessions {
        let good = match auth.authorize_cookie(&session, requirement, context).await {
            Ok(user) => Ok(user),
            Err(error) if error.reason().is_some_and(Reason::is_denial) => {
                let mut denied = ApiError::from(error).into_response();
                denied.extensions_mut().insert(BearerToken(session));
                Err(denied)
            }
            Err(error) => {
                refused = error.into();
                if refused.status() != StatusCode::UNAUTHORIZED {
                    return Err(refused.into_response());
                }
                continue;
            }
        };
        has_two_sessions |= decision.replace(good).is_some();
    }
    if has_two_sessions {
        // Another host may have set either, so neither counts.
        refused = ApiError::not_authenticated();
    } else if let Some(decision) = decision {
        return match decision {
            Err(denied) if request.can_be_redirected() => {
                let any = Requirement::AnyAuthenticated;
                let user = match denied.extensions().get() {
                    Some(BearerToken(session)) => {
                        auth.authorize_cookie(session, any, context).await.ok()
                    }
                    None => None,
                };
                Err(interstitials::explain_denial(
                    denied,
                    sign_in,
                    request,
                    user.as_ref(),
                ))
            }
            decision => decision,
        };
    }
    let page = sign_in.redirect(request, has_two_sessions);
    let page = page.and_then(|page| HeaderValue::from_str(&page).ok());
    let Some(page) = page else {
        return Err(refused.into_response());
    };
    let mut response = match redirect_status {
        StatusCode::UNAUTHORIZED => refused.into_response(),
        status => status.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(LOCATION, page);
    // A session may have ended meanwhile, and what its browser has kept must not be shown again.
    headers.insert(CLEAR_SITE_DATA, HeaderValue::from_static(CACHE));
    Err(response)
}
