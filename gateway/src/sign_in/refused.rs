//! Interstitials in the place of an application's page: to a person who may not open it, to a frame whose session has
//! ended, and where a proxy does not pass an address.

use super::Pages;
use crate::state::GatewayState;
use axum::{
    Extension,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header::HOST};
use rolegate_auth_client::{CallContext, CallError, Reason, User, axum::ApiError};
use rolegate_proto::http::{HttpReason, REASON_HEADER};
use rolegate_sign_in::{
    design::Design, headers::single_value, html::escape, interstitial::Interstitial,
    origin::Origin, request::BrowserRequest, sign_in::SignIn, texts::Texts,
};
use rolegate_telemetry::log_once::LogOnce;
use std::time::Duration;

const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Hosts of addresses that proxies do not pass: strangers choose them.
static AMBIGUOUS: LogOnce<String> = LogOnce::at_most(10, Duration::from_hours(1));

/// `/sign-in/refused`: the page of a person whose role does not suffice, for proxies that show no body of
/// `/authorize`. They describe the request as they do there, and repeat its `Rolegate-Reason`.
pub(super) async fn refused(
    State(pages): State<Pages>,
    Extension(context): Extension<CallContext>,
    headers: HeaderMap,
) -> Response {
    let own = Origin::from_request_headers(&headers);
    let sessions = pages.sign_in.cookie(own.as_ref()).sessions(&headers);
    let user = pages.user(false, &sessions, context).await;
    let reason = HeaderName::from_static(REASON_HEADER);
    let reason = single_value(&headers, reason).and_then(Reason::from_name);
    let reason = reason.filter(|reason| reason.is_denial());
    let reason = reason.unwrap_or(Reason::RoleInsufficient);
    let denied = ApiError::from(CallError::local(reason)).into_response();
    let request = BrowserRequest::forwarded(&headers);
    explain(denied, &pages.sign_in, request, user.as_ref())
}

/// The denial of a role, with the page for the person, who is not named if that cannot be read.
pub(crate) fn explain(
    denied: Response,
    sign_in: &SignIn,
    request: BrowserRequest<'_>,
    user: Option<&User>,
) -> Response {
    let reason = denied.extensions().get().and_then(CallError::reason);
    let reason = reason.unwrap_or(Reason::RoleInsufficient);
    let username = user.map(|user| user.username.as_str());
    show(denied, &sign_in.refused(request, username, reason))
}

/// The response with this page as its body.
fn show(response: Response, page: &Interstitial) -> Response {
    let (mut head, _body) = response.into_parts();
    for (name, value) in page.headers() {
        if let Ok(value) = HeaderValue::from_str(value) {
            head.headers.insert(name, value);
        }
    }
    Response::from_parts(head, page.html.clone().into())
}

/// Whether the page is asked for inside another one, where nobody may type a password.
pub(super) fn is_in_frame(headers: &HeaderMap) -> bool {
    let frames = ["iframe", "frame", "embed", "object", "fencedframe"];
    single_value(headers, FETCH_DEST).is_some_and(|it| frames.contains(&it))
}

/// In the place of the form: a link that opens the whole page.
pub(super) fn in_frame(design: Design<'_>, page: &str) -> Response {
    let link = design.render(include_str!("frame_link.html"), &[("page", &escape(page))]);
    let content = design.render(include_str!("in_frame.html"), &[("sign_in", &link)]);
    let page = Interstitial::new(design, "", "{sign_in.title}", &content);
    show(StatusCode::OK.into_response(), &page)
}

/// `/sign-in/ambiguous-address`: why a proxy passes an address to no application. It is there with `SIGN_IN=off`, too.
pub(crate) async fn ambiguous_address(
    State(state): State<GatewayState>,
    headers: HeaderMap,
) -> Response {
    let sign_in = state.sign_in.as_deref();
    let host = sign_in.map(SignIn::page_origin).unwrap_or_default();
    let asked = single_value(&headers, HOST).unwrap_or_default();
    if AMBIGUOUS.is_due(asked.to_owned()) {
        tracing::warn!(
            host = ?asked,
            "a proxy refused an address of this host with 400, because applications may read its path in several \
             ways; docs/proxies.md says which paths pass"
        );
    }
    let plain = || Design::without_brand(&headers);
    let design = sign_in.map_or_else(plain, |sign_in| sign_in.design(&headers));
    let content = design.render(include_str!("ambiguous_address.html"), &[]);
    // Programs get English.
    let detail = Texts::english().find("ambiguous.text").unwrap_or_default();
    let error = ApiError::http(HttpReason::PathInvalid, detail).into_response();
    let page = Interstitial::new(design, &host, "{ambiguous.title}", &content);
    show(error, &page)
}
