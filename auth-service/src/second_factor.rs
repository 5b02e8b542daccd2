//! The second step of a sign-in: one-time codes of RFC 6238, and codes for people who lost the device.
//!
//! `totp`: the codes of a secret; `keys`: how secrets are sealed.

mod keys;
mod totp;

pub(crate) use keys::FactorKeys;
#[cfg(test)]
pub(crate) use totp::otp_at;
pub(crate) use totp::step_of;

use crate::user::User;
use data_encoding::BASE32_NOPAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rolegate_program::settings::SettingError;
use rolegate_proto::{Role, decimal_digit, shows_nothing};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use std::{io, str::FromStr, sync::Arc};
use zeroize::Zeroizing;

/// As RFC 4226, section 4, recommends.
const SECRET_BYTES: usize = 20;
/// 128 bits cannot be guessed, so a digest without a salt hides them.
const RECOVERY_BYTES: usize = 16;
const RECOVERY_CODES: usize = 10;
/// The capacity for a typed code, so that none is left in memory by growing: one character more than a recovery code has.
const MAX_TYPED_BYTES: usize = 4 * (RECOVERY_CHARS + 1);
/// Characters of a recovery code, and where groups of them end.
const RECOVERY_CHARS: usize = 26;
const GROUPS: [usize; 4] = [20, 15, 10, 5];
/// What a username and an issuer are encoded for in a URL: all but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// The issuer for callers that name none.
const DEFAULT_ISSUER: &str = "Rolegate";
const MAX_ISSUER_BYTES: usize = 255;

/// Who may or must have a second factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Every user may.
    #[default]
    Optional,
    /// Every user may, and admins must to be admins.
    Admins,
    /// No user.
    Off,
}

/// The settings of the operator.
#[derive(Clone, Default)]
pub(crate) struct SecondFactorPolicy {
    pub(crate) mode: Mode,
    /// `None`: nobody can turn it on.
    pub(crate) keys: Option<Arc<FactorKeys>>,
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
}

/// What a user keeps, and what the service does.
pub(crate) struct Enrolment {
    pub(crate) secret: Zeroizing<[u8; SECRET_BYTES]>,
    pub(crate) recovery_codes: Vec<SecretString>,
    /// The digests of the codes.
    pub(crate) digests: Vec<String>,
}

/// What authenticator applications show beside the username.
#[derive(Debug)]
pub(crate) struct Issuer {
    name: String,
}

/// A code as somebody typed it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Code {
    OneTime(u32),
    /// Its digest.
    Recovery(String),
    Malformed,
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

impl SecondFactorPolicy {
    /// Whether this user is an admin without the second factor that makes one.
    pub(crate) fn is_missed_by(&self, user: &User) -> bool {
        self.mode == Mode::Admins && user.role == Role::ADMIN && !user.second_factor
    }
}

impl Issuer {
    /// Reads the name that a caller gives; `None` if it cannot be one. A colon would end it in the URL that
    /// applications read.
    pub(crate) fn parse(given: Option<String>) -> Option<Self> {
        let name = given.unwrap_or_else(|| DEFAULT_ISSUER.to_owned());
        let is_good = (1..=MAX_ISSUER_BYTES).contains(&name.len())
            && name.trim() == name
            && !name.contains(|it: char| it == ':' || it.is_control());
        is_good.then_some(Self { name })
    }
}

impl Enrolment {
    /// Fails only without system randomness.
    pub(crate) fn generate() -> io::Result<Self> {
        let mut secret = Zeroizing::new([0; SECRET_BYTES]);
        getrandom::fill(&mut *secret).map_err(io::Error::other)?;
        let (mut recovery_codes, mut digests) = (Vec::new(), Vec::new());
        for _ in 0..RECOVERY_CODES {
            let mut random = Zeroizing::new([0; RECOVERY_BYTES]);
            getrandom::fill(&mut *random).map_err(io::Error::other)?;
            let mut code = BASE32_NOPAD.encode(&*random).to_ascii_lowercase();
            for end in GROUPS {
                code.insert(end, '-');
            }
            recovery_codes.push(code.into());
            digests.push(hex::encode(Sha256::digest(*random)));
        }
        Ok(Self {
            secret,
            recovery_codes,
            digests,
        })
    }

    /// The secret in base32, and the URL of it that authenticator applications read.
    pub(crate) fn shown(&self, issuer: &Issuer, username: &str) -> (SecretString, SecretString) {
        let secret = SecretString::from(BASE32_NOPAD.encode(&*self.secret));
        let issuer = utf8_percent_encode(&issuer.name, RESERVED);
        let name = utf8_percent_encode(username, RESERVED);
        let text = secret.expose_secret();
        let url = format!(
            "otpauth://totp/{issuer}:{name}?secret={text}&issuer={issuer}&algorithm=SHA1&digits=6&period=30"
        );
        (secret, url.into())
    }
}

impl Code {
    /// Reads a code; `None` if nothing was typed. Spaces, hyphens and invisible characters are for the eye, as is the
    /// case of letters. A digit of any script is that digit.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.chars().all(shows_nothing) {
            return None;
        }
        let characters = text
            .chars()
            .filter(|character| *character != '-' && !shows_nothing(*character))
            .map(|character| {
                decimal_digit(character)
                    .and_then(|digit| char::from_digit(digit, 10))
                    .unwrap_or_else(|| character.to_ascii_uppercase())
            });
        let mut typed = Zeroizing::new(String::with_capacity(MAX_TYPED_BYTES));
        typed.extend(characters.take(RECOVERY_CHARS + 1));
        Some(Self::of_typed(&typed))
    }

    fn of_typed(typed: &str) -> Self {
        if typed.len() == 6 && typed.bytes().all(|byte| byte.is_ascii_digit()) {
            return typed.parse().map_or(Self::Malformed, Self::OneTime);
        }
        let decoded = BASE32_NOPAD.decode(typed.as_bytes()).map(Zeroizing::new);
        match decoded {
            Ok(bytes) if bytes.len() == RECOVERY_BYTES => {
                Self::Recovery(hex::encode(Sha256::digest(&*bytes)))
            }
            _ => Self::Malformed,
        }
    }
}

#[cfg(test)]
mod tests;
