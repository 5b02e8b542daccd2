//! Checks the rules that new and presented passwords must follow.

use super::blocklist::BlocklistFile;
use secrecy::{ExposeSecret, SecretString};
use std::{ops::RangeInclusive, sync::Arc};

/// The maximum length of a new password, in bytes. bcrypt ignores all further bytes.
const MAX_PASSWORD_BYTES: usize = 72;

/// The maximum length of a presented password, in bytes. It is longer than a new password may be, because an
/// imported hash of another algorithm may be the hash of a password that is too long for bcrypt.
const MAX_PRESENTED_BYTES: usize = 1024;

/// A valid password: 1 to 72 bytes without NUL, exactly as the client sent it.
#[derive(Clone)]
pub(crate) struct Password(SecretString);

/// The rule that a password breaks. The client sees the message, which never quotes the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PasswordError {
    /// The password has fewer bytes than the setting `PASSWORD_MIN_LENGTH`.
    #[error("Password must have at least {min_length} byte{}.", if *.min_length == 1 { "" } else { "s" })]
    TooShort {
        /// The value of the setting, in bytes.
        min_length: usize,
    },
    /// The password has more bytes than bcrypt reads.
    #[error("Password must have at most {MAX_PASSWORD_BYTES} bytes.")]
    TooLong,
    /// The password contains NUL, at which bcrypt implementations in C stop reading.
    #[error("Password must not contain NUL.")]
    Nul,
    /// The password is listed in `PASSWORD_BLOCKLIST_FILE`.
    #[error("Password is too common.")]
    TooCommon,
}

/// The operator's rules for new passwords.
pub(crate) struct PasswordRules {
    /// The minimum length in bytes.
    pub(crate) min_length: usize,
    pub(crate) blocklist: Option<Arc<BlocklistFile>>,
}

impl PasswordRules {
    /// Returns the allowed lengths of a new password, in bytes.
    pub(crate) fn lengths(&self) -> RangeInclusive<usize> {
        self.min_length.max(1)..=MAX_PASSWORD_BYTES
    }

    pub(crate) fn check(&self, text: SecretString) -> Result<Password, PasswordError> {
        let password = Password::new(text, self.min_length)?;
        match &self.blocklist {
            Some(list) if list.contains(password.expose()) => Err(PasswordError::TooCommon),
            _ => Ok(password),
        }
    }
}

impl Password {
    /// Checks the rules for a password except for the blocklist. `min_length` is in bytes.
    pub(crate) fn new(text: SecretString, min_length: usize) -> Result<Self, PasswordError> {
        let min_length = min_length.max(1);
        let bytes = text.expose_secret().as_bytes();
        if bytes.len() < min_length {
            Err(PasswordError::TooShort { min_length })
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

/// A password that a login presents. A user with an imported hash may have a longer one than bcrypt reads.
pub(crate) enum PresentedPassword {
    /// A password that a new user could have.
    Valid(Password),
    /// A password of 73 to 1,024 bytes without NUL. It matches only hashes of other algorithms, and is never
    /// rehashed.
    Long(SecretString),
}

impl PresentedPassword {
    /// Checks a presented password. `PASSWORD_MIN_LENGTH` and the blocklist do not apply, because passwords
    /// that were set before these settings changed stay valid.
    pub(crate) fn new(text: SecretString) -> Result<Self, PasswordError> {
        let bytes = text.expose_secret().as_bytes();
        let is_long = (MAX_PASSWORD_BYTES + 1..=MAX_PRESENTED_BYTES).contains(&bytes.len());
        if is_long && !bytes.contains(&0) {
            return Ok(Self::Long(text));
        }
        Password::new(text, 1).map(Self::Valid)
    }

    /// Returns the password if bcrypt reads all of it; `None` if it is longer.
    pub(crate) fn valid(&self) -> Option<&Password> {
        match self {
            Self::Valid(password) => Some(password),
            Self::Long(_) => None,
        }
    }

    pub(crate) fn secret(&self) -> &SecretString {
        match self {
            Self::Valid(Password(text)) | Self::Long(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Password, PasswordError, PresentedPassword};
    use secrecy::SecretString;

    fn rule(text: &str, min_length: usize) -> Option<PasswordError> {
        Password::new(SecretString::from(text), min_length).err()
    }

    #[test]
    fn one_to_72_bytes_without_nul_are_valid() {
        for text in [" ", "\n", "päßwörd", &"x".repeat(72), &"é".repeat(36)] {
            assert_eq!(rule(text, 1), None, "{text:?}");
        }
    }

    #[test]
    fn invalid_password_names_the_broken_rule() {
        assert_eq!(rule("", 0), Some(PasswordError::TooShort { min_length: 1 }));
        assert_eq!(
            rule("1234567", 8),
            Some(PasswordError::TooShort { min_length: 8 })
        );
        assert_eq!(rule(&"x".repeat(73), 1), Some(PasswordError::TooLong));
        assert_eq!(rule(&"é".repeat(37), 1), Some(PasswordError::TooLong));
        assert_eq!(rule("a\0b", 1), Some(PasswordError::Nul));
        let long = |length| PresentedPassword::new(SecretString::from("x".repeat(length)));
        assert!(matches!(long(72), Ok(PresentedPassword::Valid(_))));
        assert!(matches!(long(73), Ok(PresentedPassword::Long(_))));
        assert!(long(1024).is_ok_and(|password| password.valid().is_none()));
        for text in [
            String::new(),
            "x".repeat(1025),
            format!("{}\0", "x".repeat(80)),
        ] {
            assert!(PresentedPassword::new(SecretString::from(text)).is_err());
        }
        let text = PasswordError::TooShort { min_length: 1 }.to_string();
        assert_eq!(text, "Password must have at least 1 byte.");
    }
}
