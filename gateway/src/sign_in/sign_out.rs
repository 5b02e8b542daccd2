//! Serves `/sign-out`, the page that asks whether to sign out, and its form.

use super::{
    page::{escaped_location, https_needed, page, refuse},
    return_address::{ReturnAddress, sign_in_path},
    state::{SignInState, secure_origin},
    submitted_form::SubmittedForm,
};
use crate::extract::query_params::QueryParams;
use axum::{
    Extension,
    extract::{Request, State},
    response::{AppendHeaders, IntoResponse as _, Redirect, Response, Result},
};
use http::{HeaderMap, header::SET_COOKIE};
use rolegate_auth_client::CallContext;
use rolegate_sign_in::{
    clear_site_data::{CACHE, CLEAR_SITE_DATA},
    cookie::{self, Cookie},
    design::Design,
    origin::Origin,
};

/// The cookie that tells the sign-in page that the person has signed out, even if the browser is redirected to other
/// addresses in between.
const SIGNED_OUT: &str = "rolegate-signed-out=1";
/// The lifetime of the cookie [`SIGNED_OUT`], in seconds.
const MAX_AGE_SECONDS: u8 = 60;

pub(super) async fn show(
    State(state): State<SignInState>,
    query: QueryParams,
    request: Request,
) -> Result<Response> {
    let headers = request.headers();
    let design = state.sign_in.design(headers);
    let Some(own) = secure_origin(headers) else {
        return Ok(https_needed(design, headers));
    };
    let destination = state.destination(&query, &own)?;
    let problem = if destination.is_refused {
        design.render("{notice.not_led_back}", &[])
    } else {
        String::new()
    };
    Ok(respond(design, destination.address.as_ref(), &problem))
}

/// Ends all sessions of the console and of applications in the cookies that the browser has here, including cookies
/// that other hosts may have set. Then it removes the cookies, and redirects the browser.
///
/// The cookies stay while a session cannot be ended, so that the person can try again.
pub(super) async fn submit(
    State(state): State<SignInState>,
    Extension(context): Extension<CallContext>,
    request: Request,
) -> Result<Response> {
    let form = SubmittedForm::read(&state, request).await?;
    let own = &form.origin;
    let console = Cookie::for_console(Some(own));
    let application = state.sign_in.cookie(Some(own));
    // `COOKIE_DOMAIN` may have been set or removed since the person signed in, so the cookie of the former setting is
    // read as well. A cookie that is only read needs no domain.
    let former = if application.has_domain() {
        Cookie::for_host(Some(own))
    } else {
        Cookie::for_domain("")
    };
    let sessions: Vec<_> = [console, application, former]
        .iter()
        .flat_map(|cookie| cookie.sessions(&form.headers))
        .collect();
    let with_pairs = true;
    let auth = &state.gateway.auth;
    let ended = auth.end_cookie_sessions(&sessions, with_pairs, context);
    if let Err(error) = ended.await {
        let design = state.sign_in.design(&form.headers);
        let page = |problem: &_| respond(design, form.return_address.as_ref(), problem);
        return Ok(refuse(design, error.into(), page));
    }
    let set_cookies = AppendHeaders([
        (SET_COOKIE, console.remove()),
        (SET_COOKIE, application.remove()),
        (SET_COOKIE, signed_out_cookie(own, MAX_AGE_SECONDS)),
    ]);
    let clear_site_data = [(CLEAR_SITE_DATA, CACHE)];
    let location = next_location(&state, form.return_address);
    Ok((set_cookies, clear_site_data, Redirect::to(&location)).into_response())
}

/// Returns the address to which the browser goes after a sign-out: usually, the sign-in page.
///
/// A browser that came from an application at another host first goes back there. The proxy of the application then
/// finds no session, and redirects to the sign-in page with `Clear-Site-Data`, so that the browser forgets the pages of
/// the application.
fn next_location(state: &SignInState, back: Option<ReturnAddress>) -> String {
    match back {
        Some(back) if state.sign_in.cookie_domain.is_some() && !back.location.starts_with('/') => {
            back.location
        }
        back => sign_in_path(back.as_ref()),
    }
}

/// Returns the page that asks whether to sign out. `problem` is HTML that is shown above the form, or empty.
fn respond(design: Design<'_>, back: Option<&ReturnAddress>, problem: &str) -> Response {
    let back = escaped_location(back);
    let content = design.render(include_str!("sign_out.html"), &[("back", &back)]);
    page(design, "{sign_out.title}", problem, &content)
}

/// Returns the `Set-Cookie` that removes [`SIGNED_OUT`]. The sign-in page sends it with its notice about the sign-out,
/// so that the notice is shown once.
pub(super) fn remove_signed_out(own: &Origin) -> String {
    signed_out_cookie(own, 0)
}

/// Returns `true` if the browser has signed out and no page has told the person so yet.
pub(super) fn has_signed_out(headers: &HeaderMap) -> bool {
    cookie::pairs(headers).any(|pair| pair.trim_ascii() == SIGNED_OUT.as_bytes())
}

fn signed_out_cookie(own: &Origin, max_age: u8) -> String {
    let secure = if own.is_plain_loopback() {
        ""
    } else {
        "; Secure"
    };
    format!("{SIGNED_OUT}; Path=/sign-in; Max-Age={max_age}; HttpOnly{secure}; SameSite=Lax")
}
