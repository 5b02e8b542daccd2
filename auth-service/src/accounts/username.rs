//! The rules for usernames. Names are compared byte for byte.

use super::error::AccountError;
use rolegate_proto::{Reason, has_blank};
use std::borrow::Cow;
use unicode_normalization::is_nfc;

/// The name of the first admin, whom the start of the service creates. No other user can get this name.
pub(crate) const ADMIN_USERNAME: &str = "admin";

/// The maximum length of a username, in bytes.
const MAX_LENGTH: usize = 255;

const WRONG_LENGTH: AccountError = broken("Username must have 1 to 255 bytes.");

const fn broken(rule: &'static str) -> AccountError {
    AccountError::Invalid {
        reason: Reason::UsernameInvalid,
        rule: Cow::Borrowed(rule),
    }
}

/// Checks the rules that each part of a name meets, even an empty one.
pub(super) fn check_part(text: &str) -> Result<(), AccountError> {
    if text.len() > MAX_LENGTH {
        Err(WRONG_LENGTH)
    } else if text.chars().any(char::is_control) {
        Err(broken("Username must not contain control characters."))
    } else {
        Ok(())
    }
}

/// Checks the rules that all stored names meet, old and new.
pub(super) fn check_username(text: &str) -> Result<(), AccountError> {
    check_part(text)?;
    if text.is_empty() {
        Err(WRONG_LENGTH)
    } else if text.trim() != text {
        // On a page, the name would look like another one. The rule about normalization has the
        // same reason.
        Err(broken("Username must not begin or end with white space."))
    } else if text.contains(':') {
        // HTTP Basic separates the username from the password by a colon (RFC 7617), so it cannot
        // transport this name.
        Err(broken("Username must not contain a colon."))
    } else if !is_nfc(text) {
        Err(broken("Username must be in Unicode normalization form C."))
    } else {
        Ok(())
    }
}

/// Checks the rules for the name of a new user. Existing names need to meet only those of
/// [`check_username`], so that users with older names can still log in.
pub(crate) fn check_new_username(text: &str) -> Result<(), AccountError> {
    check_username(text)?;
    if has_blank(text) {
        return Err(broken(
            "Username must not contain invisible or unassigned characters.",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{check_new_username, check_username};

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
            assert!(check_new_username(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn invalid_username_names_the_broken_rule() {
        let rule = |outcome: Result<(), super::AccountError>| {
            outcome.expect_err("a broken rule").to_string()
        };
        for (text, named) in [
            ("", "1 to 255 bytes"),
            (&*"x".repeat(256), "1 to 255 bytes"),
            (&*"é".repeat(128), "1 to 255 bytes"),
            ("a\0b", "control characters"),
            ("a\n", "control characters"),
            ("a\u{85}b", "control characters"),
            (" a", "white space"),
            ("a\u{a0}", "white space"),
            ("a:b", "colon"),
            ("e\u{301}", "normalization form C"),
            ("\u{212b}", "normalization form C"),
        ] {
            for broken in [rule(check_username(text)), rule(check_new_username(text))] {
                assert!(broken.contains(named), "{text:?}: {broken}");
            }
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
            "admin\u{2800}",
            "ada\u{a0}lovelace",
            "山田\u{3000}太郎",
        ] {
            let broken = check_new_username(text)
                .expect_err("a broken rule")
                .to_string();
            assert!(broken.contains("invisible"), "{text:?}: {broken}");
            assert!(check_username(text).is_ok(), "{text:?}");
        }
    }
}
