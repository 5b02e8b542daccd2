//! Writes and reads the request headers by which a proxy tells an application who the user is.

use crate::role::Role;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// The id of the user as a decimal number.
pub const USER_ID: &str = "rolegate-user-id";
/// The username in UTF-8, with percent-encoding (RFC 3986, section 2.1) where it is needed.
pub const USERNAME: &str = "rolegate-username";
/// The name of the stored role.
pub const ROLE: &str = "rolegate-role";
/// The username again, under a name that many applications read.
pub const REMOTE_USER: &str = "remote-user";
/// The username if it is an email address, under a name that many applications read.
pub const REMOTE_EMAIL: &str = "remote-email";

/// The names of the user's groups in ascending order, separated by commas; empty if there are none.
pub const GROUPS: &str = "rolegate-groups";
/// The names of the groups again, under a name that many applications read.
pub const REMOTE_GROUPS: &str = "remote-groups";

/// The ASCII characters that are percent-encoded: those that a header cannot carry, and those that decoders
/// misread. Some read `+` as a space, and `,` as the end of a value. Characters beyond ASCII are always
/// encoded.
const ENCODED: &AsciiSet = &CONTROLS.add(b'%').add(b'+').add(b',');

/// Returns all headers, with values in printable ASCII. [`REMOTE_EMAIL`] is included only if the username has
/// exactly one `@`, with text on both sides.
#[must_use]
pub fn identity_headers(
    id: i64,
    username: &str,
    role: Role,
    groups: &[String],
) -> Vec<(&'static str, String)> {
    let name = encode(username);
    let groups = groups.join(",");
    let mut headers = vec![
        (USER_ID, id.to_string()),
        (USERNAME, name.clone()),
        (ROLE, role.as_str().to_owned()),
        (REMOTE_USER, name.clone()),
        (GROUPS, groups.clone()),
        (REMOTE_GROUPS, groups),
    ];
    if is_address(username) {
        headers.push((REMOTE_EMAIL, name));
    }
    headers
}

fn is_address(username: &str) -> bool {
    match username.split_once('@') {
        Some((local, domain)) => !local.is_empty() && !domain.is_empty() && !domain.contains('@'),
        None => false,
    }
}

/// Encodes as few characters as possible, because many applications use the value without decoding it. Spaces
/// at either end are encoded too, because they are not part of a header's value.
fn encode(username: &str) -> String {
    let encoded = utf8_percent_encode(username, ENCODED).to_string();
    let without_leading = encoded.trim_start_matches(' ');
    let inner = without_leading.trim_end_matches(' ');
    let leading = "%20".repeat(encoded.len() - without_leading.len());
    let trailing = "%20".repeat(without_leading.len() - inner.len());
    leading + inner + &trailing
}

/// Decodes the username from a header's value. Returns `None` if the value is empty, has a malformed escape, does
/// not decode to UTF-8, or has a character that [`identity_headers`] always encodes. Values from earlier
/// releases, which encoded more characters, are decoded as well.
#[must_use]
pub fn decode(value: &str) -> Option<String> {
    let name = percent_decode_str(value).decode_utf8().ok()?;
    // A malformed escape is not shortened from three bytes to one, so the lengths tell whether there is one.
    let is_decoded = name.len() + 2 * value.matches('%').count() == value.len();
    let is_value_byte = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'+' && byte != b',';
    if value.is_empty() || !is_decoded || !value.bytes().all(is_value_byte) {
        return None;
    }
    Some(name.into_owned())
}

#[cfg(test)]
mod tests {
    use super::{
        GROUPS, REMOTE_EMAIL, REMOTE_GROUPS, REMOTE_USER, ROLE, USER_ID, USERNAME, decode,
        identity_headers,
    };
    use crate::role::Role;

    fn encoded(username: &str) -> String {
        let groups = ["crew".to_owned(), "staff".to_owned()];
        let headers = identity_headers(7, username, Role::AUTHOR, &groups);
        let name = headers[1].1.clone();
        let expected = [
            (USER_ID, "7"),
            (USERNAME, &name),
            (ROLE, "author"),
            (REMOTE_USER, &name),
            (GROUPS, "crew,staff"),
            (REMOTE_GROUPS, "crew,staff"),
        ];
        assert_eq!(
            headers[..6],
            expected.map(|(key, value)| (key, value.to_owned()))
        );
        name
    }

    #[test]
    fn only_a_name_that_is_an_address_is_one_of_email() {
        for (username, email) in [
            ("bea@corp.example", Some("bea@corp.example")),
            ("b\u{e9}a@corp", Some("b%C3%A9a@corp")),
            ("ann", None),
            ("@corp.example", None),
            ("bea@", None),
            ("@", None),
            ("a@b@c", None),
            ("a@@c", None),
        ] {
            let headers = identity_headers(7, username, Role::USER, &[]);
            let found = headers.iter().find(|(name, _)| *name == REMOTE_EMAIL);
            assert_eq!(found.map(|(_, value)| &**value), email, "{username}");
        }
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
            assert_eq!(decode(&value).expect("a value"), name);
        }
    }

    #[test]
    fn value_that_is_never_made_is_none() {
        for value in [
            "", "a,b", "a+b", "a%", "a%4", "a%zz", "%", "%\u{f6}", "%FF", "a\tb", "\u{f6}",
        ] {
            assert_eq!(decode(value), None, "{value:?}");
        }
        assert_eq!(
            decode("bea%40corp.example").as_deref(),
            Some("bea@corp.example")
        );
    }
}
