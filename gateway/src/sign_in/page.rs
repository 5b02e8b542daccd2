//! The HTML that the pages have in common. They need no scripts. Their texts are in `crates/sign-in/texts/`.

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

/// The first port at which everybody may listen.
const FIRST_UNPRIVILEGED_PORT: u16 = 1024;
/// The port at which the tunnel listens if the port of the page is below that one.
const LOCAL_PORT: u16 = 8000;

/// A page with this title below the brand.
///
/// Browsers apply `form-action` to every address that the answer to a form leads to, also those to which an application
/// leads on, so the policy does not have it. Nor is there a policy for openers, so that people can sign in in a window
/// that an application opened.
///
/// `title` is a template, `problem` and `content` are HTML.
pub(super) fn page(design: Design<'_>, title: &str, problem: &str, content: &str) -> Response {
    let content = format!("    <p class=\"message error\" role=\"alert\">{problem}</p>\n{content}");
    let policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; \
                  frame-ancestors 'none'";
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, policy),
        // The header `Origin` of a form would be `null` with `no-referrer`.
        (REFERRER_POLICY, "same-origin"),
    ];
    let html = design.page(OWN_HOST, title, &content);
    (design.texts.headers(), headers, html).into_response()
}

/// A page with the status and the headers of an error. It has the text of the API if the language has none for the
/// reason, as for broken rules. A person who has tried too often learns when the next try counts.
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

/// A time to wait as people write it, in whole minutes if it is long.
fn duration(seconds: u64) -> String {
    if seconds < 100 {
        format!("{seconds} s")
    } else {
        format!("{} min", seconds.div_ceil(60))
    }
}

/// The value of the field `return` of a form, as HTML; empty without an address.
pub(super) fn escaped_location(back: Option<&ReturnAddress>) -> String {
    match back {
        Some(back) => escape(&back.location),
        None => String::new(),
    }
}

/// The page that stands in the place of a form without encryption: anybody on the way could read the password, or may
/// have done so.
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

/// Explains how to reach the loopback address of this machine, which needs no encryption, by a tunnel. `None` behind a
/// proxy, which the tunnel would bypass.
fn ssh_tunnel(design: Design<'_>, headers: &HeaderMap) -> Option<String> {
    if has_passed_proxy(headers) {
        return None;
    }
    let own = Origin::from_request_headers(headers)?;
    let host = own.url().host_str()?.trim_matches(['[', ']']);
    // A name that begins with "-" would be an option of ssh.
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
