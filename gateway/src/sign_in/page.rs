//! The HTML of the pages. They need no scripts. What they say is in `crates/sign-in/texts/`.

use super::return_address::ReturnAddress;
use crate::extract::query_params::QueryParams;
use axum::response::{IntoResponse as _, Response};
use http::{
    HeaderMap,
    header::{
        CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, RETRY_AFTER, VARY,
    },
};
use rolegate_auth_client::axum::ApiError;
use rolegate_proto::Reason;
use rolegate_sign_in::{
    design::Design,
    forwarded::{forwarded_scheme, has_passed_proxy},
    html::escape,
    origin::Origin,
    page_query::{MAX_RETURN_ADDRESS_LEN, TOO_LONG, TWO_SESSIONS, UNSAVED},
};
use secrecy::{ExposeSecret as _, SecretString};

/// The files of the console that the pages need. They are served below `/sign-in/`, because the proxy of an
/// application passes no other path.
pub(super) const FILES: [&str; 3] = ["base.css", "icon.svg", "sign_in.css"];

/// The script of `/set-password`, and what it imports.
pub(super) const SCRIPTS: [&str; 9] = [
    "set_password.js",
    "api.js",
    "copy.js",
    "dom.js",
    "form.js",
    "language.js",
    "new_password.js",
    "session.js",
    "texts.js",
];

/// Bytes of a username that is shown again; no longer one can be registered.
const MAX_USERNAME: usize = 255;

/// The first port at which everybody may listen.
const FIRST_UNPRIVILEGED: u16 = 1024;

/// Notices, as templates.
pub(super) const SIGNED_OUT: &str = "{notice.signed_out}";
pub(super) const NOT_LED_BACK: &str = "{notice.not_led_back}";
pub(super) const ENDED: &str = "{sign_in.ended}";

/// What the page says about the way there, by the parameter that asks for it.
const NOTICES: [(&str, &str); 3] = [
    (UNSAVED, "{notice.unsaved}"),
    (TOO_LONG, "{notice.too_long}"),
    (TWO_SESSIONS, "{notice.two_sessions}"),
];

/// The notices that the query of the page asks for, as templates.
pub(super) fn notices(query: &QueryParams) -> Vec<&'static str> {
    let is_too_long = |name| {
        name == TOO_LONG
            && query
                .get("return")
                .is_ok_and(|it| it.is_some_and(|it| it.len() > MAX_RETURN_ADDRESS_LEN))
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
    /// Templates of what the page says above the form.
    pub(super) notices: Vec<&'static str>,
    /// The name of the user whose session the sign-in would replace.
    pub(super) signed_in: Option<&'a str>,
    /// The name that was typed.
    pub(super) username: &'a str,
    /// The token of a pending sign-in, whose code the page asks for. It is in this page only, and in no cookie.
    pub(super) pending: Option<&'a SecretString>,
    /// Why the sign-in was refused, as HTML.
    pub(super) problem: &'a str,
}

impl SignInPage<'_> {
    pub(super) fn respond(self, design: Design<'_>) -> Response {
        let username = if self.username.len() <= MAX_USERNAME {
            self.username
        } else {
            ""
        };
        let back = location(self.back);
        let mut content = String::new();
        for notice in self.notices {
            let text = design.render(notice, &[]);
            content.extend(["    <p class=\"message\">", &text, "</p>\n"]);
        }
        if let Some(user) = self.signed_in {
            let user = format!("<strong>{}</strong>", escape(user));
            let go_on = design.render(include_str!("go_on.html"), &[]);
            let values = [("user", &*user), ("go_on", &go_on), ("back", &back)];
            content += &design.render(include_str!("signed_in.html"), &values);
        }
        if let Some(pending) = self.pending {
            let values = [
                ("user", &*format!("<strong>{}</strong>", escape(username))),
                ("username", &escape(username)),
                ("pending", &escape(pending.expose_secret())),
                ("back", &back),
            ];
            content += &design.render(include_str!("one_time_code.html"), &values);
            return page(design, "{sign_in.title}", self.problem, &content);
        }
        // A person who may go on finds that first.
        let focus = |is_here| {
            if is_here && self.signed_in.is_none() {
                " autofocus"
            } else {
                ""
            }
        };
        content += &design.render(
            include_str!("sign_in.html"),
            &[
                ("username", &escape(username)),
                ("focus_username", focus(username.is_empty())),
                ("focus_password", focus(!username.is_empty())),
                ("back", &back),
            ],
        );
        page(design, "{sign_in.title}", self.problem, &content)
    }
}

