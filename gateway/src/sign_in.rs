//! `/sign-in` and `/sign-out`: pages for people who use applications, or the console, with a browser. The
//! session is in a cookie, which no script reads. And `/account`, where they look after their account, and
//! `/set-password`, where the link leads that an admin makes.

pub(crate) mod logo;
mod page;
mod place;
pub(crate) mod refused;
pub(crate) mod return_address;

use crate::{
    console::{self, picture::draw},
    endpoints::sessions::creation::user_agent,
    extract::{credentials::cross_site, form::Form, query_params::QueryParams},
    settings::PublicSettings,
    state::GatewayState,
};
use axum::{
    Extension, Router,
    extract::{Request, State},
    response::{AppendHeaders, IntoResponse as _, Redirect, Response, Result},
    routing::{get, post},
};
use http::{
    HeaderMap, HeaderValue,
    header::{AUTHORIZATION, COOKIE, SET_COOKIE},
};
use page::SignInPage;
use return_address::ReturnAddress;
use rolegate_auth_client::{
    AuthClient, CallContext, CallError, Reason, Requirement, SignInStep, TwoStepSignIn, User,
    axum::ApiError,
};
use rolegate_program::cidr_set::CidrSet;
use rolegate_sign_in::{
    clear_site_data::{CACHE, CLEAR_SITE_DATA},
    cookie::{Cookie, MAX_CANDIDATES},
    origin::Origin,
    page_query::MAX_RETURN_ADDRESS_LEN,
    request::{asks_for_document, is_same_origin},
    sign_in::SignIn,
};
use rolegate_telemetry::log_once::LogOnce;
use secrecy::{ExposeSecret as _, SecretString};
use std::{sync::Arc, time::Duration};
use url::form_urlencoded::byte_serialize;

/// Hosts of return addresses that are not allowed: strangers choose them.
static NOT_ALLOWED: LogOnce<String> = LogOnce::at_most(10, Duration::from_hours(1));

/// The cookie of the page for a browser that has just signed out.
const SIGNED_OUT: &str = "rolegate-signed-out=1";
const SIGNED_OUT_SECONDS: u8 = 60;

#[derive(Clone)]
struct Pages {
    gateway: GatewayState,
    sign_in: Arc<SignIn>,
    trusted_proxies: Arc<CidrSet>,
}

/// A form that a page of ours sent.
struct SentForm {
    headers: HeaderMap,
    query: QueryParams,
    fields: Form,
    /// The address in the field `return`, or without that field in the query, if people may be sent there.
    back: Option<ReturnAddress>,
    own: Origin,
    is_forwarded: bool,
}

/// The routes. They are not in the OpenAPI document: they are no part of the API.
pub(crate) fn routes<S>(
    gateway: GatewayState,
    sign_in: Arc<SignIn>,
    settings: &PublicSettings,
) -> Router<S> {
    let pages = Pages {
        gateway: gateway.clone(),
        sign_in,
        trusted_proxies: Arc::new(settings.trusted_proxies.clone()),
    };
    let routes = Router::new()
        .route("/sign-in", get(show).post(sign_in_by_form))
        .route("/sign-in/refused", get(refused::refused))
        .route("/sign-in/logo", get(logo))
        .route("/sign-out", get(show).post(sign_out))
        .route("/set-password", get(set_password))
        .route("/account", get(account))
        .route("/account/logo", get(logo))
        .route("/account/picture", post(draw).with_state(gateway));
    let file = |routes: Router<Pages>, (folder, name): (&str, &'static str)| {
        let handler = get(
            async move |State(pages): State<Pages>, headers: HeaderMap| {
                console::file(name, pages.sign_in.design(&headers), &headers)
            },
        );
        routes.route(&format!("{folder}/{name}"), handler)
    };
    let of_sign_in = page::FILES.into_iter().chain(page::SCRIPTS);
    let of_account = console::ACCOUNT_FILES.into_iter();
    of_sign_in
        .map(|name| ("/sign-in", name))
        .chain(of_account.map(|name| ("/account", name)))
        .fold(routes, file)
        .with_state(pages)
}

