//! The HTML of the pages. They need no scripts.

use super::{place::FORWARDED, return_address::ReturnAddress};
use crate::extract::parameters::QueryParams;
use axum::response::{IntoResponse as _, Response};
use http::{
    HeaderMap,
    header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY},
};
use rolegate_auth_client::axum::ApiError;
use rolegate_sign_in::{
    interstitial::escape,
    origin::{Origin, forwarded_scheme},
    request::{MAX_RETURN, TOO_LONG, TWO_SESSIONS, UNSAVED},
};

/// The files of the console that the pages need. They are served below `/sign-in/`, because the proxy of an
/// application passes no other path.
pub(super) const FILES: [&str; 3] = ["base.css", "icon.svg", "sign_in.css"];

/// The script of `/set-password`, and what it imports.
pub(super) const SCRIPTS: [&str; 7] = [
    "set_password.js",
    "api.js",
    "copy.js",
    "dom.js",
    "form.js",
    "new_password.js",
    "session.js",
];

/// Bytes of a username that is shown again; no longer one can be registered.
const MAX_USERNAME: usize = 255;

/// The first port at which everybody may listen.
const FIRST_UNPRIVILEGED: u16 = 1024;

pub(super) const SIGNED_OUT: &str = "You have signed out.";

pub(super) const NOT_LED_BACK: &str =
    "You will not be led back to where you came from: that address is not allowed here.";

/// What the page says about the way there, by the parameter that asks for it.
const NOTICES: [(&str, &str); 3] = [
    (UNSAVED, "What you sent was not saved."),
    (
        TOO_LONG,
        "The address that you came from is too long to return to. Signing in leads to the first page instead.",
    ),
    (
        TWO_SESSIONS,
        "This browser is signed in twice where you came from, so nobody knows which sign-in is yours. Sign in again. If \
         that leads back here, delete the cookies of the address that you came from, and sign in once more.",
    ),
];

/// The notices that the query of the page asks for.
pub(super) fn notices(query: &QueryParams) -> Vec<&'static str> {
    let is_too_long = |name| {
        name == TOO_LONG
            && query
                .get("return")
                .is_ok_and(|it| it.is_some_and(|it| it.len() > MAX_RETURN))
    };
    NOTICES
        .into_iter()
        .filter(|(name, _)| !matches!(query.get(name), Ok(None)) || is_too_long(*name))
        .map(|(_, text)| text)
        .collect()
}

/// The page to sign in at.
#[derive(Default)]
pub(super) struct SignInPage<'a> {
    /// The address that the sign-in leads to.
    pub(super) back: Option<&'a ReturnAddress>,
    /// What the page says above the form.
    pub(super) notices: Vec<&'static str>,
    /// The name of the user whose session the sign-in would replace.
    pub(super) signed_in: Option<&'a str>,
    /// The name that was typed.
    pub(super) username: &'a str,
    /// Whether there is a field for a one-time code. Who has no second factor never sees it. The password has to be
    /// typed again, because it is in no page.
    pub(super) with_code: bool,
    /// Why the sign-in was refused.
    pub(super) problem: &'a str,
}

impl SignInPage<'_> {
    pub(super) fn respond(self) -> Response {
        let username = if self.username.len() <= MAX_USERNAME {
            self.username
        } else {
            ""
        };
        let back = location(self.back);
        let mut above = String::new();
        for text in self.notices {
            above.extend(["    <p class=\"message\">", text, "</p>\n"]);
        }
        if let Some(user) = self.signed_in {
            above += &format!(
                include_str!("signed_in.html"),
                user = escape(user),
                back = back
            );
        }
        // A person who may go on finds that first.
        let focus = |is_here| {
            if is_here && self.signed_in.is_none() {
                " autofocus"
            } else {
                ""
            }
        };
        let content = above
            + &format!(
                include_str!("sign_in.html"),
                username = escape(username),
                focus_username = focus(username.is_empty()),
                focus_password = focus(!username.is_empty()),
                code = if self.with_code {
                    include_str!("one_time_code.html")
                } else {
                    ""
                },
                back = back,
            );
        page("Sign in", self.problem, &content)
    }
}

pub(super) fn sign_out(back: Option<&ReturnAddress>, problem: &str) -> Response {
    let content = format!(include_str!("sign_out.html"), back = location(back));
    page("Sign out", problem, &content)
}

/// In the place of a form, where anybody on the way could read the password, or may have done so.
pub(super) fn https_needed(headers: &HeaderMap) -> Response {
    let problem = if forwarded_scheme(headers).is_ok() {
        "Signing in needs HTTPS. Open this page at an address that begins with https://."
    } else {
        "Signing in needs HTTPS. The proxies in front of this page do not agree that you use it: \
         X-Forwarded-Proto must be https."
    };
    page("Sign in", problem, &way_by_ssh(headers).unwrap_or_default())
}

/// How to come by this machine's own address, at which no encryption is needed. Behind a proxy it would lead past
/// that.
fn way_by_ssh(headers: &HeaderMap) -> Option<String> {
    let is_forwarded = FORWARDED.iter().any(|name| headers.contains_key(*name));
    let own = Origin::of_request(headers).filter(|_| !is_forwarded)?;
    // A name that begins with "-" would be an option of ssh.
    let host = own.url().host_str()?.trim_matches(['[', ']']);
    let port = own.url().port_or_known_default()?;
    let near = if port < FIRST_UNPRIVILEGED {
        8000
    } else {
        port
    };
    (!host.starts_with('-')).then(|| {
        format!(
            include_str!("https_needed.html"),
            near = near,
            port = port,
            host = escape(host)
        )
    })
}

/// A page with the status and the headers of an error.
pub(super) fn refuse(error: ApiError, page: impl FnOnce(&str) -> Response) -> Response {
    let (page, body) = page(error.detail()).into_parts();
    let (mut head, _json) = error.into_response().into_parts();
    head.headers.extend(page.headers);
    Response::from_parts(head, body)
}

/// Browsers apply `form-action` to every address that the answer to a form leads to, also those to which an application
/// leads on, so the policy does not have it. Nor is there a policy for openers, so that people can sign in in a window
/// that an application opened.
fn page(title: &str, problem: &str, content: &str) -> Response {
    let problem = escape(problem);
    let html = format!(
        include_str!("page.html"),
        title = title,
        problem = problem,
        content = content
    );
    let policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; \
                  frame-ancestors 'none'";
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, policy),
        // With `no-referrer`, the header `Origin` of a form would be `null`.
        (REFERRER_POLICY, "same-origin"),
    ];
    (headers, html).into_response()
}

fn location(back: Option<&ReturnAddress>) -> String {
    back.map(|back| escape(&back.location)).unwrap_or_default()
}
