//! Browsers: the session in a cookie, and the way to the page to sign in at.

use crate::extract::credentials::cross_site;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header::LOCATION};
use rolegate_auth_client::{
    AuthClient, CallContext, CallError, Reason, Requirement, User,
    axum::{ApiError, BearerToken},
};
use rolegate_sign_in::{cookie::CookieError, request::BrowserRequest, settings::SignIn};

/// The user of the session in the cookie, if the role stored now meets the requirement. A person without one is
/// led to the page, with `redirect_status`. The denial of a role has the session in its extensions, for the
/// audit log.
pub(super) async fn user(
    auth: &AuthClient,
    sign_in: &SignIn,
    headers: &HeaderMap,
    context: CallContext,
    requirement: Requirement<'_>,
    redirect_status: StatusCode,
) -> Result<User, Response> {
    let request = BrowserRequest::forwarded(headers);
    let refused = match sign_in.session(request) {
        Ok(None) => ApiError::not_authenticated(),
        Err(CookieError::Twice) => return Err(ApiError::not_authenticated().into_response()),
        Err(CookieError::CrossSite) => {
            return Err(cross_site().into_response());
        }
        Ok(Some(session)) => {
            let user = auth.authorize_cookie(&session, requirement, context).await;
            let is_denied = |error: &CallError| error.reason().is_some_and(Reason::is_denial);
            match user {
                Ok(user) => return Ok(user),
                Err(error) if is_denied(&error) => {
                    let mut denied = ApiError::from(error).into_response();
                    denied.extensions_mut().insert(BearerToken(session));
                    return Err(denied);
                }
                Err(error) => error.into(),
            }
        }
    };
    let is_nobody = refused.status() == StatusCode::UNAUTHORIZED;
    let page = is_nobody.then(|| sign_in.redirect(request)).flatten();
    let page = page.and_then(|page| HeaderValue::from_str(&page).ok());
    let Some(page) = page else {
        return Err(refused.into_response());
    };
    let mut response = match redirect_status {
        StatusCode::UNAUTHORIZED => refused.into_response(),
        status => status.into_response(),
    };
    response.headers_mut().insert(LOCATION, page);
    Err(response)
}
