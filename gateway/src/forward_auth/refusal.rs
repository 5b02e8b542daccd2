//! Adds the headers that browsers and proxies expect in a 401 or a 504 at the address of proxies.

use crate::state::GatewayState;
use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use http::{
    HeaderValue, StatusCode,
    header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE},
};
use rolegate_proto::http::BASIC_CHALLENGE_WITH_REALM;
use rolegate_sign_in::request::BrowserRequest;

/// Marks the refusal of a request whose `Authorization` is meant for the application. It is in the extensions of the
/// response.
#[derive(Clone)]
pub(super) struct CookieOnly;

/// Adds the `Basic` challenge to a 401, before the `Bearer` challenge of `ApiError`, because both schemes are accepted.
///
/// `Basic` is left out where the browser's password dialog would interrupt a page or take the place of the sign-in
/// page. It is also left out where only the cookie counts, because a password would be of no use there. `Basic` comes
/// first, because nginx before 1.23 reads only the first challenge. The shipped configuration of nginx adds a missing
/// `Bearer`, but cannot know whether the dialog may open.
///
/// A 504 also gets `Retry-After`, because a decision changes nothing, so the proxy can ask again.
pub(super) async fn complete(
    State(state): State<GatewayState>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let allows_basic = state.sign_in.as_ref().is_none_or(|sign_in| {
        let has_authorization = headers.contains_key(AUTHORIZATION);
        sign_in.allows_basic_challenge(BrowserRequest::forwarded(headers), has_authorization)
    });
    let mut response = next.run(request).await;
    let is_cookie_only = response.extensions().get::<CookieOnly>().is_some();
    let status = response.status();
    let headers = response.headers_mut();
    if status == StatusCode::UNAUTHORIZED && allows_basic && !is_cookie_only {
        let basic = HeaderValue::from_static(BASIC_CHALLENGE_WITH_REALM);
        if let Some(bearer) = headers.insert(WWW_AUTHENTICATE, basic) {
            headers.append(WWW_AUTHENTICATE, bearer);
        }
    }
    if status == StatusCode::GATEWAY_TIMEOUT {
        headers.append(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}
