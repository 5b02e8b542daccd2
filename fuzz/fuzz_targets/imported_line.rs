//! Fuzzes the lines of `user import`. An accepted line must survive an export and another import. Its hash must
//! cost no more than a login may, and must be one that a login can check. An error must not quote the hash.
//!
//! The input is two flags, each `0` or `1`, and the line.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rolegate_auth_service::fuzzing::{ImportFlags, export_imported, matches};
use rolegate_fuzz::members::Members;
use serde_json::Value;

const NOW: i64 = 1_800_000_000;

fuzz_target!(|data: &[u8]| {
    let [slow, weak, line @ ..] = data else {
        return;
    };
    let flags = ImportFlags {
        accept_slow_hashes: *slow == b'1',
        accept_weak_hashes: *weak == b'1',
    };
    let line = line.trim_ascii();
    let members = Members::read(line);
    match export_imported(line, NOW, flags) {
        Ok(export) => {
            assert_eq!(
                export_imported(export.as_bytes(), NOW, flags).as_ref(),
                Ok(&export)
            );
            let stored = Members::read(export.as_bytes()).expect("an object");
            if let Some(members) = members {
                compare(&members, &stored);
            }
            if let Value::String(hash) = stored.only("password_hash").expect("one") {
                check(&hash, flags);
            }
        }
        Err(error) => {
            let texts = members
                .map(|it| it.all("password_hash").join(""))
                .unwrap_or_default();
            let hash: Value = serde_json::from_str(&texts).unwrap_or_default();
            let is_quoted = |hash: &&str| hash.len() > 20 && error.contains(*hash);
            if let Some(hash) = hash.as_str().filter(is_quoted) {
                // A long hash may equal a part of the error's own text. That part is then also in the error
                // about another hash.
                let other = format!("\"{}\"", "x".repeat(hash.len()));
                let line = str::from_utf8(line).expect("JSON").replace(&texts, &other);
                let other =
                    export_imported(line.as_bytes(), NOW, flags).expect_err("no better hash");
                assert!(other.contains(hash), "{error}");
            }
        }
    }
});

/// Checks that the values on the line are stored.
fn compare(line: &Members, stored: &Members) {
    let names = [
        "id",
        "username",
        "role",
        "disabled",
        "tokens_not_before",
        "tokens_marked_until",
    ];
    for name in names {
        let (given, kept) = (line.only(name), stored.only(name));
        let given = given.unwrap_or_else(|()| panic!("{name} is there twice"));
        let is_default = given.is_null() || given == 0;
        assert!(
            is_default || Ok(&given) == kept.as_ref(),
            "{name}: {given} {kept:?}"
        );
    }
    let username = stored.only("username").expect("one");
    let username = username.as_str().expect("text");
    assert!((1..=255).contains(&username.len()) && !username.contains(':'));
    assert!(!username.chars().any(char::is_control) && username.trim() == username);
    let role = stored.only("role").expect("one");
    assert!(
        ["user", "author", "admin", "editor"]
            .iter()
            .any(|it| role == *it)
    );
}

/// Checks that a hash costs no more than ten seconds and 256 MiB, and that a cheap one can be computed.
fn check(hash: &str, flags: ImportFlags) {
    let text = hash.strip_prefix("nfkc:").unwrap_or(hash);
    if let Some(rest) = text.strip_prefix("$wp").unwrap_or(text).strip_prefix("$2") {
        let cost: u32 = rest[2..4].parse().expect("two digits");
        let least = if flags.accept_weak_hashes { 4 } else { 7 };
        assert!(
            (least..=if flags.accept_slow_hashes { 16 } else { 14 }).contains(&cost),
            "{hash}"
        );
        return;
    }
    let (kib, work) = cost(text).unwrap_or_else(|| panic!("of what form is {hash}?"));
    assert!(
        kib <= 256 * 1024 && work <= 10 * 65_536,
        "{hash}: {kib} KiB, {work}"
    );
    if kib <= 2048 && work <= 200 {
        assert!(
            matches(hash, "correct horse battery staple").is_some(),
            "{hash}"
        );
    }
}

/// Returns the memory in KiB and the work in bcrypt iterations, computed from the text alone. If a parameter of
/// argon2 is repeated, its last value counts, as it does at a login.
fn cost(hash: &str) -> Option<(u64, u64)> {
    let parts: Vec<_> = hash.split('$').collect();
    let parameter = |name: &str| {
        let pairs = parts.iter().flat_map(|part| part.split(','));
        pairs
            .filter_map(|pair| {
                pair.strip_prefix(name)?
                    .strip_prefix('=')?
                    .parse::<u64>()
                    .ok()
            })
            .last()
    };
    let iterations = |part: &str| part.parse::<u64>().ok();
    match parts[..] {
        ["", "argon2id" | "argon2i", ..] => {
            let (m, t) = (
                parameter("m").unwrap_or(19_456),
                parameter("t").unwrap_or(2),
            );
            Some((m, m * t / 16))
        }
        ["", "scrypt", ..] => {
            let (n, r, p) = (1_u64 << parameter("ln")?, parameter("r")?, parameter("p")?);
            Some(((n * r / 8).max(p * r / 8), n * r / 8 * p / 6))
        }
        ["pbkdf2_sha256", number, ..] => Some((0, iterations(number)? / 12)),
        ["", "pbkdf2-sha256", number, _, digest] => Some((
            0,
            iterations(number)? * if digest.len() > 43 { 2 } else { 1 } / 12,
        )),
        ["", "pbkdf2-sha512", number, ..] => Some((0, iterations(number)? / 4)),
        _ => None,
    }
}
