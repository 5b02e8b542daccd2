//! `/sign-in` and `/sign-out`: pages for people who use applications, or the console, with a browser. The
//! session is in a cookie, which no script reads. And `/set-password`, where the link leads that an admin makes.

mod page;
pub(crate) mod return_address;

use crate::{
    console,
    endpoints::sessions::user_agent,
    extract::{credentials::cross_site, form::Form, parameters::QueryParams},
    state::GatewayState,
};
use axum::{
    Extension, Router,
    extract::{Request, State},
    response::{AppendHeaders, IntoResponse as _, Redirect, Response, Result},
    routing::get,
};
use http::{
    HeaderMap, HeaderValue, Uri,
    header::{AUTHORIZATION, SET_COOKIE},
};
use return_address::ReturnAddress;
use rolegate_auth_client::{
    AuthClient, CallContext, CallError, Reason, Requirement, SessionUse, axum::ApiError,
};
use rolegate_sign_in::{cookie::Cookie, origin::Origin, request::is_same_origin, settings::SignIn};
use secrecy::{ExposeSecret as _, SecretString};
use std::sync::Arc;
use url::form_urlencoded::byte_serialize;

#[derive(Clone)]
struct Pages {
    gateway: GatewayState,
    sign_in: Arc<SignIn>,
    has_console: bool,
}

/// What a page of ours sent: headers, form and return address, with the own origin.
type Sent = (HeaderMap, Form, Option<ReturnAddress>, Origin);

/// The routes. They are not in the OpenAPI document: they are no part of the API.
pub(crate) fn routes<S>(
    gateway: GatewayState,
    sign_in: Arc<SignIn>,
    has_console: bool,
) -> Router<S> {
    let pages = Pages {
        gateway,
        sign_in,
        has_console,
    };
    let routes = Router::new()
        .route("/sign-in", get(show).post(sign_in_by_form))
        .route("/sign-out", get(show).post(sign_out));
    let routes = routes.route("/set-password", get(set_password));
    let file = |routes: Router<Pages>, name: &'static str| {
        let handler = get(async move |headers: HeaderMap| console::file(name, &headers));
        routes.route(&format!("/sign-in/{name}"), handler)
    };
    page::FILES
        .into_iter()
        .chain(page::SCRIPTS)
        .fold(routes, file)
        .with_state(pages)
}