/// Takes the session in the console's cookie for the token of a request that a script of the same origin made.
pub(crate) fn use_console_cookie(headers: &mut HeaderMap) {
    if headers.contains_key(AUTHORIZATION) {
        return;
    }
    let is_by_script = is_same_origin(headers, None) && !asks_for_document(headers);
    if !is_by_script {
        return;
    }
    let own = Origin::from_request_headers(headers);
    let Ok(Some(session)) = Cookie::for_console(own.as_ref()).find(headers) else {
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
    Extension(context): Extension<CallContext>,
    query: QueryParams,
    request: Request,
) -> Result<Response> {
    let headers = request.headers();
    let design = pages.sign_in.design(headers);
    let own = Origin::from_request_headers(headers).filter(Origin::is_secure);
    let Some(own) = own else {
        return Ok(page::https_needed(design, headers));
    };
    let given = query.get("return")?;
    let back = pages.address(given, &own);
    let is_refused = back.is_none()
        && given
            .is_some_and(|address| !address.is_empty() && address.len() <= MAX_RETURN_ADDRESS_LEN);
    if request.uri().path() != "/sign-in" {
        let problem = if is_refused { page::NOT_LED_BACK } else { "" };
        let problem = design.render(problem, &[]);
        return Ok(page::sign_out(design, back.as_ref(), &problem));
    }
    if refused::is_in_frame(headers) {
        return Ok(refused::in_frame(design, &page_leading_to(back.as_ref())));
    }
    // A page of ours knows it, such as that of a password link.
    let username = query.get("username")?.unwrap_or_default();
    let place = pages.place(headers, &own, back.as_ref(), pages.is_forwarded(&request));
    let sessions = place.cookie().sessions(headers);
    let user = pages.user(place.leads_to_console, &sessions, context).await;
    let mut notices = page::notices(&query);
    if is_refused {
        notices.push(page::NOT_LED_BACK);
    }
    let has_signed_out = user.is_none() && has_signed_out(headers);
    if has_signed_out {
        notices.insert(0, page::SIGNED_OUT);
    }
    let page = SignInPage {
        back: back.as_ref(),
        notices,
        signed_in: user.as_ref().map(|user| &*user.username),
        username,
        ..SignInPage::default()
    };
    let said = has_signed_out.then(|| (SET_COOKIE, signed_out(&own, 0)));
    Ok((AppendHeaders(said), page.respond(design)).into_response())
}

/// The token of the link is in the fragment, which the page's script sends to `PUT /password`.
async fn set_password(State(pages): State<Pages>, headers: HeaderMap) -> Response {
    pages.encrypted("set_password.html", &headers)
}

/// The page leads to `/sign-in` if nobody is signed in.
async fn account(State(pages): State<Pages>, headers: HeaderMap) -> Response {
    pages.encrypted("account.html", &headers)
}

async fn logo(State(pages): State<Pages>, headers: HeaderMap) -> Response {
    pages.gateway.logo.respond(&headers)
}

/// Makes a session with the limits and the work of a login, or two where both cookies are set: what is in an
/// application's cookie is good nowhere else. A person with a second factor gets the page of the code first. Every
/// session that the browser had in the cookies that are set ends.
async fn sign_in_by_form(
    State(pages): State<Pages>,
    Extension(context): Extension<CallContext>,
    request: Request,
) -> Result<Response> {
    let form = pages.read(request).await?;
    let SentForm {
        headers,
        query,
        fields,
        back,
        own,
        is_forwarded,
    } = &form;
    let design = pages.sign_in.design(headers);
    let goal = back.as_ref().map_or("/", |back| &back.location);
    if fields.optional("go_on")?.is_some() {
        return Ok(Redirect::to(goal).into_response());
    }
    let username = fields.required("username")?;
    // The page of the code has it in place of a password.
    let pending = fields.optional("pending_sign_in")?.map(SecretString::from);
    let password = match &pending {
        Some(_) => SecretString::default(),
        None => fields.required("password")?.into(),
    };
    let codes = [fields.optional("otp")?, fields.optional("recovery_code")?];
    let mut codes = codes.into_iter().flatten();
    let otp = codes.find(|code| !code.trim().is_empty());
    let place = pages.place(headers, own, back.as_ref(), *is_forwarded);
    let two_step = TwoStepSignIn {
        place: own.serialized(),
        pending: pending.clone(),
    };
    let page = |pending: Option<&SecretString>, problem: &_| {
        let page = SignInPage {
            back: back.as_ref(),
            notices: page::notices(query),
            signed_in: None,
            username: &username,
            pending,
            problem,
        };
        page.respond(design)
    };
    let (auth, agent) = (&pages.gateway.auth, user_agent(headers));
    let call = auth.create_session(
        &username,
        &password,
        otp,
        None,
        agent.as_deref(),
        place.session_use(),
        two_step,
        context,
    );
    let created = match pages.gateway.refusals.login(context, call).await {
        Ok(SignInStep::Done(created)) => created,
        Ok(SignInStep::CodeNeeded(pending)) => return Ok(page(Some(&pending), "")),
        Err(error) => {
            // Once the pending sign-in has ended, the person begins again.
            let has_ended = error.reason() == Reason::TokenInvalid.as_str();
            let page = |problem: &_| {
                if has_ended {
                    page(None, &design.render(page::ENDED, &[]))
                } else {
                    page(pending.as_ref(), problem)
                }
            };
            return Ok(page::refuse(design, error, page));
        }
    };
    let session = created.session;
    let left = session
        .expires_at
        .duration_since(session.created_at)
        .unwrap_or_default();
    // An auth-service of the version before makes one session.
    let (token, mut second_token) = match created.application_token {
        Some(of_application) if !place.leads_to_console => (of_application, Some(created.token)),
        second => (created.token, second),
    };
    let mut before = place.cookie().sessions(headers);
    let mut beside = place.other_cookie().sessions(headers);
    if place.sets_both {
        end_before(auth, &before, true, context).await;
        beside.retain(|session| before.iter().all(|it| !is_same(it, session)));
        // Somebody may use the other pages with a session of their own, which stays.
        let other = pages.user(!place.leads_to_console, &beside, context).await;
        if other.is_some() {
            beside = second_token.take().into_iter().collect();
        }
        end_before(auth, &beside, other.is_none(), context).await;
    } else {
        // One that is in both cookies goes on in the console.
        before.retain(|session| beside.iter().all(|it| !is_same(it, session)));
        end_before(auth, &before, false, context).await;
    }
    let set = place
        .cookie()
        .set(&token, left.as_secs())
        .ok_or(ApiError::from(CallError::Malformed))?;
    let second = second_token.and_then(|it| place.other_cookie().set(&it, left.as_secs()));
    let cookies = [Some(set), second]
        .into_iter()
        .flatten()
        .map(|it| (SET_COOKIE, it));
    Ok((AppendHeaders(cookies), Redirect::to(goal)).into_response())
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

/// Whether a token is refused because it is none, or has ended.
fn is_not_good(error: &CallError) -> bool {
    error
        .reason()
        .is_some_and(|reason| reason.http_status() == 401)
}

fn is_same(one: &SecretString, other: &SecretString) -> bool {
    one.expose_secret() == other.expose_secret()
}

/// Ends every session of the console and of applications in the cookies that the browser has here, also in those
/// that other hosts may have set, and removes the cookies. They stay while a session cannot be ended, so that it
/// can be tried again.
async fn sign_out(
    State(pages): State<Pages>,
    Extension(context): Extension<CallContext>,
    request: Request,
) -> Result<Response> {
    let SentForm {
        headers, back, own, ..
    } = pages.read(request).await?;
    let application = pages.sign_in.cookie(Some(&own));
    let cookies = [Cookie::for_console(Some(&own)), application];
    // COOKIE_DOMAIN may have been set, or removed, since the person signed in.
    let former = if application.has_domain() {
        Cookie::for_host(Some(&own))
    } else {
        Cookie::for_domain("")
    };
    let sessions: Vec<_> = cookies
        .iter()
        .chain([&former])
        .flat_map(|cookie| cookie.sessions(&headers))
        .collect();
    if let Err(error) = pages
        .gateway
        .auth
        .end_cookie_sessions(&sessions, true, context)
        .await
    {
        let design = pages.sign_in.design(&headers);
        let page = |problem: &_| page::sign_out(design, back.as_ref(), problem);
        return Ok(page::refuse(design, error.into(), page));
    }
    let next = match back {
        // The proxy of that host asks again, and leads to the page with the order to forget what the browser has of
        // the application.
        Some(back) if pages.sign_in.cookie_domain.is_some() && !back.location.starts_with('/') => {
            back.location
        }
        back => page_leading_to(back.as_ref()),
    };
    let removals = cookies.map(|cookie| cookie.remove()).into_iter();
    let set = removals.chain([signed_out(&own, SIGNED_OUT_SECONDS)]);
    let set = AppendHeaders(set.map(|cookie| (SET_COOKIE, cookie)));
    let forget = [(CLEAR_SITE_DATA, CACHE)];
    Ok((set, forget, Redirect::to(&next)).into_response())
}

/// `Set-Cookie` by which the page says that somebody has signed out, wherever the browser is led in between.
fn signed_out(own: &Origin, seconds: u8) -> String {
    let secure = if own.is_plain_loopback() {
        ""
    } else {
        "; Secure"
    };
    format!("{SIGNED_OUT}; Path=/sign-in; Max-Age={seconds}; HttpOnly{secure}; SameSite=Lax")
}

fn has_signed_out(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(COOKIE).iter();
    let mut cookies = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
    cookies.any(|cookie| cookie.trim_ascii() == SIGNED_OUT.as_bytes())
}

/// The page to sign in at, which leads there afterwards.
fn page_leading_to(back: Option<&ReturnAddress>) -> String {
    match back {
        Some(back) => {
            let address: String = byte_serialize(back.location.as_bytes()).collect();
            format!("/sign-in?return={address}")
        }
        None => "/sign-in".to_owned(),
    }
}

impl Pages {
    /// A page where passwords are typed, unless anybody on the way could read them.
    fn encrypted(&self, name: &str, headers: &HeaderMap) -> Response {
        let design = self.sign_in.design(headers);
        if Origin::from_request_headers(headers).is_some_and(|own| own.is_secure()) {
            console::file(name, design, headers)
        } else {
            page::https_needed(design, headers)
        }
    }

    /// The address that the browser is led back to; one that is not allowed is logged once for its host.
    fn address(&self, given: Option<&str>, own: &Origin) -> Option<ReturnAddress> {
        let given = given?;
        let others = &self.sign_in.return_origins;
        let unknown = own.url().join(given).ok();
        let unknown = unknown.and_then(|url| Origin::new(url.scheme(), url.authority()));
        let unknown = unknown.filter(|origin| origin != own && !others.contains(origin));
        if let Some(origin) = unknown
            && let Some(host) = origin.url().host_str()
            && NOT_ALLOWED.is_due(host.to_owned())
        {
            tracing::warn!(
                origin = origin.url().origin().ascii_serialization(),
                "RETURN_ORIGINS: nobody is led back to an address of this origin after signing in; if an application \
                 of yours is there, add it, and let COOKIE_DOMAIN cover it or pass /sign-in there"
            );
        }
        ReturnAddress::parse(given, own, others)
    }

    /// The form, if a page of ours sent it: no other signs its visitors in or out, or makes them guess.
    async fn read(&self, request: Request) -> Result<SentForm> {
        let headers = request.headers().clone();
        let own = Origin::from_request_headers(&headers);
        if !is_same_origin(&headers, own.as_ref()) {
            return Err(cross_site().into());
        }
        let own = own
            .filter(Origin::is_secure)
            .ok_or_else(|| Redirect::to("/sign-in"))?;
        let query = QueryParams::parse(request.uri().query().unwrap_or_default())?;
        let is_forwarded = self.is_forwarded(&request);
        let fields = Form::read(request).await?;
        let given = match fields.optional("return")? {
            Some(field) => Some(field),
            None => query.get("return")?,
        };
        let back = self.address(given, &own);
        Ok(SentForm {
            headers,
            query,
            fields,
            back,
            own,
            is_forwarded,
        })
    }

    /// The user of the only good one of these sessions in the cookie of the console or of applications. If it cannot be
    /// known, it is nobody, so that nobody goes on as somebody else.
    async fn user(
        &self,
        is_of_console: bool,
        sessions: &[SecretString],
        context: CallContext,
    ) -> Option<User> {
        let (auth, any) = (&self.gateway.auth, Requirement::AnyAuthenticated);
        let mut found = None;
        for session in sessions.iter().take(MAX_CANDIDATES) {
            let user = if is_of_console {
                auth.authorize(session, any, context).await
            } else {
                auth.authorize_cookie(session, any, context).await
            };
            match user {
                Ok(user) if found.is_none() => found = Some(user),
                Err(error) if is_not_good(&error) => {}
                _ => return None,
            }
        }
        found
    }
}

#[cfg(test)]
mod tests;
