//! The HTML of the page to sign in at.

use super::{
    page::{escaped_location, page},
    return_address::ReturnAddress,
};
use crate::extract::query_params::QueryParams;
use axum::response::Response;
use rolegate_sign_in::{
    design::Design,
    html::{escape, strong},
    page_query::{MAX_RETURN_ADDRESS_LEN, RETURN, TOO_LONG, TWO_SESSIONS, UNSAVED},
};
use secrecy::{ExposeSecret as _, SecretString};

/// The greatest number of bytes of a username that is shown again; no longer one can be registered.
const MAX_USERNAME_LEN: usize = 255;

/// What the page says about the way there, by the parameter that asks for it.
const NOTICES: [(&str, &str); 3] = [
    (UNSAVED, "{notice.unsaved}"),
    (TOO_LONG, "{notice.too_long}"),
    (TWO_SESSIONS, "{notice.two_sessions}"),
];

/// The notices that the query of the page asks for, as templates.
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
        let back = escaped_location(self.back);
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
            // A person who may go on finds that first.
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
