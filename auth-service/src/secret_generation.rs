//! Generates signing secrets and passwords for commands, and for the first start.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use secrecy::SecretString;
use std::io;

/// The number of random bytes in a signing secret, before they are encoded in base64.
const SIGNING_SECRET_BYTES: usize = 48;
/// The minimum length of a generated password, in characters. 24 characters of an alphabet of 32 have 120 bits
/// of entropy.
const MIN_PASSWORD_LEN: usize = 24;
/// The alphabet of generated passwords. It has no characters that look alike, and none that must be escaped in
/// a URL.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Returns random bytes. Fails only if the system provides none.
pub(crate) fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut random = [0; N];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(random)
}

/// Generates a secret that signs access tokens or encrypts second factors: 48 random bytes in base64.
pub fn generate_signing_secret() -> io::Result<SecretString> {
    let random: [u8; SIGNING_SECRET_BYTES] = random_bytes()?;
    Ok(SecretString::from(STANDARD_NO_PAD.encode(random)))
}

/// Generates a password of at least `min_length` bytes, with at least 120 bits of entropy.
pub fn generate_password(min_length: usize) -> io::Result<SecretString> {
    let mut random = vec![0_u8; min_length.max(MIN_PASSWORD_LEN)];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let password: String = random
        .iter()
        .map(|byte| char::from(ALPHABET[usize::from(byte % 32)]))
        .collect();
    Ok(SecretString::from(password))
}

#[cfg(test)]
mod tests {
    use super::{generate_password, generate_signing_secret};
    use crate::{password::Password, tokens::Keyring};
    use secrecy::ExposeSecret;

    #[test]
    fn generated_password_has_the_minimum_length_of_the_setting() {
        for (min_length, length) in [(0, 24), (24, 24), (40, 40), (72, 72)] {
            let password = generate_password(min_length).expect("randomness");
            assert_eq!(password.expose_secret().len(), length);
            assert!(Password::new(password, min_length).is_ok());
        }
    }

    #[test]
    fn generated_secrets_differ_and_are_valid_keys() {
        let one = generate_signing_secret().expect("randomness");
        let two = generate_signing_secret().expect("randomness");
        assert_ne!(one.expose_secret(), two.expose_secret());
        assert!(Keyring::new(&one, &[two]).is_ok());
    }
}
