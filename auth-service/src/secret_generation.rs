//! Generates signing secrets and passwords.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use secrecy::SecretString;
use std::io;

/// Before base64.
const SIGNING_SECRET_BYTES: usize = 48;
/// 24 characters of an alphabet of 32 have 120 bits of entropy.
const MIN_PASSWORD_LEN: usize = 24;
/// Without characters that look alike; none needs escaping in a URL.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// A secret for signing access tokens or sealing second factors: 48 random bytes in base64.
pub fn signing_secret() -> io::Result<SecretString> {
    let mut random = [0_u8; SIGNING_SECRET_BYTES];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(SecretString::from(STANDARD_NO_PAD.encode(random)))
}

/// A password of at least `least` bytes and 120 bits of entropy.
pub fn password(least: usize) -> io::Result<SecretString> {
    let mut random = vec![0_u8; least.max(MIN_PASSWORD_LEN)];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let password: String = random
        .iter()
        .map(|byte| char::from(ALPHABET[usize::from(byte % 32)]))
        .collect();
    Ok(SecretString::from(password))
}

#[cfg(test)]
mod tests {
    use super::{password, signing_secret};
    use crate::{password::Password, token::Keyring};
    use secrecy::ExposeSecret;

    #[test]
    fn generated_password_has_the_minimum_length_of_the_setting() {
        for (least, length) in [(0, 24), (24, 24), (40, 40), (72, 72)] {
            let made = password(least).expect("randomness");
            assert_eq!(made.expose_secret().len(), length);
            assert!(Password::new(made, least).is_ok());
        }
    }

    #[test]
    fn generated_secrets_differ_and_are_valid_keys() {
        let (one, two) = (
            signing_secret().expect("made"),
            signing_secret().expect("made"),
        );
        assert_ne!(one.expose_secret(), two.expose_secret());
        assert!(Keyring::new(&one, &[two]).is_ok());
    }
}
