//! Serves interstitials in place of an application's page. They are for a person who may not open the page, for a frame
//! whose session has ended, and for an address that a proxy does not pass.

use super::{
    cookies::Audience,
    return_address::{ReturnAddress, sign_in_path},
    state::SignInState,
};
use crate::state::GatewayState;
use axum::{
    Extension,
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderName, StatusCode, header::HOST};
use rolegate_auth_client::{CallContext, CallError, Reason, User, axum::ApiError};
use rolegate_program::log_limiter::LogLimiter;
use rolegate_proto::http::{HttpReason, REASON_HEADER};
use rolegate_sign_in::{
    design::{Design, OWN_HOST},
    headers::single_value,
    html::escape,
    interstitial::Interstitial,
    origin::Origin,
    request::BrowserRequest,
    sign_in::SignIn,
    texts::Texts,
};
use std::time::Duration;

/// Limits how often an address that proxies do not pass is logged. Each host is logged once an hour, and at most ten
/// hosts are logged, because any client can name any host.
static AMBIGUOUS_ADDRESS_HOSTS: LogLimiter<String> =
    LogLimiter::silent_when_full(10, Duration::from_hours(1));

/// Serves `/sign-in/refused`, the page of a person whose role does not suffice, for proxies that do not show the body
/// of `/authorize`.
///
/// The proxies describe the request with the same headers as at `/authorize`, and repeat `Rolegate-Reason` from its
/// response.
pub(super) async fn refused(
    State(state): State<SignInState>,
    Extension(context): Extension<CallContext>,
    headers: HeaderMap,
) -> Response {
    let own = Origin::from_request_headers(&headers);
    let sessions = state.sign_in.cookie(own.as_ref()).sessions(&headers);
    let user = state
        .find_user(Audience::Applications, &sessions, context)
        .await;
    let denial = CallError::local(read_denial_reason(&headers));
    let response = ApiError::from(denial).into_response();
    let request = BrowserRequest::forwarded(&headers);
    explain_denial(response, &state.sign_in, request, user.as_ref())
}

/// Returns the reason in `Rolegate-Reason`. If the header names no reason of a denial, or is missing because a proxy
/// did not repeat it, the reason is that the user's role does not suffice.
fn read_denial_reason(headers: &HeaderMap) -> Reason {
    let name = single_value(headers, HeaderName::from_static(REASON_HEADER));
    match name.and_then(Reason::from_name) {
        Some(reason) if reason.is_denial() => reason,
        _ => Reason::RoleInsufficient,
    }
}

/// Returns the denial with a page as its body that explains it. The page names the person if `user` is known.
pub(crate) fn explain_denial(
    denial: Response,
    sign_in: &SignIn,
    request: BrowserRequest<'_>,
    user: Option<&User>,
) -> Response {
    let reason = denial.extensions().get().and_then(CallError::reason);
    let reason = reason.unwrap_or(Reason::RoleInsufficient);
    let username = user.map(|user| user.username.as_str());
    with_page(denial, &sign_in.refused(request, username, reason))
}

/// Replaces the body of a response with this page, and adds the headers of the page.
fn with_page(response: Response, page: &Interstitial) -> Response {
    let response = response.map(|_body| Body::from(page.html.clone()));
    (page.headers(), response).into_response()
}

/// Returns the page that is shown in a frame in place of the sign-in form. Its link opens the form outside of the
/// frame.
pub(super) fn link_out_of_frame(design: Design<'_>, back: Option<&ReturnAddress>) -> Response {
    let page = escape(&sign_in_path(back));
    let link = design.render(include_str!("frame_link.html"), &[("page", &page)]);
    let content = design.render(include_str!("in_frame.html"), &[("sign_in", &link)]);
    let page = Interstitial::new(design, OWN_HOST, "{sign_in.title}", &content);
    with_page(StatusCode::OK.into_response(), &page)
}

/// Serves `/sign-in/ambiguous-address`, which explains why a proxy passes an address to no application, and logs the
/// host. It is served even with `SIGN_IN=off`.
pub(crate) async fn ambiguous_address(
    State(state): State<GatewayState>,
    headers: HeaderMap,
) -> Response {
    let requested_host = single_value(&headers, HOST).unwrap_or_default();
    if AMBIGUOUS_ADDRESS_HOSTS.claim(requested_host.to_owned()) {
        tracing::warn!(
            host = ?requested_host,
            "a proxy refused an address of this host with 400, because applications may read its path in several \
             ways; docs/proxies.md says which paths pass"
        );
    }
    let sign_in = state.sign_in.as_deref();
    let page_origin = sign_in.map(SignIn::page_origin).unwrap_or_default();
    let design = match sign_in {
        Some(sign_in) => sign_in.design(&headers),
        None => Design::without_brand(&headers),
    };
    let content = design.render(include_str!("ambiguous_address.html"), &[]);
    let page = Interstitial::new(design, &page_origin, "{ambiguous.title}", &content);
    // The error is for programs, so its detail is in English.
    let detail = Texts::english().find("ambiguous.text").unwrap_or_default();
    let error = ApiError::http(HttpReason::PathInvalid, detail);
    with_page(error.into_response(), &page)
}
