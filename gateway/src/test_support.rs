//! Provides auth-service, requests and responses for unit tests.

mod response;

pub(crate) use auth_fixture::Calls;
pub(crate) use response::{File, TestResponse, authorized, bare, fetch, json, send};

use crate::{logo::default_logo, settings::Settings, state::GatewayState};
use auth_fixture::{AuthFixture, refusal};
use clap::{CommandFactory as _, FromArgMatches as _};
use prost_types::Timestamp;
use rolegate_auth_client::{AuthClient, Reason};
use rolegate_sign_in::sign_in::SignIn;
use std::sync::LazyLock;
use tonic::Status;

/// Starts auth-service with a few users, and returns its client and the calls that it receives.
pub(crate) fn auth_service() -> (AuthClient, Calls) {
    auth_service_with(&[])
}

/// Does the same as [`auth_service`], with these flags of auth-service.
pub(crate) fn auth_service_with(flags: &[&str]) -> (AuthClient, Calls) {
    let service = start(flags);
    (service.client(), service.calls)
}

/// Returns a client of an auth-service that all tests share, for those that change nothing and count no calls.
pub(crate) fn shared_auth_service() -> AuthClient {
    static SERVICE: LazyLock<AuthFixture> = LazyLock::new(|| start(&["--login-failure-limit=0"]));
    SERVICE.client()
}

/// Starts a service that refuses a call with the text `flood` in its message as too many attempts, and is unavailable
/// for one with `down`.
fn start(flags: &[&str]) -> AuthFixture {
    let service = auth_fixture::start(flags);
    let failures = &service.calls;
    failures.fail("flood", refusal(Reason::TooManyAttempts));
    failures.fail("down", Status::unavailable("down"));
    service
}

/// Returns the rules for signing in that these arguments set.
pub(crate) fn sign_in(arguments: &[&str]) -> Option<SignIn> {
    Settings::from_args(arguments)
        .expect("settings")
        .sign_in
        .read()
        .expect("settings")
}

/// Returns a time in Unix seconds, as auth-service sends it.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the type of the fields of messages"
)]
pub(crate) fn time(seconds: i64) -> Option<Timestamp> {
    Some(Timestamp { seconds, nanos: 0 })
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
