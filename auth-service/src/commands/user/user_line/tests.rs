use super::{LineReader, MAX_ID};
use crate::{
    password::{HashExceptions, HashRules, NO_PASSWORD, Peppers},
    roles::Roles,
    user::UserRecord,
};
use rolegate_proto::Role;
use secrecy::ExposeSecret;
use serde_json::json;

const HASH: &str = "$2b$05$YaQ3M.2V9WMtoWprPyr4J.Wm9MSwt6/mER48c5Lbgp269iVDbuery";

fn read(line: &str) -> Result<UserRecord, String> {
    let weak = HashExceptions {
        slow: false,
        weak: true,
    };
    let reader = LineReader {
        peppers: Peppers::default(),
        rules: HashRules::new(12, weak),
        roles: Roles::BUILT_IN,
        now: 997,
        revocation_time: 1000,
    };
    reader.read(line.as_bytes())
}

#[test]
fn a_name_and_a_hash_are_enough() {
    let line = json!({ "username": "ann", "password_hash": HASH }).to_string();
    let ann = read(&line).expect("a user");
    assert_eq!(
        (ann.id, &*ann.username, ann.role),
        (None, "ann", Role::USER)
    );
    assert!(!ann.disabled && ann.tokens_not_before == 0);
}

#[test]
fn a_line_may_begin_with_a_byte_order_mark() {
    let line = json!({ "username": "ann", "password_hash": HASH });
    assert_eq!(
        &*read(&format!("\u{feff}{line}")).expect("a user").username,
        "ann"
    );
    read(&format!("\u{feff}\u{feff}{line}")).expect_err("a reason");
}

#[test]
fn null_is_a_user_without_a_password_and_a_missing_hash_is_none() {
    let ann = read(r#"{"username":"ann","password_hash":null,"id":7,"role":"author"}"#);
    let ann = ann.expect("a user");
    assert_eq!(ann.password_hash.expose_secret(), NO_PASSWORD);
    assert_eq!((ann.id, ann.role), (Some(7), Role::AUTHOR));
    let missing = read(r#"{"username":"ann"}"#).expect_err("a reason");
    assert_eq!(missing, "password_hash is missing");
}

#[test]
fn an_id_revokes_the_tokens_of_its_last_user_unless_the_line_says_since_when() {
    let line = |more| {
        let mut line = json!({ "username": "ann", "password_hash": HASH, "id": 7 });
        line["tokens_not_before"] = more;
        read(&line.to_string()).expect("a user").tokens_not_before
    };
    assert_eq!(
        [line(json!(null)), line(json!(0)), line(json!(5))],
        [1000, 0, 5]
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn bad_lines_have_a_reason_that_quotes_nothing() {
    let id = |id: serde_json::Value| json!({ "id": id });
    for (change, reason) in [
        (json!({ "username": null }), "username is missing"),
        (json!({ "username": 7 }), "username is not text"),
        (
            json!({ "username": "" }),
            "Username must have 1 to 255 bytes.",
        ),
        (
            json!({ "username": "a:b" }),
            "Username must not contain a colon.",
        ),
        (
            json!({ "username": "ad\u{200b}min" }),
            "Username must not contain invisible or unassigned characters.",
        ),
        (
            json!({ "password_hash": [HASH] }),
            "password_hash is not text",
        ),
        (
            json!({ "password_hash": "planted" }),
            "password_hash is in no supported format (docs/importing-users.md lists them); import null, and reset the password",
        ),
        (
            // This is the prefix of a marker for a second factor, which a line cannot set.
            json!({ "password_hash": format!("otp:{HASH}") }),
            "password_hash is in no supported format (docs/importing-users.md lists them); import null, and reset the password",
        ),
        (
            json!({ "password_hash": HASH.replace("05", "17") }),
            "password_hash has the bcrypt cost 17; 4 to 16 are allowed",
        ),
        (
            json!({ "role": "planted" }),
            "role is none of user, author, admin",
        ),
        (json!({ "role": 1 }), "role is none of user, author, admin"),
        (
            id(json!(-1)),
            "id is not a whole number from 0 to 4503599627370495",
        ),
        (
            id(json!(0)),
            "id is not a whole number from 1 to 4503599627370495",
        ),
        (
            id(json!(1.5)),
            "id is not a whole number from 0 to 4503599627370495",
        ),
        (
            id(json!(HASH)),
            "id is not a whole number from 0 to 4503599627370495",
        ),
        (
            id(json!(MAX_ID + 1)),
            "id is not a whole number from 0 to 4503599627370495",
        ),
        (
            json!({ "disabled": "yes" }),
            "disabled is neither true nor false",
        ),
        (
            json!({ "tokens_not_before": 4601 }),
            "tokens_not_before is not a whole number from 0 to 4600, an hour from now; user revoke-tokens before the export lowers it",
        ),
        (
            json!({ "tokens_marked_until": 609_401 }),
            "tokens_marked_until is not a whole number from 0 to 609400",
        ),
        (
            json!({ "planted": 1 }),
            "has an unknown field; the fields are id, username, password_hash, role, disabled, tokens_not_before, tokens_marked_until, until, groups",
        ),
    ] {
        let mut line = json!({ "username": "ann", "password_hash": HASH });
        for (field, value) in change.as_object().expect("an object") {
            line[field] = value.clone();
        }
        let found = read(&line.to_string()).expect_err("a reason");
        assert_eq!(found, reason);
    }
    for (line, reason) in [
        ("planted", "is not a JSON object: column 1"),
        ("[1]", "is not a JSON object: column 0"),
        ("{\"username\":\"ann\"", "is not a JSON object: column 17"),
        ("\u{0}", "is not a JSON object: column 1"),
        (
            r#"{"username":"ann","role":"user","role":"admin"}"#,
            "has role twice",
        ),
        (
            r#"{"username":"ann","password_hash":null,"password_hash":null}"#,
            "has password_hash twice",
        ),
        (
            r#"{"planted":1,"planted":1}"#,
            "has an unknown field; the fields are id, username, password_hash, role, disabled, tokens_not_before, tokens_marked_until, until, groups",
        ),
    ] {
        assert_eq!(read(line).expect_err("a reason"), reason, "{line:?}");
    }
}
