//! Generates the random tokens, which are all tokens with a prefix. Recognizes them by their prefixes, and computes the digests by which they are found.
//!
//! A token is a prefix and 32 random bytes in base64url. Only its SHA-256 is stored. It needs no slow hash, because 256
//! random bits cannot be guessed, and a lookup by digest compares no secret.

use crate::secret_generation::random_bytes;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rolegate_proto::limits::{API_KEY_PREFIX, DOMAIN_SESSION_PREFIX, SESSION_PREFIX};
use secrecy::SecretString;
use sha2::{Digest as _, Sha256};
use std::io;

/// The number of random bytes in a token, before they are encoded in base64url.
const RANDOM_BYTES: usize = 32;

/// The purpose of a random token, which its prefix tells. Password links and pending sign-ins are not credentials:
/// `detect` does not recognize them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretKind<'b> {
    /// The token of a program.
    ApiKey,
    /// The token of a person, as a bearer token or in a cookie.
    Session,
    /// The token of a person that is valid only in a cookie, because all hosts of a domain can read it.
    DomainSession,
    /// The token by which a person sets a password.
    PasswordLink,
    /// The token of a sign-in that waits for the code of the second factor.
    PendingSignIn {
        /// The text that the digest also covers, so that the token is found only together with the same text.
        binding: &'b str,
    },
}

/// A random token, and the digest by which it is found when it is presented.
#[derive(Clone, Debug)]
pub struct GeneratedToken {
    /// The token itself.
    pub token: SecretString,
    /// The digest of the token, in hex.
    pub digest: String,
}

impl SecretKind<'_> {
    /// Returns the kind of a credential by its prefix, whether or not the credential is valid. Returns `None` for a
    /// credential without such a prefix, such as an access token.
    pub(crate) fn detect(credential: &str) -> Option<Self> {
        [Self::ApiKey, Self::Session, Self::DomainSession]
            .into_iter()
            .find(|kind| credential.starts_with(kind.prefix()))
    }

    /// Returns whether a person presents the token as a session, of one host or of a domain.
    pub(crate) const fn is_session(self) -> bool {
        matches!(self, Self::Session | Self::DomainSession)
    }

    const fn prefix(self) -> &'static str {
        match self {
            Self::ApiKey => API_KEY_PREFIX,
            Self::Session => SESSION_PREFIX,
            Self::DomainSession => DOMAIN_SESSION_PREFIX,
            Self::PasswordLink => "rgl_",
            Self::PendingSignIn { .. } => "rgp_",
        }
    }

    /// Generates a token. Fails only if the system provides no random bytes.
    pub fn generate(self) -> io::Result<GeneratedToken> {
        let random: [u8; RANDOM_BYTES] = random_bytes()?;
        let token = format!("{}{}", self.prefix(), URL_SAFE_NO_PAD.encode(random));
        Ok(GeneratedToken {
            digest: self.sha256(&token),
            token: token.into(),
        })
    }

    /// Returns the digest, in hex, by which a token of this kind is found. Returns `None` if the token has another
    /// prefix, or if the rest of it does not encode as many bytes as a token has.
    pub(crate) fn digest(self, token: &str) -> Option<String> {
        let encoded = token.strip_prefix(self.prefix())?;
        let mut random = [0_u8; RANDOM_BYTES + 1];
        let length = URL_SAFE_NO_PAD.decode_slice(encoded, &mut random).ok()?;
        (length == RANDOM_BYTES).then(|| self.sha256(token))
    }

    fn sha256(self, token: &str) -> String {
        let mut hash = Sha256::new_with_prefix(token);
        if let Self::PendingSignIn { binding } = self {
            hash.update(binding);
        }
        hex::encode(hash.finalize())
    }
}

/// Generates the id that the two sessions of one sign-in have in common.
pub(crate) fn generate_pair_id() -> io::Result<i64> {
    Ok(i64::from_ne_bytes(random_bytes()?) & i64::MAX)
}

#[cfg(test)]
mod tests;
