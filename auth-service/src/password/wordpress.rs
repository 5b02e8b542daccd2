//! Hashes of WordPress since 6.8: `$wp$2y$…` is bcrypt of base64(HMAC-SHA-384), with a public key, of the
//! trimmed password.

use super::{pepper::Peppered, validation::Password};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha384;
use zeroize::Zeroizing;

/// What PHP trims.
const SPACE: [char; 6] = [' ', '\t', '\n', '\r', '\0', '\x0b'];

/// The hash of bcrypt in one of WordPress.
pub(super) fn bcrypt_part(stored: &str) -> Option<&str> {
    stored.strip_prefix("$wp")
}

/// Splits a stored hash of WordPress.
pub(super) fn for_stored<'h>(stored: &'h str, password: &Password) -> Option<Peppered<'h>> {
    let hash = bcrypt_part(stored)?;
    let trimmed = password.expose().trim_matches(SPACE);
    let is_of_bytes = trimmed.len() == password.expose().len();
    let mac = Hmac::<Sha384>::new_from_slice(b"wp-sha384");
    let mac = mac.expect("HMAC takes a key of any length").chain_update(trimmed);
    let input = Zeroizing::new(STANDARD.encode(mac.finalize().into_bytes()));
    Some(Peppered { hash, input, is_outdated: true, is_of_bytes })
}
