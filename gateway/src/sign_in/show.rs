//! `GET /sign-in`: the page to sign in at.

use super::{
    https_needed::https_needed,
    interstitials,
    page::{NOT_LED_BACK, SIGNED_OUT},
    pages::{Pages, secure_origin},
    sign_in_page::{SignInPage, notices},
    signed_out,
};
use crate::extract::query_params::QueryParams;
use axum::{
    Extension,
    extract::{Request, State},
    response::{AppendHeaders, IntoResponse as _, Response, Result},
};
use http::header::SET_COOKIE;
use rolegate_auth_client::CallContext;
use rolegate_sign_in::request::is_frame_request;

pub(super) async fn show(
    State(pages): State<Pages>,
    Extension(context): Extension<CallContext>,
    query: QueryParams,
    request: Request,
) -> Result<Response> {
    let headers = request.headers();
    let design = pages.design(headers);
    let Some(own) = secure_origin(headers) else {
        return Ok(https_needed(design, headers));
    };
    let destination = pages.destination(&query, &own)?;
    let back = destination.address.as_ref();
    if is_frame_request(headers) {
        return Ok(interstitials::link_out_of_frame(design, back));
    }
    // A page of ours knows it, such as that of a password link.
    let username = query.get("username")?.unwrap_or_default();
    let is_forwarded = pages.is_forwarded(&request);
    let cookies = pages.sign_in_cookies(headers, &own, back, is_forwarded);
    let sessions = cookies.destination_cookie().sessions(headers);
    let user = pages.user(cookies.destination, &sessions, context).await;
    let has_signed_out = user.is_none() && signed_out::is_set(headers);
    let mut shown_notices = Vec::new();
    if has_signed_out {
        shown_notices.push(SIGNED_OUT);
    }
    shown_notices.extend(notices(&query));
    if destination.is_refused {
        shown_notices.push(NOT_LED_BACK);
    }
    let page = SignInPage {
        back,
        notices: shown_notices,
        signed_in: user.as_ref().map(|user| &*user.username),
        username,
        ..SignInPage::default()
    };
    let removal = has_signed_out.then(|| (SET_COOKIE, signed_out::remove(&own)));
    Ok((AppendHeaders(removal), page.respond(design)).into_response())
}
