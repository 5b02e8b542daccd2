//! Generates what a user needs to enroll a second factor: a secret for an authenticator application, and
//! recovery codes.

use super::code::{RECOVERY_CODE_BYTES, RECOVERY_CODE_GROUPS, digest_recovery_code};
use data_encoding::BASE32_NOPAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret as _, SecretString};
use std::io;
use zeroize::Zeroizing;

/// The size of a secret in bytes, as RFC 4226, section 4, recommends.
const SECRET_BYTES: usize = 20;
const RECOVERY_CODES: usize = 10;
/// The characters that are escaped when a username or an issuer is put into a URL: all but the unreserved ones
/// of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// The issuer of an enrollment whose caller names none.
const DEFAULT_ISSUER: &str = "Rolegate";
const MAX_ISSUER_BYTES: usize = 255;

/// A generated second factor, which the caller has not stored yet.
pub(crate) struct Enrolment {
    pub(crate) secret: Zeroizing<[u8; SECRET_BYTES]>,
    /// The recovery codes, which are shown to the user once and not stored.
    pub(crate) recovery_codes: Vec<SecretString>,
    /// The digests of the recovery codes, which are stored.
    pub(crate) digests: Vec<String>,
}

/// The secret in the two forms that authenticator applications accept.
pub(crate) struct AuthenticatorSecret {
    /// The secret in base32, for people who type it.
    pub(crate) base32: SecretString,
    /// The `otpauth` URL, which applications read from a QR code.
    pub(crate) url: SecretString,
}

/// The name of the service, which authenticator applications show beside the username.
pub(crate) struct Issuer {
    pub(super) name: String,
}

impl Issuer {
    /// Parses the name that a caller gives; `None` stands for the default. Returns `None` if the name is
    /// invalid. A colon, for example, would end the name in the URL that applications read.
    pub(crate) fn parse(given: Option<String>) -> Option<Self> {
        let name = given.unwrap_or_else(|| DEFAULT_ISSUER.to_owned());
        let is_valid = (1..=MAX_ISSUER_BYTES).contains(&name.len())
            && name.trim() == name
            && !name.contains(|character: char| character == ':' || character.is_control());
        is_valid.then_some(Self { name })
    }
}

impl Enrolment {
    /// Generates a secret and recovery codes. Fails only if the system provides no random bytes.
    pub(crate) fn generate() -> io::Result<Self> {
        let mut secret = Zeroizing::new([0; SECRET_BYTES]);
        getrandom::fill(&mut *secret).map_err(io::Error::other)?;
        let mut recovery_codes = Vec::new();
        let mut digests = Vec::new();
        for _ in 0..RECOVERY_CODES {
            let mut random = Zeroizing::new([0; RECOVERY_CODE_BYTES]);
            getrandom::fill(&mut *random).map_err(io::Error::other)?;
            let mut code = BASE32_NOPAD.encode(&*random).to_ascii_lowercase();
            for end in RECOVERY_CODE_GROUPS {
                code.insert(end, '-');
            }
            recovery_codes.push(code.into());
            digests.push(digest_recovery_code(&*random));
        }
        Ok(Self {
            secret,
            recovery_codes,
            digests,
        })
    }

    /// Formats the secret for the authenticator application of the user with this name.
    pub(crate) fn authenticator_secret(
        &self,
        issuer: &Issuer,
        username: &str,
    ) -> AuthenticatorSecret {
        let base32 = SecretString::from(BASE32_NOPAD.encode(&*self.secret));
        let secret = base32.expose_secret();
        let issuer = utf8_percent_encode(&issuer.name, RESERVED);
        let username = utf8_percent_encode(username, RESERVED);
        let url = format!(
            "otpauth://totp/{issuer}:{username}?secret={secret}&issuer={issuer}&algorithm=SHA1&digits=6&period=30"
        );
        AuthenticatorSecret {
            base32,
            url: url.into(),
        }
    }
}
