//! The request headers in which a proxy passes the identity of a user on to an application.

use crate::role::Role;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

/// The id of the user, a decimal number.
pub const USER_ID: &str = "rolegate-user-id";
/// The username in UTF-8, with percent-encoding (RFC 3986, section 2.1) where it is needed.
pub const USERNAME: &str = "rolegate-username";
/// The name of the stored role.
pub const ROLE: &str = "rolegate-role";

/// What a header cannot carry, beside all that is not ASCII; and what decoders take for something else: `+` for a
/// blank, `,` for the end of a value.
const ENCODED: &AsciiSet = &CONTROLS.add(b'%').add(b'+').add(b',');

/// All three headers, always, in printable ASCII.
#[must_use]
pub fn identity_headers(id: i64, username: &str, role: Role) -> [(&'static str, String); 3] {
    [
        (USER_ID, id.to_string()),
        (USERNAME, encode(username)),
        (ROLE, role.as_str().to_owned()),
    ]
}

/// Encodes no more than is needed, because many applications take the value as it is. Blanks at either end are encoded
/// too, as they are no part of a header's value.
fn encode(username: &str) -> String {
    let encoded = utf8_percent_encode(username, ENCODED).to_string();
    let without_leading = encoded.trim_start_matches(' ');
    let inner = without_leading.trim_end_matches(' ');
    let leading = "%20".repeat(encoded.len() - without_leading.len());
    let trailing = "%20".repeat(without_leading.len() - inner.len());
    leading + inner + &trailing
}

#[cfg(test)]
mod tests {
    use super::identity_headers;
    use crate::role::Role;
    use percent_encoding::percent_decode_str;

    fn encoded(username: &str) -> String {
        let headers = identity_headers(7, username, Role::AUTHOR);
        let [id, name, role] = headers.map(|(_, value)| value);
        assert_eq!((&*id, &*role), ("7", "author"));
        name
    }

    #[test]
    fn usernames_arrive_as_typed_but_for_what_a_header_cannot_carry() {
        for name in [
            "ann-b.c_d~1",
            "bea@corp.example",
            "ann b  c",
            "CORP\\ann",
            "a|b;c=\"d\"{e}<f>&'#/?!$()*[]^`",
        ] {
            assert_eq!(encoded(name), name);
        }
        for (name, expected) in [
            ("j\u{f6}rg %,", "j%C3%B6rg %25%2C"),
            ("a+b@corp.example", "a%2Bb@corp.example"),
            ("a\u{0}\t\r\n\u{7f}b", "a%00%09%0D%0A%7Fb"),
            ("  a b ", "%20%20a b%20"),
            ("   ", "%20%20%20"),
            ("", ""),
        ] {
            assert_eq!(encoded(name), expected);
        }
    }

    #[test]
    fn every_username_is_a_value_of_a_header_that_decodes_to_it() {
        let samples = (0..=0x2FF).filter_map(char::from_u32);
        for name in samples.flat_map(|it| [it.to_string(), format!("{it}a{it}"), format!("a{it}b")])
        {
            let value = encoded(&name);
            let is_carried = value
                .bytes()
                .all(|byte| byte == b' ' || byte.is_ascii_graphic());
            assert!(is_carried && value.trim() == value, "{name:?}: {value:?}");
            let decoded = percent_decode_str(&value).decode_utf8();
            assert_eq!(decoded.expect("UTF-8"), name);
        }
    }
}
