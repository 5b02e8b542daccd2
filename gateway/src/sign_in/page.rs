//! The HTML of the pages. They need no scripts.

use super::return_address::ReturnAddress;
use axum::response::{IntoResponse as _, Response};
use http::{
    HeaderMap,
    header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY},
};
use rolegate_auth_client::axum::ApiError;
use rolegate_sign_in::origin::forwarded_scheme;

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

/// `with_code`: with a field for a one-time code. Who has no second factor never sees it. The password has to be
/// typed again, because it is in no page.
pub(super) fn sign_in(
    back: Option<&ReturnAddress>,
    username: &str,
    with_code: bool,
    problem: &str,
) -> Response {
    let username = if username.len() <= MAX_USERNAME {
        username
    } else {
        ""
    };
    let focus = ["", " autofocus"];
    let content = format!(
        include_str!("sign_in.html"),
        username = escape(username),
        focus_username = focus[usize::from(username.is_empty())],
        focus_password = focus[usize::from(!username.is_empty())],
        code = if with_code {
            include_str!("one_time_code.html")
        } else {
            ""
        },
        back = location(back),
    );
    page("Sign in", problem, &content, back)
}

pub(super) fn sign_out(back: Option<&ReturnAddress>, problem: &str) -> Response {
    let content = format!(include_str!("sign_out.html"), back = location(back));
    page("Sign out", problem, &content, None)
}

/// In the place of a form, where anybody on the way could read the password, or may have done so.
pub(super) fn https_needed(headers: &HeaderMap) -> Response {
    let problem = if forwarded_scheme(headers).is_ok() {
        "Signing in needs HTTPS. Open this page at an address that begins with https://."
    } else {
        "Signing in needs HTTPS. The proxies in front of this page do not agree that you use it: \
         X-Forwarded-Proto must be https."
    };
    page("Sign in", problem, "", None)
}

/// A page with the status and the headers of an error.
pub(super) fn refuse(error: ApiError, page: impl FnOnce(&str) -> Response) -> Response {
    let (page, body) = page(error.detail()).into_parts();
    let (mut head, _json) = error.into_response().into_parts();
    head.headers.extend(page.headers);
    Response::from_parts(head, body)
}

/// Chromium applies `form-action` to the address that the answer to a form leads to, too.
fn page(title: &str, problem: &str, content: &str, leads_to: Option<&ReturnAddress>) -> Response {
    let problem = escape(problem);
    let html = format!(
        include_str!("page.html"),
        title = title,
        problem = problem,
        content = content
    );
    let origin = leads_to.and_then(|address| address.origin.as_ref());
    let origin = origin
        .map(|origin| format!(" {}", origin.serialized()))
        .unwrap_or_default();
    let policy = format!(
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; \
         form-action 'self'{origin}; frame-ancestors 'none'"
    );
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, &policy),
        // With `no-referrer`, the header `Origin` of a form would be `null`.
        (REFERRER_POLICY, "same-origin"),
    ];
    (
        headers,
        [("cross-origin-opener-policy", "same-origin")],
        html,
    )
        .into_response()
}

fn location(back: Option<&ReturnAddress>) -> String {
    back.map(|back| escape(&back.location)).unwrap_or_default()
}

/// Text as HTML, also in an attribute.
fn escape(text: &str) -> String {
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}