/// `problem` is the HTML that the page has above the form, or empty.
pub(super) fn sign_out(
    design: Design<'_>,
    back: Option<&ReturnAddress>,
    problem: &str,
) -> Response {
    let back = location(back);
    let content = design.render(include_str!("sign_out.html"), &[("back", &back)]);
    page(design, "{sign_out.title}", problem, &content)
}

/// In the place of a form, where anybody on the way could read the password, or may have done so.
pub(super) fn https_needed(design: Design<'_>, headers: &HeaderMap) -> Response {
    let problem = if forwarded_scheme(headers).is_ok() {
        "{https.needed}"
    } else {
        "{https.proxies_disagree}"
    };
    let problem = design.render(problem, &[]);
    let way = way_by_ssh(design, headers).unwrap_or_default();
    page(design, "{sign_in.title}", &problem, &way)
}

/// How to come by this machine's own address, at which no encryption is needed. Behind a proxy it would lead past
/// that.
fn way_by_ssh(design: Design<'_>, headers: &HeaderMap) -> Option<String> {
    let own = Origin::from_request_headers(headers).filter(|_| !has_passed_proxy(headers))?;
    // A name that begins with "-" would be an option of ssh.
    let host = own.url().host_str()?.trim_matches(['[', ']']);
    let port = own.url().port_or_known_default()?;
    let near = if port < FIRST_UNPRIVILEGED {
        8000
    } else {
        port
    };
    (!host.starts_with('-')).then(|| {
        design.render(
            include_str!("https_needed.html"),
            &[
                ("near", &near.to_string()),
                ("port", &port.to_string()),
                ("host", &escape(host)),
            ],
        )
    })
}

/// A page with the status and the headers of an error. The API's own text stands where the language has none for the
/// reason, which is so for broken rules. A person who has tried too often learns when the next try counts.
pub(super) fn refuse(
    design: Design<'_>,
    error: ApiError,
    page: impl FnOnce(&str) -> Response,
) -> Response {
    let text = design.texts.find(&format!("reason.{}", error.reason()));
    let mut problem = escape(text.unwrap_or(error.detail()));
    let is_limited = error.reason() == Reason::TooManyAttempts.as_str();
    let (mut head, _json) = error.into_response().into_parts();
    let retry_after = head
        .headers
        .get(RETRY_AFTER)
        .and_then(|it| it.to_str().ok());
    if is_limited && let Some(Ok(seconds)) = retry_after.map(str::parse) {
        problem += &design.render(" {sign_in.wait}", &[("time", &duration(seconds))]);
    }
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

/// Browsers apply `form-action` to every address that the answer to a form leads to, also those to which an application
/// leads on, so the policy does not have it. Nor is there a policy for openers, so that people can sign in in a window
/// that an application opened.
///
/// `title` is a template, `problem` and `content` are HTML.
fn page(design: Design<'_>, title: &str, problem: &str, content: &str) -> Response {
    let content = format!("    <p class=\"message error\" role=\"alert\">{problem}</p>\n{content}");
    let policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; \
                  frame-ancestors 'none'";
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_LANGUAGE, design.texts.language),
        (VARY, "Accept-Language"),
        (CONTENT_SECURITY_POLICY, policy),
        // With `no-referrer`, the header `Origin` of a form would be `null`.
        (REFERRER_POLICY, "same-origin"),
    ];
    (headers, design.page("", title, &content)).into_response()
}

fn location(back: Option<&ReturnAddress>) -> String {
    back.map(|back| escape(&back.location)).unwrap_or_default()
}
