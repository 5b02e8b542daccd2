//! Serves `/account` and `/set-password`, whose scripts call the API, and the files of all pages.

use super::{
    page::https_needed,
    state::{SignInState, secure_origin},
};
use crate::{
    console::{ACCOUNT_ASSETS, asset_of, page},
    embedded_pages::not_found,
};
use axum::{
    Router,
    extract::{Path, State, rejection::PathRejection},
    response::Response,
    routing::{MethodRouter, get},
};
use http::HeaderMap;

/// The files of the console that the other pages need. They are served below `/sign-in/`, because the proxy of an
/// application passes no files at other paths to Rolegate.
pub(super) const SIGN_IN_FILES: [&str; 4] =
    ["base.css", "icon.svg", "sign_in.css", "set_password.js"];

pub(super) async fn logo(State(state): State<SignInState>, headers: HeaderMap) -> Response {
    state.gateway.logo.respond(&headers)
}

/// Returns the routes of the files below `/sign-in/` and `/account/`.
pub(super) fn file_routes() -> Router<SignInState> {
    let mut routes = Router::new().route("/account/{file}", get(account_file));
    for name in SIGN_IN_FILES {
        let handler = async move |State(state): State<SignInState>, headers: HeaderMap| {
            asset_of(&[name], name, state.sign_in.design(&headers), &headers)
        };
        routes = routes.route(&format!("/sign-in/{name}"), get(handler));
    }
    routes
}

async fn account_file(
    State(state): State<SignInState>,
    name: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Response {
    // A name that is not UTF-8 is no name of a file.
    let Ok(Path(name)) = name else {
        return not_found();
    };
    let design = state.sign_in.design(&headers);
    asset_of(&ACCOUNT_ASSETS, &name, design, &headers)
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
            page(name, design, &headers)
        },
    )
}
