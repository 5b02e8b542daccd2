//! Serves `/console/`, a page for people who administer users.
//!
//! Its files are embedded in the program. The page calls the public API like any other client. The browser sends the
//! session in a cookie, which no script of the page sees. The pages `/account` and `/set-password` are made of the same
//! files.

pub(crate) mod picture;

use crate::{
    embedded_pages::{self, not_found},
    state::GatewayState,
    static_file::StaticFile,
};
use axum::{
    Router,
    body::Bytes,
    response::{AppendHeaders, IntoResponse as _, Response},
    routing::post,
};
use http::HeaderMap;
use rolegate_sign_in::design::Design;

/// The `Content-Security-Policy` of the page. It allows the files of the page, but nothing inline, nothing from other
/// origins, and no framing. Where the browser has Trusted Types, scripts cannot turn text into HTML.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                              img-src 'self'; connect-src 'self'; base-uri 'none'; \
                              form-action 'none'; frame-ancestors 'none'; \
                              require-trusted-types-for 'script'; trusted-types 'none'";

/// The name of the file with the texts for the scripts. It is generated for each language, so it is not in
/// `gateway/console/`.
const LANGUAGE: &str = "language.js";

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../console/", $name)))),*]
    };
}

/// The files that the account page needs. The console uses them as well. The files that only the console needs are in
/// [`OTHER_FILES`], so a host that only signs users in does not serve them.
const ACCOUNT_FILES: &[(&str, &str)] = &files![
    "base.css",
    "views.css",
    "icon.svg",
    "account.js",
    "account_page.js",
    "address.js",
    "api.js",
    "audit.js",
    "copy.js",
    "credentials.js",
    "dom.js",
    "ended.js",
    "form.js",
    "keys.js",
    "new_password.js",
    "page.js",
    "paging.js",
    "picture.js",
    "roles.js",
    "second_step.js",
    "session.js",
    "sessions.js",
    "states.js",
    "texts.js",
    "times.js",
    "typing.js",
];

/// The other files of `gateway/console/`, for the console and `/set-password`.
const OTHER_FILES: &[(&str, &str)] = &files![
    "index.html",
    "sign_in.css",
    "account.html",
    "curl.js",
    "dialog.js",
    "end_field.js",
    "group.js",
    "groups.js",
    "main.js",
    "memberships.js",
    "new_user.js",
    "password_link.js",
    "post_editor.js",
    "posts.js",
    "requests.js",
    "set_password.html",
    "set_password.js",
    "user_access.js",
    "user_dialog.js",
    "user_fields.js",
    "user_filters.js",
    "user_groups.js",
    "user_role.js",
    "user_row.js",
    "users.js",
];

/// Returns the names and the texts of all files in `gateway/console/`.
fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    ACCOUNT_FILES.iter().chain(OTHER_FILES).copied()
}

/// Returns the names of the files that the account page needs.
pub(crate) fn account_files() -> impl Iterator<Item = &'static str> {
    ACCOUNT_FILES
        .iter()
        .map(|(name, _)| *name)
        .chain([LANGUAGE])
}

/// Returns the routes of the console: its files, and the QR codes for its scripts. The console is in English and has no
/// brand.
pub(crate) fn routes() -> Router<GatewayState> {
    let file = |name: &_, request: &_| {
        let no_language = HeaderMap::new();
        file(name, Design::without_brand(&no_language), request)
    };
    embedded_pages::routes("/console", file).route("/console/picture", post(picture::draw))
}

/// Returns the file `name`, or a 404 if there is no such file. `request` holds the headers of the request.
pub(crate) fn file(name: &str, design: Design<'_>, request: &HeaderMap) -> Response {
    let Some(body) = text(name, design) else {
        return not_found();
    };
    let file = StaticFile {
        body,
        content_type: content_type(name),
        content_policy: CONTENT_POLICY,
    };
    let language = AppendHeaders(design.texts.headers());
    (language, file.respond(request)).into_response()
}

/// Returns the text of a file, with its placeholders filled in by this design. Returns `None` if there is no such file.
fn text(name: &str, design: Design<'_>) -> Option<Bytes> {
    if name == LANGUAGE {
        // JSON is a valid expression in JavaScript.
        let texts = design.texts.json.trim_end();
        return Some(format!("export const texts = {texts};\n").into());
    }
    let (_, text) = files().find(|(file, _)| *file == name)?;
    Some(match name {
        "account.html" | "set_password.html" => design.render(text, &[]).into(),
        _ => Bytes::from_static(text.as_bytes()),
    })
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.') {
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        _ => "text/html; charset=utf-8",
    }
}

#[cfg(test)]
mod tests;
