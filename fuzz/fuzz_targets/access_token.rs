//! Fuzzes access tokens: `verify` accepts exactly the tokens that a second implementation of RFC 7515 and RFC
//! 7519 accepts.
//!
//! The input has one of three forms:
//!
//! - `h` HEADER LF PAYLOAD, from which the target makes a signed token.
//! - `r` TEXT, which is used as the token.
//! - `i` NUMBERS, from which a token is issued and then changed in one character.

#![no_main]

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use libfuzzer_sys::fuzz_target;
use ring::{
    digest::{SHA256, digest},
    hmac,
};
use rolegate_auth_service::{
    fuzzing::{TokenContent, verify},
    tokens::{AccessTokens, Keyring},
    user::User,
};
use rolegate_fuzz::members::Members;
use rolegate_proto::Role;
use secrecy::ExposeSecret as _;
use serde_json::Value;
use std::sync::LazyLock;

const NOW: u64 = 1_800_000_000;
const SECRETS: [&str; 2] = [
    "0123456789abcdef0123456789abcdef",
    "fedcba9876543210fedcba9876543210",
];

static TOKENS: LazyLock<AccessTokens> = LazyLock::new(|| {
    AccessTokens::new(Keyring::new(&SECRETS[0].into(), &[SECRETS[1].into()]).expect("long secrets"))
});

fuzz_target!(|data: &[u8]| {
    let Some((&form, rest)) = data.split_first() else {
        return;
    };
    match form {
        b'h' => {
            let cut = rest
                .iter()
                .position(|&it| it == b'\n')
                .unwrap_or(rest.len());
            let payload = rest.get(cut + 1..).unwrap_or_default();
            let message = format!("{}.{}", BASE64.encode(&rest[..cut]), BASE64.encode(payload));
            let key = SECRETS[usize::from(data.len() % 4 == 0)];
            let signature = hmac::sign(&key_of(key), message.as_bytes());
            compare(&format!("{message}.{}", BASE64.encode(signature)));
        }
        b'r' => _ = str::from_utf8(rest).map(compare),
        _ => issue(rest),
    }
});

fn key_of(secret: &str) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())
}

fn compare(token: &str) {
    let is_text = |part| {
        BASE64
            .decode(part)
            .is_ok_and(|it| String::from_utf8(it).is_ok())
    };
    let expected = again(token);
    let found = verify(&TOKENS, token, NOW);
    // In signed claims that are ignored, serde_json does not check that the text is UTF-8.
    if found != expected && token.split('.').take(2).all(is_text) {
        panic!("{token} {found:?} {expected:?}");
    }
}

/// Reads the token a second time, independently of the product.
fn again(token: &str) -> Option<TokenContent> {
    let parts: Vec<_> = token.split('.').collect();
    let [header, payload, signature] = <[&str; 3]>::try_from(parts).ok()?;
    let signature = BASE64.decode(signature).ok()?;
    let message = format!("{header}.{payload}");
    let is_by =
        |secret: &&str| hmac::verify(&key_of(secret), message.as_bytes(), &signature).is_ok();
    let signer = SECRETS
        .into_iter()
        .find(is_by)
        .filter(|_| token.len() <= 4096)?;
    let header = Members::read(&BASE64.decode(header).ok()?)?;
    let payload = Members::read(&BASE64.decode(payload).ok()?)?;
    // None of these members may be repeated. The optional ones may be null.
    let [alg, kid, marked_until] = ["alg", "kid", "marked_until"].map(|name| header.only(name));
    let [sub, exp, nbf] = ["sub", "exp", "nbf"].map(|name| payload.only(name));
    let whole = |value: Value| {
        if value.is_null() {
            Some(None)
        } else {
            value.as_u64().map(Some)
        }
    };
    let kid = kid.ok()?;
    let marked_until = whole(marked_until.ok()?)?.unwrap_or(0);
    let nbf = whole(nbf.ok()?)?;
    let is_known = kid.is_null() || kid == kid_of(signer);
    if alg != Ok("HS256".into()) || !is_known || !header.all("crit").is_empty() {
        return None;
    }
    // In a token that names its key, the claim `username` must not be repeated.
    if !kid.is_null() {
        payload.only("username").ok()?;
    }
    let exp = exp.ok()?.as_u64()?;
    Some(TokenContent {
        user_id: user_of(sub.ok()?.as_str()?)?,
        marked_until,
        exp,
        is_valid: NOW < exp && exp <= NOW + 1860 && nbf.unwrap_or(0) <= NOW,
    })
}

/// Parses an integer in the form in which `Display` writes it. Returns -1 for an integer beyond the range of
/// ids.
fn user_of(sub: &str) -> Option<i64> {
    let digits = sub.strip_prefix('-').unwrap_or(sub);
    match sub.parse::<i64>() {
        Ok(number) => (number.to_string() == sub).then_some(number),
        Err(_) if digits.starts_with('0') || digits.is_empty() => None,
        Err(_) => digits
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some(-1),
    }
}

/// Computes the id of the key with this secret.
fn kid_of(secret: &str) -> String {
    let digest = digest(&SHA256, format!("rolegate kid\0{secret}").as_bytes());
    BASE64.encode(&digest.as_ref()[..9])
}

/// Checks that an issued token names its user, and that it is refused after any change.
fn issue(numbers: &[u8]) {
    let mut numbers = numbers.chunks(8).map(|chunk| {
        chunk
            .iter()
            .fold(0_u64, |number, &byte| number << 8 | u64::from(byte))
    });
    let mut next = || numbers.next().unwrap_or_default();
    let user = User {
        id: next().cast_signed(),
        username: format!("ada{}", next()),
        role: Role::AUTHOR,
        tokens_not_before: NOW + next() % 60,
        until: None,
        memberships: Vec::new(),
        found_groups: Vec::new(),
        disabled: false,
        tokens_marked_until: NOW + next() % 120,
        second_factor: false,
        created_at: Some(NOW + next() % 120),
    };
    let token = TOKENS.issue(&user, NOW).expect("issued");
    let token = token.expose_secret();
    let content = verify(&TOKENS, token, NOW).expect("valid");
    let issued = user.tokens_not_before;
    let needed = user.tokens_marked_until.max(user.created_at.unwrap_or(0));
    let expected = TokenContent {
        user_id: user.id,
        marked_until: if issued < needed { needed } else { 0 },
        exp: issued + 1800,
        is_valid: true,
    };
    assert_eq!(content, expected);
    compare(token);
    let mut changed = token.as_bytes().to_vec();
    let (at, by) = (next(), next());
    let at = usize::try_from(at).unwrap_or_default() % changed.len();
    let other = b"ABCDEFabcdef0189-_.=+ "[usize::try_from(by).unwrap_or_default() % 22];
    if changed[at] != other {
        changed[at] = other;
        let changed = str::from_utf8(&changed).expect("ASCII");
        assert_eq!(verify(&TOKENS, changed, NOW), None, "{token} {changed}");
    }
}
