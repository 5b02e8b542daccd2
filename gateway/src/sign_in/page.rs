//! Writes the HTML that the pages have in common. The pages need no scripts, and their texts are in
//! `crates/sign-in/texts/`.

use super::return_address::ReturnAddress;
use axum::response::{IntoResponse as _, Response};
use http::{
    HeaderMap,
    header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY},
};
use rolegate_auth_client::axum::ApiError;
use rolegate_proto::Reason;
use rolegate_sign_in::{
    design::{Design, OWN_HOST},
    headers::{forwarded_scheme, has_passed_proxy},
    html::escape,
    origin::Origin,
};

/// The first port at which a program may listen without privileges.
const FIRST_UNPRIVILEGED_PORT: u16 = 1024;
/// The local port of the SSH tunnel if the port of the page needs privileges.
const LOCAL_PORT: u16 = 8000;

/// Returns a page with this title below the brand. `title` is a template, `problem` and `content` are HTML.
///
/// The content policy has no `form-action`, because browsers apply that directive to every redirect after a form,
/// including those of an application. There is no `Cross-Origin-Opener-Policy` either, so that people can sign in in a
/// window that an application opened.
pub(super) fn page(design: Design<'_>, title: &str, problem: &str, content: &str) -> Response {
    let content = format!("    <p class=\"message error\" role=\"alert\">{problem}</p>\n{content}");
    let policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; \
                  frame-ancestors 'none'";
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, policy),
        // The policy `no-referrer` would make the header `Origin` of a form `null`.
        (REFERRER_POLICY, "same-origin"),
    ];
    let html = design.page(OWN_HOST, title, &content);
    (design.texts.headers(), headers, html).into_response()
}

/// Returns a page with the status and the headers of an error. `page` makes the page from the problem, as HTML.
///
/// The page has the text for this error in the person's language. If there is no such text, as for broken rules, it has
/// the `detail` of the API. A person who has tried too often also learns how long to wait.
pub(super) fn refuse(
    design: Design<'_>,
    error: ApiError,
    page: impl FnOnce(&str) -> Response,
) -> Response {
    let text = design.texts.find(&format!("reason.{}", error.reason()));
    let mut problem = escape(text.unwrap_or(error.detail()));
    if error.reason() == Reason::TooManyAttempts.as_str()
        && let Some(seconds) = error.retry_after()
    {
        problem += &design.render(" {sign_in.wait}", &[("time", &duration(seconds))]);
    }
    let (mut head, _json) = error.into_response().into_parts();
    let (page, body) = page(&problem).into_parts();
    head.headers.extend(page.headers);
    Response::from_parts(head, body)
}

/// Returns a time to wait in the way that people write it: in whole minutes if it is long.
fn duration(seconds: u64) -> String {
    if seconds < 100 {
        format!("{seconds} s")
    } else {
        format!("{} min", seconds.div_ceil(60))
    }
}

/// Returns the return address as HTML, for the field `return` of a form. Returns an empty text if there is no address.
pub(super) fn escaped_location(back: Option<&ReturnAddress>) -> String {
    match back {
        Some(back) => escape(&back.location),
        None => String::new(),
    }
}

/// Returns the page that is shown in place of a form if the connection is not encrypted: a password could be read in
/// transit, or may have been read already.
pub(super) fn https_needed(design: Design<'_>, headers: &HeaderMap) -> Response {
    let problem = if forwarded_scheme(headers).is_ok() {
        "{https.needed}"
    } else {
        "{https.proxies_disagree}"
    };
    let problem = design.render(problem, &[]);
    let tunnel = ssh_tunnel(design, headers).unwrap_or_default();
    page(design, "{sign_in.title}", &problem, &tunnel)
}

/// Returns the HTML that explains how to reach the loopback address of this machine through an SSH tunnel, because that
/// address needs no encryption. Returns `None` behind a proxy, which the tunnel would bypass.
fn ssh_tunnel(design: Design<'_>, headers: &HeaderMap) -> Option<String> {
    if has_passed_proxy(headers) {
        return None;
    }
    let own = Origin::from_request_headers(headers)?;
    let host = own.url().host_str()?.trim_matches(['[', ']']);
    // A host that begins with "-" would be an option of ssh.
    if host.starts_with('-') {
        return None;
    }
    let port = own.url().port_or_known_default()?;
    let local_port = if port < FIRST_UNPRIVILEGED_PORT {
        LOCAL_PORT
    } else {
        port
    };
    let values = [
        ("near", &*local_port.to_string()),
        ("port", &port.to_string()),
        ("host", &escape(host)),
    ];
    Some(design.render(include_str!("https_needed.html"), &values))
}
