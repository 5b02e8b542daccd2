//! The pages for people who use applications, or the console, with a browser: `/sign-in` and `/sign-out`; `/account`,
//! where they look after their account; and `/set-password`, to which the link of an admin leads. The session is in a
//! cookie, which no script reads.
//!
//! - `sign_in_page`, `submit`: the page to sign in at, and its form; `sign_out`: the same for signing out.
//! - `submitted_form`: what both forms have in common.
//! - `account`: the pages whose scripts call the API, and the files of all pages.
//! - `interstitials`: what stands in the place of an application's page.
//! - `cookies`: which cookies a sign-in sets; `sessions`: finds the user of the sessions in them, and ends them.
//! - `return_address`: where a browser goes afterwards.
//! - `state`: what the handlers share.
//! - `page`: the HTML that the pages have in common.

mod account;
mod cookies;
pub(crate) mod interstitials;
mod page;
pub(crate) mod return_address;
mod sessions;
mod sign_in_page;
mod sign_out;
mod state;
mod submit;
mod submitted_form;

use crate::{console::picture, settings::PublicSettings, state::GatewayState};
use axum::{
    Router,
    routing::{get, post},
};
use rolegate_sign_in::sign_in::SignIn;
use state::SignInState;
use std::sync::Arc;

/// The routes. They are not in the OpenAPI document: they are no part of the API.
pub(crate) fn routes(
    gateway: GatewayState,
    sign_in: Arc<SignIn>,
    settings: &PublicSettings,
) -> Router<GatewayState> {
    let state = SignInState {
        gateway,
        sign_in,
        trusted_proxies: Arc::new(settings.trusted_proxies.clone()),
    };
    Router::new()
        .route("/sign-in", get(sign_in_page::show).post(submit::submit))
        .route("/sign-in/refused", get(interstitials::refused))
        .route("/sign-in/logo", get(account::logo))
        .route("/sign-out", get(sign_out::show).post(sign_out::submit))
        .route("/set-password", get(account::set_password))
        .route("/account", get(account::account))
        .route("/account/logo", get(account::logo))
        .merge(account::file_routes())
        .with_state(state)
        .route("/account/picture", post(picture::draw))
}

#[cfg(test)]
mod tests;
