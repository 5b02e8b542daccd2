mod keys;
mod same_id;

use super::{
    AccessTokens, Keyring, MAX_EXTRA_SECONDS, NO_USER, TOKEN_TTL_SECONDS, parse_user_id, self_test,
};
use crate::{tokens::REVOCATION_AHEAD_SECONDS, user::User};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use rolegate_proto::Role;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use sha2::{Sha256, Sha384, Sha512};

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const OTHER: &str = "fedcba9876543210fedcba9876543210";
const NOW: u64 = 1_800_000_000;

fn tokens(signing: &str, accepted: &[&str]) -> AccessTokens {
    assert!(self_test());
    let accepted: Vec<_> = accepted
        .iter()
        .map(|&secret| SecretString::from(secret))
        .collect();
    let keyring = Keyring::new(&SecretString::from(signing), &accepted).expect("long enough");
    AccessTokens::new(keyring)
}

fn ada() -> User {
    User {
        id: 7,
        username: "ada".into(),
        role: Role::AUTHOR,
        tokens_not_before: 0,
        disabled: false,
        tokens_marked_until: 0,
        second_factor: false,
        created_at: None,
        until: None,
        memberships: Vec::new(),
        found_groups: Vec::new(),
    }
}

fn verified(tokens: &AccessTokens, token: &str) -> Option<i64> {
    verified_at(tokens, token, NOW)
}

fn verified_at(tokens: &AccessTokens, token: &str, now: u64) -> Option<i64> {
    let verified = tokens.verify(token)?;
    verified.is_valid_at(now).then_some(verified.user_id)
}

fn minted(header: &Header, claims: &Value, secret: &str) -> String {
    encode(header, claims, &EncodingKey::from_secret(secret.as_bytes())).expect("signed")
}

fn hs256(claims: &Value) -> String {
    minted(&Header::new(Algorithm::HS256), claims, SECRET)
}

/// Signs a header and a payload exactly as given.
fn signed_text(header: &str, payload: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("a key");
    signed_by(mac, header, payload)
}

/// Signs a header and a payload independently of the code under test.
fn signed_by(mac: impl Mac, header: &str, payload: &str) -> String {
    let (header, payload) = (
        URL_SAFE_NO_PAD.encode(header),
        URL_SAFE_NO_PAD.encode(payload),
    );
    let message = format!("{header}.{payload}");
    let signature = URL_SAFE_NO_PAD.encode(mac.chain_update(&message).finalize().into_bytes());
    format!("{message}.{signature}")
}

#[test]
fn issued_token_has_the_four_claims_and_identifies_its_user() {
    let tokens = tokens(SECRET, &[]);
    let token = tokens.issue(&ada(), NOW).expect("issued");
    assert_eq!(verified(&tokens, token.expose_secret()), Some(7));
    let payload = token
        .expose_secret()
        .split('.')
        .nth(1)
        .expect("three parts");
    let claims: Value =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).expect("base64")).expect("JSON");
    let exp = NOW + TOKEN_TTL_SECONDS;
    assert_eq!(
        claims,
        json!({"sub": "7", "username": "ada", "role": "author", "exp": exp})
    );
}

#[test]
fn token_is_valid_until_one_second_before_exp() {
    let tokens = tokens(SECRET, &[]);
    let token = tokens.issue(&ada(), NOW).expect("issued");
    let check = |now| verified_at(&tokens, token.expose_secret(), now);
    assert_eq!(check(NOW + TOKEN_TTL_SECONDS - 1), Some(7));
    assert_eq!(check(NOW + TOKEN_TTL_SECONDS), None);
}

#[test]
fn password_change_separates_old_and_new_tokens_within_one_second() {
    let tokens = tokens(SECRET, &[]);
    let issued = |tokens_not_before, now| {
        let user = User {
            tokens_not_before,
            ..ada()
        };
        let token = tokens.issue(&user, now).expect("issued");
        tokens.verify(token.expose_secret()).expect("valid").issued
    };
    assert_eq!(issued(0, NOW), NOW, "an older password changes nothing");
    assert_eq!(issued(NOW, NOW), NOW);
    let end = NOW + REVOCATION_AHEAD_SECONDS;
    assert!(
        issued(0, NOW + 2) < end,
        "an old one, issued by a clock two seconds ahead"
    );
    assert_eq!(
        issued(end, NOW),
        end,
        "a new one, issued in the same second"
    );
    assert_eq!(issued(end, end), end, "then the usual lifetime again");
    let minted = hs256(&json!({"sub": "7", "exp": end + 60}));
    assert_eq!(
        tokens.verify(&minted).expect("valid").issued,
        end + 60 - TOKEN_TTL_SECONDS
    );
}

