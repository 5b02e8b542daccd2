//! The second factor of a sign-in: one-time codes (RFC 6238), and recovery codes for people who have lost their
//! device.
//!
//! `enrolment` generates a user's secret and recovery codes, and formats the secret for an authenticator
//! application. `keys` encrypts the secret for the database. At a sign-in, `code` parses what the user typed:
//! `totp` finds the time step of a one-time code, and a recovery code is found by its digest.
//!
//! This file has the operator's policy: which users can or must have a second factor. `accounts` decides when a
//! code is required, and counts wrong codes.

mod code;
mod enrolment;
mod keys;
#[cfg(test)]
mod tests;
mod totp;

pub(crate) use code::Code;
pub(crate) use enrolment::{Enrolment, Issuer};
pub(crate) use keys::SecondFactorKeys;
#[cfg(test)]
pub(crate) use totp::code_at;
pub(crate) use totp::matching_step;

use rolegate_program::settings::SettingError;
use std::{str::FromStr, sync::Arc};

/// The setting `SECOND_FACTOR`, which says which users can or must have a second factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Every user can have a second factor.
    #[default]
    Optional,
    /// Every user can have a second factor. Admins without one do not have the rights of an admin.
    Admins,
    /// No user can have a second factor.
    Off,
}

impl FromStr for Mode {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "optional" => Ok(Self::Optional),
            "admins" => Ok(Self::Admins),
            "off" => Ok(Self::Off),
            _ => Err("must be optional, admins or off"),
        }
    }
}

/// The operator's settings for second factors.
pub(crate) struct SecondFactorPolicy {
    pub(crate) mode: Mode,
    /// The keys that encrypt the secrets of users. Without keys, no user can enroll a second factor.
    pub(crate) keys: Option<Arc<SecondFactorKeys>>,
}

impl SecondFactorPolicy {
    /// Returns an error if users have second factors that the mode turns off, or that cannot be verified because
    /// a key is missing. `key_ids` are the ids of the keys that encrypted the stored secrets.
    pub(crate) fn check_stored(&self, key_ids: &[String]) -> Result<(), SettingError> {
        if self.mode == Mode::Off && !key_ids.is_empty() {
            let problem =
                "is off, and users have a second factor; run user remove-second-factor for them";
            return Err(SettingError::new("SECOND_FACTOR", problem));
        }
        let has_key = |id: &String| self.keys.as_ref().is_some_and(|keys| keys.has(id));
        if key_ids.iter().all(has_key) {
            return Ok(());
        }
        let problem = match self.keys {
            None => "is required: users have a second factor",
            Some(_) => {
                "cannot decrypt a user's second factor, and no key in SECOND_FACTOR_KEYS_ACCEPTED can"
            }
        };
        Err(SettingError::new("SECOND_FACTOR_KEY", problem))
    }
}
