//! Serves `GET /sign-in`, the page where people sign in.

use super::{
    interstitials::link_out_of_frame,
    page::{escaped_location, https_needed, page},
    return_address::ReturnAddress,
    sign_out,
    state::{SignInState, is_forwarded, secure_origin},
};
use crate::extract::query_params::QueryParams;
use axum::{
    Extension,
    extract::{Request, State},
    response::{AppendHeaders, IntoResponse as _, Response, Result},
};
use http::header::SET_COOKIE;
use rolegate_auth_client::CallContext;
use rolegate_sign_in::{
    design::Design,
    html::{escape, strong},
    page_query::{MAX_RETURN_ADDRESS_LEN, RETURN, TOO_LONG, TWO_SESSIONS, UNSAVED},
    request::is_frame_request,
};
use secrecy::{ExposeSecret as _, SecretString};

/// The maximum length of a username that is shown again, in bytes. No longer username can be registered.
const MAX_USERNAME_LEN: usize = 255;

/// The notices that tell people why they see the page, each with the query parameter that requests it.
const NOTICES: [(&str, &str); 3] = [
    (UNSAVED, "{notice.unsaved}"),
    (TOO_LONG, "{notice.too_long}"),
    (TWO_SESSIONS, "{notice.two_sessions}"),
];

pub(super) async fn show(
    State(state): State<SignInState>,
    Extension(context): Extension<CallContext>,
    query: QueryParams,
    request: Request,
) -> Result<Response> {
    let headers = request.headers();
    let design = state.sign_in.design(headers);
    let Some(own) = secure_origin(headers) else {
        return Ok(https_needed(design, headers));
    };
    let destination = state.destination(&query, &own)?;
    let return_address = destination.address.as_ref();
    if is_frame_request(headers) {
        return Ok(link_out_of_frame(design, return_address));
    }
    // Another page of Rolegate, such as the page of a password link, may pass the username in the query.
    let username = query.get("username")?.unwrap_or_default();
    let is_forwarded = is_forwarded(&request);
    let cookies = state.sign_in_cookies(headers, &own, return_address, is_forwarded);
    let sessions = cookies.destination.cookie.sessions(headers);
    let user = state
        .find_user(cookies.destination.audience, &sessions, context)
        .await;
    let has_signed_out = user.is_none() && sign_out::has_signed_out(headers);
    let mut shown_notices = Vec::new();
    if has_signed_out {
        shown_notices.push("{notice.signed_out}");
    }
    shown_notices.extend(notices(&query));
    if destination.is_refused {
        shown_notices.push("{notice.not_led_back}");
    }
    let page = SignInPage {
        return_address,
        notices: shown_notices,
        signed_in: user.as_ref().map(|user| &*user.username),
        username,
        ..SignInPage::default()
    };
    let removal = has_signed_out.then(|| (SET_COOKIE, sign_out::remove_signed_out(&own)));
    Ok((AppendHeaders(removal), page.respond(design)).into_response())
}

/// Returns the templates of the notices that the query requests.
pub(super) fn notices(query: &QueryParams) -> Vec<&'static str> {
    let mut notices = Vec::new();
    for (parameter, notice) in NOTICES {
        let is_requested = !matches!(query.get(parameter), Ok(None));
        if is_requested || (parameter == TOO_LONG && has_long_address(query)) {
            notices.push(notice);
        }
    }
    notices
}

fn has_long_address(query: &QueryParams) -> bool {
    matches!(query.get(RETURN), Ok(Some(address)) if address.len() > MAX_RETURN_ADDRESS_LEN)
}

/// The value of [`SignInPage::problem`] for a page that reports no problem.
pub(super) const NO_PROBLEM: &str = "";

/// The contents of the page where people sign in.
#[derive(Default)]
pub(super) struct SignInPage<'a> {
    /// The address to which the browser goes after the sign-in.
    pub(super) return_address: Option<&'a ReturnAddress>,
    /// The templates of the notices above the form.
    pub(super) notices: Vec<&'static str>,
    /// The name of the user whose session the sign-in would replace.
    pub(super) signed_in: Option<&'a str>,
    /// The username that was typed before.
    pub(super) username: &'a str,
    /// The token of a pending sign-in, if the page asks for its code. The token is only in this page, and in no cookie.
    pub(super) pending: Option<&'a SecretString>,
    /// The reason why the sign-in was refused, as HTML, or [`NO_PROBLEM`].
    pub(super) problem: &'a str,
}

impl SignInPage<'_> {
    pub(super) fn respond(self, design: Design<'_>) -> Response {
        let back = escaped_location(self.return_address);
        let mut content = String::new();
        for notice in &self.notices {
            let text = design.render(notice, &[]);
            content.extend(["    <p class=\"message\">", &text, "</p>\n"]);
        }
        if let Some(user) = self.signed_in {
            let go_on = design.render(include_str!("go_on.html"), &[]);
            let values = [("user", &*strong(user)), ("go_on", &go_on), ("back", &back)];
            content += &design.render(include_str!("signed_in.html"), &values);
        }
        content += &match self.pending {
            Some(pending) => self.code_form(design, &back, pending),
            None => self.password_form(design, &back),
        };
        page(design, "{sign_in.title}", self.problem, &content)
    }

    fn code_form(&self, design: Design<'_>, back: &str, pending: &SecretString) -> String {
        let username = self.shown_username();
        let values = [
            ("user", &*strong(username)),
            ("username", &escape(username)),
            ("pending", &escape(pending.expose_secret())),
            ("back", back),
        ];
        design.render(include_str!("one_time_code.html"), &values)
    }

    fn password_form(&self, design: Design<'_>, back: &str) -> String {
        let username = self.shown_username();
        let [focus_username, focus_password] = match (self.signed_in, username) {
            // The button to continue comes before the fields, so none of them is focused.
            (Some(_), _) => ["", ""],
            (None, "") => [" autofocus", ""],
            (None, _) => ["", " autofocus"],
        };
        let values = [
            ("username", &*escape(username)),
            ("focus_username", focus_username),
            ("focus_password", focus_password),
            ("back", back),
        ];
        design.render(include_str!("sign_in.html"), &values)
    }

    fn shown_username(&self) -> &str {
        if self.username.len() <= MAX_USERNAME_LEN {
            self.username
        } else {
            ""
        }
    }
}