#[test]
fn a_token_issued_before_the_end_of_marks_counts_only_with_the_last_mark() {
    let tokens = tokens(SECRET, &[]);
    let (end, next) = (NOW + 600, NOW + 601);
    let user = |tokens_marked_until| User {
        tokens_not_before: NOW,
        tokens_marked_until,
        ..ada()
    };
    let issued = |user: &User, now| {
        let token = tokens.issue(user, now).expect("issued");
        let header = token
            .expose_secret()
            .split('.')
            .next()
            .expect("a header")
            .to_owned();
        (tokens.verify(token.expose_secret()).expect("valid"), header)
    };
    let (plain, header) = issued(&user(0), NOW + 5);
    let (marked, marked_header) = issued(&user(end), NOW + 5);
    let (late, late_header) = issued(&user(end), end);
    assert_eq!(plain.marked_until, 0);
    assert_eq!(marked.marked_until, end);
    assert_eq!(late.marked_until, 0);
    assert_ne!(header, marked_header);
    assert_eq!(
        header, late_header,
        "ordinary tokens have the ordinary header"
    );
    for (token, marked_until, is_revoked) in [
        (&plain, 0, false),
        (&plain, end, true),
        (&marked, end, false),
        (&marked, next, true),
        (&late, end, false),
        (&late, next, true),
    ] {
        assert_eq!(
            token.is_revoked(&user(marked_until)),
            is_revoked,
            "{token:?} {marked_until}"
        );
    }
    let minted = |marked_until: Value| {
        let header = json!({"alg": "HS256", "marked_until": marked_until}).to_string();
        verified(
            &tokens,
            &signed_text(&header, &json!({"sub": "7", "exp": end}).to_string()),
        )
    };
    assert_eq!(
        [minted(json!(null)), minted(json!(end))],
        [Some(7), Some(7)]
    );
    for odd in [json!("7"), json!(-1), json!(1.5), json!([7])] {
        assert_eq!(minted(odd), None);
    }
}

#[test]
fn tokens_of_the_future_are_rejected() {
    let tokens = tokens(SECRET, &[]);
    let latest = NOW + TOKEN_TTL_SECONDS + MAX_EXTRA_SECONDS;
    for (claims, is_valid) in [
        (json!({"sub": "7", "exp": latest}), true),
        (json!({"sub": "7", "exp": latest + 1}), false),
        (json!({"sub": "7", "exp": u64::MAX}), false),
        (json!({"sub": "7", "exp": NOW + 60, "nbf": NOW}), true),
        (json!({"sub": "7", "exp": NOW + 60, "nbf": NOW + 1}), false),
        (json!({"sub": "7", "exp": NOW + 60, "nbf": u64::MAX}), false),
        (json!({"sub": "7", "exp": NOW + 60, "nbf": "0"}), false),
    ] {
        assert_eq!(
            verified(&tokens, &hs256(&claims)).is_some(),
            is_valid,
            "{claims}"
        );
    }
}

