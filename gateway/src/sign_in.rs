//! Serves the pages for people who use applications, or the console, with a browser.
//!
//! The pages are `/sign-in` and `/sign-out`; `/account`, where people look after their account; and `/set-password`,
//! which a password link opens. The session is in a cookie, which no script reads. A person who opens an application
//! without a session is redirected to `sign_in_page`. `submit` receives its form, creates the sessions, and redirects
//! back.
//!
//! - `sign_out` serves the page that asks whether to sign out, and ends the sessions. `submitted_form` reads the fields
//!   that the forms have in common.
//! - `account` serves the pages whose scripts call the API, and the files of all pages.
//! - `interstitials` serves pages in place of an application's page.
//! - `cookies` chooses the cookies that a sign-in sets. `sessions` finds the user of the sessions in cookies, and ends
//!   sessions.
//! - `return_address` decides where a browser may go after a sign-in or a sign-out.
//! - `page` writes the HTML that the pages have in common, and `state` has what the handlers share.

mod account;
mod cookies;
pub(crate) mod interstitials;
mod page;
pub(crate) mod return_address;
pub(crate) mod sessions;
mod sign_in_page;
mod sign_out;
mod state;
mod submit;
mod submitted_form;

use crate::{console::picture, state::GatewayState};
use account::page_with_passwords;
use axum::{
    Router,
    routing::{get, post},
};
use rolegate_sign_in::sign_in::SignIn;
use state::SignInState;
use std::sync::Arc;

/// Returns the routes of the pages. They are no part of the API, so they are not in the OpenAPI document.
pub(crate) fn routes(gateway: GatewayState, sign_in: Arc<SignIn>) -> Router<GatewayState> {
    let state = SignInState { gateway, sign_in };
    Router::new()
        .route("/sign-in", get(sign_in_page::show).post(submit::submit))
        .route("/sign-in/refused", get(interstitials::refused))
        .route("/sign-in/logo", get(account::logo))
        .route("/sign-out", get(sign_out::show).post(sign_out::submit))
        // The token of the link is in the fragment, and the script of the page sends it to `PUT /password`.
        .route("/set-password", page_with_passwords("set_password.html"))
        // The page sends a person who is not signed in to `/sign-in`.
        .route("/account", page_with_passwords("account.html"))
        .route("/account/logo", get(account::logo))
        .merge(account::file_routes())
        .with_state(state)
        .route("/account/picture", post(picture::draw))
}

#[cfg(test)]
mod tests;
