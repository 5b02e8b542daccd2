//! Serves `/account` and `/set-password`, whose scripts call the API, and the files of all pages.

use super::{
    page::https_needed,
    state::{SignInState, secure_origin},
};
use crate::console::{self, account_files};
use axum::{
    Router,
    extract::State,
    response::Response,
    routing::{MethodRouter, get},
};
use http::HeaderMap;

/// The files of the console that the other pages need. They are served below `/sign-in/`, because the proxy of an
/// application passes no files at other paths to Rolegate.
pub(super) const SIGN_IN_FILES: [&str; 3] = ["base.css", "icon.svg", "sign_in.css"];

/// The script of `/set-password`, and the scripts that it imports.
pub(super) const SET_PASSWORD_SCRIPTS: [&str; 9] = [
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

pub(super) async fn logo(State(state): State<SignInState>, headers: HeaderMap) -> Response {
    state.gateway.logo.respond(&headers)
}

/// Returns the routes of the files below `/sign-in/` and `/account/`.
pub(super) fn file_routes() -> Router<SignInState> {
    let mut routes = Router::new();
    for name in SIGN_IN_FILES.into_iter().chain(SET_PASSWORD_SCRIPTS) {
        routes = add_file(routes, "/sign-in", name);
    }
    for name in account_files() {
        routes = add_file(routes, "/account", name);
    }
    routes
}

fn add_file(routes: Router<SignInState>, folder: &str, name: &'static str) -> Router<SignInState> {
    let handler = async move |State(state): State<SignInState>, headers: HeaderMap| {
        console::file(name, state.sign_in.design(&headers), &headers)
    };
    routes.route(&format!("{folder}/{name}"), get(handler))
}

/// Returns the handler of a page where people type passwords. If the connection is unencrypted, a password could be read
/// in transit, so the response is a page that asks for HTTPS.
pub(super) fn page_with_passwords(name: &'static str) -> MethodRouter<SignInState> {
    get(
        async move |State(state): State<SignInState>, headers: HeaderMap| {
            let design = state.sign_in.design(&headers);
            if secure_origin(&headers).is_none() {
                return https_needed(design, &headers);
            }
            console::file(name, design, &headers)
        },
    )
}