#[test]
fn other_secrets_and_algorithms_are_rejected() {
    let tokens = tokens(SECRET, &[]);
    let claims = json!({"sub": "7", "exp": NOW + 60});
    assert_eq!(
        verified(&tokens, &hs256(&claims)),
        Some(7),
        "without kid all keys are tried"
    );
    let (key, text) = (SECRET.as_bytes(), claims.to_string());
    let hs384 = Hmac::<Sha384>::new_from_slice(key).expect("a key");
    let hs512 = Hmac::<Sha512>::new_from_slice(key).expect("a key");
    for token in [
        minted(&Header::new(Algorithm::HS256), &claims, OTHER),
        signed_by(hs384, r#"{"alg":"HS384"}"#, &text),
        signed_by(hs512, r#"{"alg":"HS512"}"#, &text),
    ] {
        assert_eq!(verified(&tokens, &token), None, "{token}");
    }
    let payload = URL_SAFE_NO_PAD.encode(claims.to_string());
    for header in [
        r#"{"alg":"none"}"#,
        r#"{"alg":"RS256"}"#,
        r#"{"alg":"hs256"}"#,
        "{}",
        "[]",
    ] {
        let header = URL_SAFE_NO_PAD.encode(header);
        let signature = hs256(&claims)
            .rsplit('.')
            .next()
            .expect("a signature")
            .to_owned();
        for token in [
            format!("{header}.{payload}."),
            format!("{header}.{payload}.{signature}"),
        ] {
            assert_eq!(verified(&tokens, &token), None, "{token}");
        }
    }
}

#[test]
fn unsupported_and_malformed_headers_are_rejected() {
    let tokens = tokens(SECRET, &[]);
    let claims = json!({"sub": "7", "exp": NOW + 60});
    let mut critical = Header::new(Algorithm::HS256);
    critical.crit = Some(vec!["b64".into()]);
    let mut unknown_key = Header::new(Algorithm::HS256);
    unknown_key.kid = Some("stranger".into());
    for header in [critical, unknown_key] {
        assert_eq!(verified(&tokens, &minted(&header, &claims, SECRET)), None);
    }
    let signed = |header: &str| signed_text(header, &claims.to_string());
    assert_eq!(
        verified(&tokens, &signed(r#"{"alg":"HS256","more":1}"#)),
        Some(7),
        "unknown members are ignored"
    );
    for header in [
        r#"{"alg":"HS256","crit":null}"#,
        r#"{"alg":"HS256","crit":[]}"#,
        r#"{"alg":"HS256","alg":"HS256"}"#,
        r#"{"alg":"HS256","kid":7}"#,
        r#"["HS256",null,null]"#,
        r#"["HS256",null]"#,
        r#"{"alg":{"HS256":null}}"#,
        r#"{"typ":"JWT"}"#,
        "",
    ] {
        assert_eq!(verified(&tokens, &signed(header)), None, "{header}");
    }
}

#[test]
fn missing_and_malformed_claims_are_rejected() {
    let tokens = tokens(SECRET, &[]);
    let later = NOW + 60;
    for claims in [
        json!({"sub": "7"}),
        json!({"exp": later}),
        json!({"sub": 7, "exp": later}),
        json!({"sub": null, "exp": later}),
        json!({"sub": "7", "exp": later.to_string()}),
        json!({"sub": "7", "exp": -1}),
        json!({"sub": "7", "exp": 1.5e10}),
        json!({"sub": "7", "exp": null}),
        json!({"sub": "7", "exp": NOW}),
        json!({"sub": "7", "exp": NOW - 1}),
        json!(["7", later]),
        json!([later, null, "7", null, null]),
        json!("7"),
    ] {
        assert_eq!(verified(&tokens, &hs256(&claims)), None, "{claims}");
    }
}

#[test]
fn duplicate_claims_are_rejected() {
    let tokens = tokens(SECRET, &[]);
    let later = NOW + 60;
    let signed = |claims: String| signed_text(r#"{"alg":"HS256"}"#, &claims);
    let valid = signed(format!(
        r#"{{"sub":"7","exp":{later},"aud":"any","more":1,"more":2}}"#
    ));
    assert_eq!(verified(&tokens, &valid), Some(7), "unknown claims");
    for claims in [
        format!(r#"{{"sub":"7","sub":"7","exp":{later}}}"#),
        format!(r#"{{"sub":"7","exp":{later},"exp":{later}}}"#),
        format!(r#"{{"sub":"7","exp":{later}.0}}"#),
        format!(r#"{{"sub":"7","exp":{later}}} {{}}"#),
    ] {
        assert_eq!(verified(&tokens, &signed(claims.clone())), None, "{claims}");
    }
}

#[test]
fn non_canonical_base64_is_rejected() {
    let tokens = tokens(SECRET, &[]);
    let valid = tokens.issue(&ada(), NOW).expect("issued");
    let valid = valid.expose_secret();
    // The last base64 character of 32 bytes carries only four bits, so its other two bits must be zero.
    let last = valid.chars().last().expect("a signature");
    let other = |offset: u8| char::from(last as u8 + offset);
    let (body, same_bits) = (&valid[..valid.len() - 1], other(1));
    assert!("AEIMQUYcgkosw048".contains(last), "{last}");
    for token in [
        format!("{body}{same_bits}"),
        format!("{valid}="),
        format!("{valid}\n"),
    ] {
        assert_eq!(verified(&tokens, &token), None, "{token}");
    }
}

#[test]
fn only_a_canonical_decimal_sub_is_an_id() {
    for (sub, id) in [
        ("7", 7),
        ("0", 0),
        ("-5", -5),
        ("9223372036854775807", i64::MAX),
    ] {
        assert_eq!(parse_user_id(sub), Some(id), "{sub}");
    }
    for odd in [
        "", "+5", "05", "1.5", "-0", "-", " 5", "5 ", "5e0", "٥", "0x5", "--5", "00",
    ] {
        assert_eq!(parse_user_id(odd), None, "{odd}");
    }
    assert_eq!(
        parse_user_id("123456789012345678901234567890"),
        Some(NO_USER)
    );
}

#[test]
fn malformed_tokens_are_rejected() {
    let tokens = tokens(SECRET, &[]);
    let valid = tokens.issue(&ada(), NOW).expect("issued");
    let valid = valid.expose_secret();
    let cut = &valid[..valid.len() - 1];
    let long = format!(
        "{valid}{}",
        "A".repeat(rolegate_proto::limits::MAX_TOKEN_LEN)
    );
    let more = format!("{valid}.AAAA");
    for text in [
        "",
        ".",
        "..",
        "...",
        "a.b.c",
        "\0",
        cut,
        &long,
        &more,
        &valid.replace('.', " "),
    ] {
        assert_eq!(verified(&tokens, text), None);
    }
}
