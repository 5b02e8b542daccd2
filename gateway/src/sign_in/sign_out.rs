//! `/sign-out`: the page that asks whether to sign out, and its form.

use super::{
    form::SubmittedForm,
    https_needed::https_needed,
    page::{NOT_LED_BACK, escaped_location, page, refuse},
    pages::{Pages, secure_origin},
    return_address::{ReturnAddress, sign_in_path},
    sessions::PairedSession,
    signed_out,
};
use crate::extract::query_params::QueryParams;
use axum::{
    Extension,
    extract::{Request, State},
    response::{AppendHeaders, IntoResponse as _, Redirect, Response, Result},
};
use http::header::SET_COOKIE;
use rolegate_auth_client::CallContext;
use rolegate_sign_in::{
    clear_site_data::{CACHE, CLEAR_SITE_DATA},
    cookie::Cookie,
    design::Design,
};

pub(super) async fn show(
    State(pages): State<Pages>,
    query: QueryParams,
    request: Request,
) -> Result<Response> {
    let headers = request.headers();
    let design = pages.design(headers);
    let Some(own) = secure_origin(headers) else {
        return Ok(https_needed(design, headers));
    };
    let destination = pages.destination(&query, &own)?;
    let problem = if destination.is_refused {
        design.render(NOT_LED_BACK, &[])
    } else {
        String::new()
    };
    Ok(respond(design, destination.address.as_ref(), &problem))
}

/// Ends every session of the console and of applications in the cookies that the browser has here, also in those
/// that other hosts may have set, and removes the cookies. They stay while a session cannot be ended, so that it
/// can be tried again.
pub(super) async fn submit(
    State(pages): State<Pages>,
    Extension(context): Extension<CallContext>,
    request: Request,
) -> Result<Response> {
    let form = SubmittedForm::read(&pages, request).await?;
    let own = &form.own;
    let console = Cookie::for_console(Some(own));
    let application = pages.sign_in.cookie(Some(own));
    // COOKIE_DOMAIN may have been set, or removed, since the person signed in.
    let former = if application.has_domain() {
        Cookie::for_host(Some(own))
    } else {
        Cookie::for_domain("")
    };
    let sessions: Vec<_> = [console, application, former]
        .iter()
        .flat_map(|cookie| cookie.sessions(&form.headers))
        .collect();
    let ended = pages
        .end_sessions(&sessions, PairedSession::Ends, context)
        .await;
    if let Err(error) = ended {
        let design = pages.design(&form.headers);
        let page = |problem: &_| respond(design, form.back.as_ref(), problem);
        return Ok(refuse(design, error.into(), page));
    }
    let set_cookies = AppendHeaders([
        (SET_COOKIE, console.remove()),
        (SET_COOKIE, application.remove()),
        (SET_COOKIE, signed_out::set(own)),
    ]);
    let clear_site_data = [(CLEAR_SITE_DATA, CACHE)];
    let location = next_location(&pages, form.back);
    Ok((set_cookies, clear_site_data, Redirect::to(&location)).into_response())
}

/// Where the browser goes after a sign-out: to an application at another host, whose proxy asks again, and leads to the
/// page with the order to forget what the browser has of the application; otherwise to the page itself.
fn next_location(pages: &Pages, back: Option<ReturnAddress>) -> String {
    match back {
        Some(back) if pages.sign_in.cookie_domain.is_some() && !back.location.starts_with('/') => {
            back.location
        }
        back => sign_in_path(back.as_ref()),
    }
}

/// `problem` is the HTML that the page has above the form, or empty.
fn respond(design: Design<'_>, back: Option<&ReturnAddress>, problem: &str) -> Response {
    let back = escaped_location(back);
    let content = design.render(include_str!("sign_out.html"), &[("back", &back)]);
    page(design, "{sign_out.title}", problem, &content)
}
