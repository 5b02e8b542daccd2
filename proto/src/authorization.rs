//! Parses the value of the header `Authorization` (RFC 9110, section 11.4).

use crate::limits::API_KEY_PREFIX;
use base64::{Engine as _, engine::general_purpose::STANDARD_PAD_INDIFFERENT};
use secrecy::SecretString;
use zeroize::Zeroizing;

/// The credentials in an `Authorization` header. They are not verified yet.
#[derive(Clone, Debug)]
pub enum Authorization {
    /// `Bearer <token>` (RFC 6750, section 2.1).
    Bearer(SecretString),
    /// `Basic <base64 of username:password>` (RFC 7617).
    Basic {
        /// The text before the first colon.
        username: String,
        /// The text after the first colon, which may contain more colons.
        password: SecretString,
    },
}

impl Authorization {
    /// Parses the value of the header. Returns `None` for another scheme or a malformed value. The padding of
    /// base64 is optional. The caller makes sure that the request has only one such header.
    #[must_use]
    pub fn parse(value: &[u8]) -> Option<Self> {
        if let Some(token) = bearer_token(value) {
            return Some(Self::Bearer(token.into()));
        }
        let credentials = strip_scheme(value, "Basic")?;
        let decoded = Zeroizing::new(STANDARD_PAD_INDIFFERENT.decode(credentials).ok()?);
        let colon = decoded.iter().position(|&byte| byte == b':')?;
        let username = str::from_utf8(&decoded[..colon]);
        let password = str::from_utf8(&decoded[colon + 1..]);
        // Credentials that are not UTF-8 are well-formed, but no user can have them. They are replaced by the
        // empty username, which cannot be registered. Such a request thus gets the same response, at the same
        // cost, as one with a wrong password.
        let (Ok(username), Ok(password)) = (username, password) else {
            return Some(Self::Basic {
                username: String::new(),
                password: "".into(),
            });
        };
        Some(Self::Basic {
            username: username.to_owned(),
            password: password.into(),
        })
    }
}

/// Returns whether a credential has the prefix of API keys, whether or not the key is valid.
#[must_use]
pub fn is_api_key(credential: &str) -> bool {
    credential.starts_with(API_KEY_PREFIX)
}

/// Returns the token of `Bearer <token>`, which is visible ASCII without spaces. The scheme is
/// case-insensitive (RFC 9110, section 11.1).
#[must_use]
pub fn bearer_token(value: &[u8]) -> Option<&str> {
    let token = strip_scheme(value, "Bearer")?;
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    Some(token)
}

/// Returns the text after the scheme, without spaces around it; `None` if the value has another scheme.
fn strip_scheme<'a>(value: &'a [u8], name: &str) -> Option<&'a str> {
    let (scheme, rest) = str::from_utf8(value).ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case(name) {
        return None;
    }
    Some(rest.trim_matches(' '))
}

#[cfg(test)]
mod tests {
    use super::Authorization;
    use secrecy::ExposeSecret as _;

    fn parsed(value: &[u8]) -> Option<String> {
        Authorization::parse(value).map(|credentials| match credentials {
            Authorization::Bearer(token) => token.expose_secret().to_owned(),
            Authorization::Basic { username, password } => {
                format!("{username} / {}", password.expose_secret())
            }
        })
    }

    #[test]
    fn both_schemes_are_parsed_in_any_case() {
        for (value, credentials) in [
            ("Bearer a.B-_c", "a.B-_c"),
            ("bEARER  a.B-_c ", "a.B-_c"),
            ("Basic YTpiOmM=", "a / b:c"),
            ("basic YTpiOmM", "a / b:c"),
            ("Basic Og==", " / "),
            ("Basic /zr/", " / "),
        ] {
            assert_eq!(
                parsed(value.as_bytes()).as_deref(),
                Some(credentials),
                "{value}"
            );
        }
    }

    #[test]
    fn every_other_form_is_refused() {
        for value in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer a b",
            "Bearer\ta",
            "Bearer a,Bearer b",
            "Bearera",
            "Basic",
            "Basic !",
            "Basic YQ==",
            "Basic YTpi,Basic YTpi",
            "Basic YTpi YTpi",
            "Digest a",
            "YTpi",
            "Bearer \u{e9}",
        ] {
            assert_eq!(parsed(value.as_bytes()), None, "{value}");
        }
        assert_eq!(parsed(b"Bearer a\xff"), None);
    }
}
