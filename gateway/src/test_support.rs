//! Provides a fake auth-service, requests and responses for unit tests.

mod fake_auth;
mod response;

pub(crate) use fake_auth::{Calls, fake_auth};
pub(crate) use response::{File, TestResponse, authorized, bare, fetch, json, send};

use crate::{logo::default_logo, settings::Settings, state::GatewayState};
use clap::{CommandFactory as _, FromArgMatches as _};
use rolegate_auth_client::AuthClient;
use rolegate_sign_in::sign_in::SignIn;

/// Returns the rules for signing in that these arguments set.
pub(crate) fn sign_in(arguments: &[&str]) -> Option<SignIn> {
    Settings::from_args(arguments)
        .expect("settings")
        .sign_in
        .read()
        .expect("settings")
}

impl GatewayState {
    /// Returns a state with the default picture and the default settings of the pages.
    pub(crate) fn for_tests(auth: AuthClient, sign_in: Option<SignIn>) -> Self {
        let settings = Settings::from_args(&[]).expect("defaults").sign_in;
        Self::new(auth, sign_in, settings, default_logo())
    }
}

impl Settings {
    /// Parses arguments and ignores the environment of the tests.
    pub(crate) fn from_args(arguments: &[&str]) -> Result<Self, clap::Error> {
        Self::command()
            .mut_args(|argument| argument.env(None::<&str>))
            .try_get_matches_from(["gateway"].iter().chain(arguments))
            .and_then(|matches| Self::from_arg_matches(&matches))
    }
}
