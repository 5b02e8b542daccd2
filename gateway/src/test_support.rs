//! Support for unit tests.

mod fake_auth;
mod response;

pub(crate) use fake_auth::{Calls, fake_auth};
pub(crate) use response::{TestResponse, authorized, bare, json, send};

use crate::settings::Settings;
use clap::{CommandFactory as _, FromArgMatches as _};

impl Settings {
    /// Parses arguments and ignores the environment of the tests.
    pub(crate) fn from_args(arguments: &[&str]) -> Result<Self, clap::Error> {
        Self::command()
            .mut_args(|argument| argument.env(None::<&str>))
            .try_get_matches_from(["gateway"].iter().chain(arguments))
            .and_then(|matches| Self::from_arg_matches(&matches))
    }
}
