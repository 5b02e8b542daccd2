//! The rules of a username.

use rolegate_proto::{has_invisible, is_emoji};
use unicode_normalization::is_nfc;

/// 1 to 255 bytes of UTF-8 in NFC, without control characters, surrounding white space and `:`
/// (which RFC 7617 cannot transport); a new one also without invisible characters. Compared byte for
/// byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Username(String);

/// The rule that a username breaks. Displayed to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsernameError {
    /// Empty, or more than 255 bytes.
    #[error("Username must have 1 to 255 bytes.")]
    Length,
    /// A control character, such as NUL or a line break.
    #[error("Username must not contain control characters.")]
    Control,
    /// Surrounding white space: displayed, it would look like another username.
    #[error("Username must not begin or end with white space.")]
    WhiteSpace,
    /// The separator of HTTP Basic.
    #[error("Username must not contain a colon.")]
    Colon,
    /// Not NFC: displayed, it would look like another username.
    #[error("Username must be in Unicode normalization form C.")]
    Normalization,
    /// Such as a zero-width space: displayed, it would look like another username.
    #[error("Username must not contain invisible or unassigned characters.")]
    Invisible,
}

impl Username {
    /// The maximum length in bytes.
    pub const MAX_BYTES: usize = 255;

    /// Checks the rules of a new user's name. Users whose names are older than a rule can still log in.
    pub fn of_new_user(text: &str) -> Result<Self, UsernameError> {
        let username = Self::new(text)?;
        // Between emoji, a joiner shows; the zero-width non-joiner never does.
        if text.contains('\u{200c}') || has_invisible(text, is_emoji) {
            return Err(UsernameError::Invisible);
        }
        Ok(username)
    }

    /// Checks the rules that every stored name meets.
    pub fn new(text: &str) -> Result<Self, UsernameError> {
        if text.is_empty() || text.len() > Self::MAX_BYTES {
            Err(UsernameError::Length)
        } else if text.chars().any(char::is_control) {
            Err(UsernameError::Control)
        } else if text.trim() != text {
            Err(UsernameError::WhiteSpace)
        } else if text.contains(':') {
            Err(UsernameError::Colon)
        } else if !is_nfc(text) {
            Err(UsernameError::Normalization)
        } else {
            Ok(Self(text.to_owned()))
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Username, UsernameError};

    #[test]
    fn usernames_within_the_rules_are_valid() {
        for text in [
            "a",
            "ada lovelace",
            "👩\u{200d}👩\u{200d}👧 family",
            "Žofie",
            "日本",
            "a%b_c'd\"e;--",
            &"x".repeat(255),
        ] {
            assert!(Username::of_new_user(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn invalid_username_names_the_broken_rule() {
        for (text, rule) in [
            ("", UsernameError::Length),
            (&*"x".repeat(256), UsernameError::Length),
            (&*"é".repeat(128), UsernameError::Length),
            ("a\0b", UsernameError::Control),
            ("a\n", UsernameError::Control),
            ("a\u{85}b", UsernameError::Control),
            (" a", UsernameError::WhiteSpace),
            ("a\u{a0}", UsernameError::WhiteSpace),
            ("a:b", UsernameError::Colon),
            ("e\u{301}", UsernameError::Normalization),
            ("\u{212b}", UsernameError::Normalization),
        ] {
            assert_eq!(Username::new(text), Err(rule), "{text:?}");
            assert_eq!(Username::of_new_user(text), Err(rule), "{text:?}");
        }
    }

    #[test]
    fn invisible_characters_are_refused_in_new_names_and_accepted_in_old_ones() {
        for text in [
            "admin\u{200b}",
            "\u{202e}nimda",
            "ad\u{ad}min",
            "a\u{378}",
            "a\u{fe0f}",
            "ad\u{200d}min",
            "👩\u{200c}👩",
        ] {
            assert_eq!(Username::of_new_user(text), Err(UsernameError::Invisible), "{text:?}");
            assert!(Username::new(text).is_ok(), "{text:?}");
        }
    }
}
