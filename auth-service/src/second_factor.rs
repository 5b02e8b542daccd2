//! The second step of a sign-in: one-time codes of RFC 6238, and recovery codes for people who lost the
//! device.
//!
//! - `enrolment`: the secret and the recovery codes of a user, and how applications get the secret.
//! - `code`: a code as somebody types it.
//! - `totp`: the one-time codes of a secret.
//! - `keys`: encrypts the secrets in the database.

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

use crate::user::User;
use rolegate_program::settings::SettingError;
use rolegate_proto::Role;
use std::{str::FromStr, sync::Arc};

/// The setting `SECOND_FACTOR`: it says which users can or must have a second factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Every user can have one.
    #[default]
    Optional,
    /// Every user can have one, and admins must have one to be admins.
    Admins,
    /// No user can have one.
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

/// The settings of the operator about second factors.
#[derive(Clone)]
pub(crate) struct SecondFactorPolicy {
    pub(crate) mode: Mode,
    /// Encrypts the secrets of users. Without keys nobody can turn a second factor on.
    pub(crate) keys: Option<Arc<SecondFactorKeys>>,
}

impl SecondFactorPolicy {
    /// Checks that the second factors of users can be verified, by the ids of the keys that they are encrypted with.
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
                "is not the key of a user's second factor, and SECOND_FACTOR_KEYS_ACCEPTED does not contain it"
            }
        };
        Err(SettingError::new("SECOND_FACTOR_KEY", problem))
    }

    /// Whether this user is an admin without the second factor that admins must have.
    pub(crate) fn is_required_but_missing(&self, user: &User) -> bool {
        self.mode == Mode::Admins && user.role == Role::ADMIN && !user.second_factor
    }
}
