//! Secrets that nobody has chosen.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use secrecy::SecretString;
use std::io;

/// Bytes of a signing secret, before base64.
const SIGNING_BYTES: usize = 48;
/// 24 characters out of 32: 120 bits.
const PASSWORD_CHARACTERS: usize = 24;
/// Without the ones that are mistaken for each other in print; none needs an escape in a URL.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// A secret that signs access tokens: 48 random bytes as 64 characters.
pub fn signing_secret() -> io::Result<SecretString> {
    let mut random = [0_u8; SIGNING_BYTES];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(SecretString::from(STANDARD_NO_PAD.encode(random)))
}

/// A password of at least `least` bytes and 120 bits of chance.
pub fn password(least: usize) -> io::Result<SecretString> {
    let mut random = vec![0_u8; least.max(PASSWORD_CHARACTERS)];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let password: String =
        random.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect();
    Ok(SecretString::from(password))
}

#[cfg(test)]
mod tests {
    use super::{password, signing_secret};
    use crate::{password::Password, token::Keyring};
    use secrecy::ExposeSecret;

    #[test]
    fn a_generated_password_is_as_long_as_the_operator_wants_passwords_to_be() {
        for (least, length) in [(0, 24), (24, 24), (40, 40), (72, 72)] {
            let made = password(least).expect("randomness");
            assert_eq!(made.expose_secret().len(), length);
            assert!(Password::new(made, least).is_ok());
        }
    }

    #[test]
    fn generated_secrets_differ_and_can_sign() {
        let (one, two) = (signing_secret().expect("made"), signing_secret().expect("made"));
        assert_ne!(one.expose_secret(), two.expose_secret());
        assert!(Keyring::new(&one, &[two]).is_ok());
    }
}
