//! The request headers in which a proxy passes the identity of a user on to an application.

use crate::role::Role;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The id of the user, a decimal number.
pub const USER_ID: &str = "rolegate-user-id";
/// The username, percent-encoded UTF-8 (RFC 3986, section 2.1).
pub const USERNAME: &str = "rolegate-username";
/// The name of the stored role.
pub const ROLE: &str = "rolegate-role";

/// Everything but the unreserved characters of RFC 3986, section 2.3.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// All three headers, always, in visible ASCII.
#[must_use]
pub fn identity_headers(id: i64, username: &str, role: Role) -> [(&'static str, String); 3] {
    [
        (USER_ID, id.to_string()),
        (USERNAME, utf8_percent_encode(username, ENCODED).to_string()),
        (ROLE, role.as_str().to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::identity_headers;
    use crate::role::Role;

    #[test]
    fn usernames_are_visible_ascii_and_reversible() {
        for (username, encoded) in [
            ("ann-b.c_d~1", "ann-b.c_d~1"),
            ("j\u{f6}rg %,", "j%C3%B6rg%20%25%2C"),
        ] {
            let headers = identity_headers(7, username, Role::AUTHOR);
            let values = headers.map(|(_, value)| value);
            assert_eq!(values, ["7", encoded, "author"]);
        }
    }
}
