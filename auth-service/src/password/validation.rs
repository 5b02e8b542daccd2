//! What can be a password.

use secrecy::{ExposeSecret, SecretString};

/// bcrypt reads no further; a longer password would be good with any end.
pub const MAX_PASSWORD_BYTES: usize = 72;

/// A text that can be a password: 1 to 72 bytes without NUL, taken exactly as sent.
#[derive(Clone, Debug)]
pub struct Password(SecretString);

/// The rule that a text breaks. Prints as a sentence for its author; never quotes the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// Fewer bytes than the setting `PASSWORD_MIN_LENGTH`.
    #[error("Password must have at least {least} byte{}.", if *.least == 1 { "" } else { "s" })]
    TooShort {
        /// The setting, in bytes.
        least: usize,
    },
    /// More bytes than bcrypt reads.
    #[error("Password must have at most {MAX_PASSWORD_BYTES} bytes.")]
    TooLong,
    /// Implementations of bcrypt in C end a password there.
    #[error("Password must not contain NUL.")]
    Nul,
}

impl Password {
    /// A text of at least `least` bytes as a password.
    pub fn new(text: SecretString, least: usize) -> Result<Self, PasswordError> {
        let bytes = text.expose_secret().as_bytes();
        if bytes.len() < least.max(1) {
            Err(PasswordError::TooShort { least: least.max(1) })
        } else if bytes.len() > MAX_PASSWORD_BYTES {
            Err(PasswordError::TooLong)
        } else if bytes.contains(&0) {
            Err(PasswordError::Nul)
        } else {
            Ok(Self(text))
        }
    }

    pub(crate) fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

#[cfg(test)]
mod tests {
    use super::{Password, PasswordError};
    use secrecy::SecretString;

    fn rule(text: &str, least: usize) -> Option<PasswordError> {
        Password::new(SecretString::from(text), least).err()
    }

    #[test]
    fn one_to_72_bytes_are_a_password_whatever_they_are() {
        for text in [" ", "\n", "päßwörd", &"x".repeat(72), &"é".repeat(36)] {
            assert_eq!(rule(text, 1), None, "{text:?}");
        }
    }

    #[test]
    fn the_broken_rule_is_named() {
        assert_eq!(rule("", 0), Some(PasswordError::TooShort { least: 1 }));
        assert_eq!(rule("1234567", 8), Some(PasswordError::TooShort { least: 8 }));
        assert_eq!(rule(&"x".repeat(73), 1), Some(PasswordError::TooLong));
        assert_eq!(rule(&"é".repeat(37), 1), Some(PasswordError::TooLong));
        assert_eq!(rule("a\0b", 1), Some(PasswordError::Nul));
        let text = PasswordError::TooShort { least: 1 }.to_string();
        assert_eq!(text, "Password must have at least 1 byte.");
    }
}
