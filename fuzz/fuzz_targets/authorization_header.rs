//! Fuzzes the header `Authorization`. The product must read it in the same way as a second implementation,
//! which decodes base64 by hand. A header that a client writes for a username and a password must be read as
//! exactly these two.
//!
//! The input is the values of all headers of this name, one on each line.

#![no_main]

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use libfuzzer_sys::fuzz_target;
use rolegate_gateway::fuzzing::authorization;
use rolegate_proto::{Authorization, authorization::bearer_token};
use secrecy::ExposeSecret as _;

fuzz_target!(|data: &[u8]| {
    let lines = data.split(|&byte| byte == b'\n');
    let values: Vec<_> = lines
        .filter_map(|line| HeaderValue::from_bytes(line).ok())
        .collect();
    let headers = values
        .iter()
        .map(|value| (AUTHORIZATION, value.clone()))
        .collect();
    let expected = match &values[..] {
        [value] => again(value.as_bytes()),
        _ => None,
    };
    assert_eq!(read(&headers), expected);
    if let [value] = &values[..] {
        let token =
            bearer_token(value.as_bytes()).map(|token| ("Bearer".to_owned(), token.to_owned()));
        assert_eq!(
            token,
            expected.filter(|(first, second)| is_bearer(value, first, second))
        );
    }
    for value in &values {
        round_trip(value.as_bytes());
    }
});

fn is_bearer(value: &HeaderValue, scheme: &str, _: &str) -> bool {
    scheme == "Bearer" && value.as_bytes()[..6].eq_ignore_ascii_case(b"bearer")
}

/// Returns `Bearer` and the token, or the username and the password.
fn read(headers: &HeaderMap) -> Option<(String, String)> {
    Some(match authorization(headers)? {
        Authorization::Bearer(token) => ("Bearer".to_owned(), token.expose_secret().to_owned()),
        Authorization::Basic { username, password } => {
            (username, password.expose_secret().to_owned())
        }
    })
}

fn again(value: &[u8]) -> Option<(String, String)> {
    let cut = value.iter().position(|&byte| byte == b' ')?;
    let (scheme, mut rest) = (value[..cut].to_ascii_lowercase(), &value[cut..]);
    while let [b' ', inner @ ..] | [inner @ .., b' '] = rest {
        rest = inner;
    }
    match &scheme[..] {
        b"bearer" => {
            let is_token = !rest.is_empty() && rest.iter().all(|byte| (b'!'..=b'~').contains(byte));
            is_token.then(|| {
                (
                    "Bearer".to_owned(),
                    String::from_utf8_lossy(rest).into_owned(),
                )
            })
        }
        b"basic" => {
            let decoded = decoded(rest)?;
            let colon = decoded.iter().position(|&byte| byte == b':')?;
            let (username, password) = (&decoded[..colon], &decoded[colon + 1..]);
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
            // If the username or the password is not UTF-8, both are read as empty.
            Some(text(username).zip(text(password)).unwrap_or_default())
        }
        _ => None,
    }
}

/// Decodes base64 with or without padding. The unused last bits must be zero (RFC 4648, section 3.5).
fn decoded(mut text: &[u8]) -> Option<Vec<u8>> {
    let padded = text.len();
    while let [rest @ .., b'='] = text {
        text = rest;
    }
    let padding = padded - text.len();
    if padding > [0, 0, 2, 1][text.len() % 4] {
        return None;
    }
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for &letter in text {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        (bits, count) = (bits << 6 | u32::from(value), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count).ok()?);
            bits &= (1 << count) - 1;
        }
    }
    (bits == 0 && count < 6).then_some(bytes)
}

/// Checks that a username and a password, divided by the first colon of the line, are read back unchanged.
fn round_trip(line: &[u8]) {
    let Some((username, password)) = str::from_utf8(line).ok().and_then(|it| it.split_once(':'))
    else {
        return;
    };
    let value = format!("Basic {}", STANDARD.encode(line));
    let headers = [(AUTHORIZATION, value.parse().expect("ASCII"))]
        .into_iter()
        .collect();
    assert_eq!(
        read(&headers),
        Some((username.to_owned(), password.to_owned()))
    );
}