/// Takes the session in the console's cookie for the token of a request that a page of the same origin made.
pub(crate) fn use_console_cookie(headers: &mut HeaderMap) {
    if headers.contains_key(AUTHORIZATION) || !is_same_origin(headers, None) {
        return;
    }
    let is_plain = Origin::of_request(headers).is_some_and(|own| own.is_plain_loopback());
    let Ok(Some(session)) = Cookie::of_console(is_plain).find(headers) else {
        return;
    };
    let value = HeaderValue::from_str(&format!("Bearer {}", session.expose_secret()));
    if let Ok(mut value) = value {
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
}

async fn show(
    State(pages): State<Pages>,
    uri: Uri,
    query: QueryParams,
    headers: HeaderMap,
) -> Result<Response> {
    let own = Origin::of_request(&headers).filter(Origin::is_safe);
    let Some(own) = own else {
        return Ok(page::https_needed(&headers));
    };
    let back = pages.address(query.get("return")?, &own);
    Ok(match uri.path() {
        "/sign-in" => page::sign_in(back.as_ref(), "", false, ""),
        _ => page::sign_out(back.as_ref(), ""),
    })
}

/// The token of the link is in the fragment, which the page's script sends to `PUT /password`.
async fn set_password(headers: HeaderMap) -> Response {
    if Origin::of_request(&headers).is_some_and(|own| own.is_safe()) {
        console::file("set_password.html", &headers)
    } else {
        page::https_needed(&headers)
    }
}

/// Makes a session with the limits and the work of a login, or two where both cookies are set: what is in an
/// application's cookie is good nowhere else. Every one that the browser had in the cookies that are
/// set ends.
async fn sign_in_by_form(
    State(pages): State<Pages>,
    Extension(context): Extension<CallContext>,
    request: Request,
) -> Result<Response> {
    let (headers, form, back, own) = pages.read(request).await?;
    let username = form.required("username")?;
    let password = SecretString::from(form.required("password")?);
    // The field is there once a code has been asked for.
    let code = form.optional("otp")?;
    let otp = code.filter(|code| !code.is_empty());
    let start = if pages.has_console { "/console/" } else { "/" };
    let goal = back.clone().unwrap_or_else(|| ReturnAddress::own(start));
    let application = pages.sign_in.cookie(Some(&own));
    let has_console = pages.has_console && goal.is_of_console();
    let console = Cookie::of_console(own.is_plain_loopback());
    let cookie = if has_console { console } else { application };
    let [of_application, of_console] =
        [application, console].map(|cookie| cookie.sessions(&headers));
    // An application on its own host may have pages at the console's path, and there is no console then.
    let may_set_both = has_console && !application.is_for_domain();
    let session_use = if may_set_both {
        SessionUse::ApiAndApplication
    } else if has_console {
        SessionUse::Api
    } else if application.is_for_domain() {
        SessionUse::Domain
    } else {
        SessionUse::Application
    };
    let (auth, agent) = (&pages.gateway.auth, user_agent(&headers));
    let call = auth.create_session(
        &username,
        &password,
        otp,
        None,
        agent.as_deref(),
        session_use,
        context,
    );
    let created = match pages.gateway.refusals.login(context, call).await {
        Ok(created) => created,
        Err(error) => {
            let with_code = code.is_some() || asks_for_code(&error);
            let page = |problem: &_| page::sign_in(back.as_ref(), &username, with_code, problem);
            return Ok(page::refuse(error, page));
        }
    };
    let is_in_console = |session: &SecretString| of_console.iter().any(|it| is_same(it, session));
    let mut application_token = created.application_token;
    let mut before = of_application;
    if has_console {
        // Its other half in the cookie of applications ends with a session of the console. Somebody may use applications
        // with a session of their own, which stays.
        let other = application.find(&headers).ok().flatten();
        let other = other.filter(|session| application_token.is_some() && !is_in_console(session));
        if let (Some(other), Some(new)) = (other, &application_token) {
            end_before(auth, &of_console, true, context).await;
            if is_good(auth, &other, context).await {
                before = vec![new.clone()];
                application_token = None;
            }
        } else if application_token.is_some() {
            before.extend(of_console);
        } else {
            before = of_console;
        }
    } else {
        // Those of the console go on beside an application's.
        before.retain(|session| !is_in_console(session));
    }
    end_before(auth, &before, has_console, context).await;
    let session = created.session;
    let left = session
        .expires_at
        .duration_since(session.created_at)
        .unwrap_or_default();
    let set = cookie
        .set(&created.token, left.as_secs())
        .ok_or(ApiError::from(CallError::Malformed))?;
    let second = application_token.and_then(|token| application.set(&token, left.as_secs()));
    let cookies = [Some(set), second]
        .into_iter()
        .flatten()
        .map(|it| (SET_COOKIE, it));
    Ok((AppendHeaders(cookies), Redirect::to(&goal.location)).into_response())
}

/// Ends sessions that a browser had before. A failure is logged: the sign-in is good nevertheless.
async fn end_before(
    auth: &AuthClient,
    sessions: &[SecretString],
    with_pairs: bool,
    context: CallContext,
) {
    let end = auth.end_cookie_sessions(sessions, with_pairs, context);
    if let Err(error) = end.await {
        tracing::warn!(%error, "cannot end the sessions that a browser had before");
    }
}

/// Whether the session in the cookie of applications is one. If that is not known, it counts as none, so that nobody goes
/// on as somebody else.
async fn is_good(auth: &AuthClient, session: &SecretString, context: CallContext) -> bool {
    let user = auth.authorize_cookie(session, Requirement::AnyAuthenticated, context);
    user.await.is_ok()
}

fn is_same(one: &SecretString, other: &SecretString) -> bool {
    one.expose_secret() == other.expose_secret()
}

/// Whether the password was right, and a code is missing or wrong.
fn asks_for_code(error: &ApiError) -> bool {
    let reasons = [Reason::OtpRequired, Reason::OtpInvalid];
    reasons
        .iter()
        .any(|reason| reason.as_str() == error.reason())
}

/// Ends every session of the console and of applications in the cookies that the browser has here, also in those
/// that other hosts may have set, and removes the cookies. They stay while a session cannot be ended, so that it
/// can be tried again.
async fn sign_out(
    State(pages): State<Pages>,
    Extension(context): Extension<CallContext>,
    request: Request,
) -> Result<Response> {
    let (headers, _, back, own) = pages.read(request).await?;
    let cookies = [
        Cookie::of_console(own.is_plain_loopback()),
        pages.sign_in.cookie(Some(&own)),
    ];
    let sessions: Vec<_> = cookies
        .iter()
        .flat_map(|cookie| cookie.sessions(&headers))
        .collect();
    if let Err(error) = pages
        .gateway
        .auth
        .end_cookie_sessions(&sessions, true, context)
        .await
    {
        let page = |problem: &_| page::sign_out(back.as_ref(), problem);
        return Ok(page::refuse(error.into(), page));
    }
    let back = back.map(|back| byte_serialize(back.location.as_bytes()).collect::<String>());
    let page = back.map_or_else(
        || "/sign-in".to_owned(),
        |it| format!("/sign-in?return={it}"),
    );
    let removals = cookies.map(|cookie| (SET_COOKIE, cookie.remove()));
    Ok((AppendHeaders(removals), Redirect::to(&page)).into_response())
}

impl Pages {
    fn address(&self, given: Option<&str>, own: &Origin) -> Option<ReturnAddress> {
        ReturnAddress::parse(given?, own, &self.sign_in.return_origins)
    }

    /// The form, if a page of ours sent it: no other signs its visitors in or out, or makes them guess.
    async fn read(&self, request: Request) -> Result<Sent> {
        let headers = request.headers().clone();
        let own = Origin::of_request(&headers);
        if !is_same_origin(&headers, own.as_ref()) {
            return Err(cross_site().into());
        }
        let own = own
            .filter(Origin::is_safe)
            .ok_or_else(|| Redirect::to("/sign-in"))?;
        let form = Form::read(request).await?;
        let back = self.address(form.optional("return")?, &own);
        Ok((headers, form, back, own))
    }
}

#[cfg(test)]
mod tests;
