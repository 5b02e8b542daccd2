//! Translates the formats in which other systems write their hashes into the formats that are stored.

use super::pbkdf2::{Pbkdf2, Prf, SHA256, SHA512, split};
use crate::password::rejection::HashRejection;
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE},
};
use std::borrow::Cow;

/// The prefixes of hashes that this service cannot check, and the systems that write them. The first prefix that
/// matches counts.
const UNSUPPORTED: [(&str, &str); 19] = [
    ("$P$", "phpass (WordPress before 6.8)"),
    ("$H$", "phpass (phpBB)"),
    ("$S$", "a hash of Drupal 7"),
    ("$1$", "MD5-crypt"),
    ("$5$", "SHA-256-crypt"),
    ("$6$", "SHA-512-crypt"),
    ("$y$", "yescrypt"),
    ("$argon2d$", "argon2d"),
    ("$pbkdf2$", "PBKDF2-SHA1"),
    ("pbkdf2_sha1$", "PBKDF2-SHA1"),
    ("pbkdf2:sha1", "PBKDF2-SHA1"),
    ("bcrypt_sha256$", "Django's BCryptSHA256"),
    ("$bcrypt-sha256$", "passlib's bcrypt_sha256"),
    ("md5$", "salted MD5"),
    ("sha1$", "salted SHA-1"),
    ("{SSHA", "a salted SHA of LDAP"),
    ("{", "a hash of LDAP"),
    ("!", "an unusable password of Django"),
    ("*", "a locked account"),
];

/// Translates a hash into its stored format. Text that is not in the format of another system is returned
/// unchanged. A malformed hash is an error, and so is a hash of a system that this service cannot check.
pub(crate) fn translate(text: &str) -> Result<Cow<'_, str>, HashRejection> {
    if let Some(bcrypt) = text.strip_prefix("bcrypt$") {
        return Ok(bcrypt.into());
    }
    let (system, translated) = if let Some(phc) = text.strip_prefix("argon2$") {
        ("Django's argon2", Some(format!("${phc}")))
    } else if let Some(rest) = text.strip_prefix("scrypt$") {
        ("Django's scrypt", django_scrypt(rest))
    } else if let Some(rest) = text.strip_prefix("scrypt:") {
        ("Werkzeug's scrypt", werkzeug_scrypt(rest))
    } else if let Some(rest) = text.strip_prefix("pbkdf2:sha256:") {
        ("Werkzeug's PBKDF2", werkzeug_pbkdf2(&SHA256, rest))
    } else if let Some(rest) = text.strip_prefix("pbkdf2:sha512:") {
        ("Werkzeug's PBKDF2", werkzeug_pbkdf2(&SHA512, rest))
    } else if is_better_auth(text) {
        ("better-auth", better_auth_scrypt(text))
    } else if text.starts_with("AQAAAA") {
        return asp_net_identity(text).map(Cow::Owned);
    } else if let Some(system) = unsupported_system(text) {
        return Err(HashRejection::Unsupported(system));
    } else {
        return Ok(text.into());
    };
    translated
        .map(Cow::Owned)
        .ok_or(HashRejection::Malformed(system))
}

/// Translates Django's format of scrypt, `N$SALT$R$P$KEY`, where the key is in base64.
fn django_scrypt(rest: &str) -> Option<String> {
    let [n, salt, r, p, key] = split(rest, '$')?;
    format_scrypt(n, r, p, salt, &STANDARD.decode(key).ok()?)
}

/// Translates Werkzeug's format of scrypt, `N:R:P$SALT$KEY`, where the key is in hex.
fn werkzeug_scrypt(rest: &str) -> Option<String> {
    let [parameters, salt, key] = split(rest, '$')?;
    let [n, r, p] = split(parameters, ':')?;
    format_scrypt(n, r, p, salt, &hex::decode(key).ok()?)
}

/// Translates Werkzeug's format of PBKDF2, `ITERATIONS$SALT$DIGEST`, where the digest is in hex.
fn werkzeug_pbkdf2(prf: &Prf, rest: &str) -> Option<String> {
    let [iterations, salt, digest] = split(rest, '$')?;
    Pbkdf2::format(prf, iterations, salt.as_bytes(), &hex::decode(digest).ok()?)
}

fn is_better_auth(text: &str) -> bool {
    text.len() == 161 && text.as_bytes()[32] == b':'
}

/// Translates the format of better-auth, `SALT:KEY` in hex. better-auth gives scrypt the hex text of the salt,
/// not the bytes that the text encodes.
fn better_auth_scrypt(text: &str) -> Option<String> {
    let (salt, key) = text.split_once(':')?;
    let phc = format_scrypt("16384", "16", "1", salt, &hex::decode(key).ok()?)?;
    Some(format!("nfkc:{phc}"))
}

/// Translates version 3 of ASP.NET Identity's format, which is in base64.
///
/// After the version number, it has the function, the number of iterations and the length of the salt in four
/// bytes each, then the salt and the digest.
fn asp_net_identity(text: &str) -> Result<String, HashRejection> {
    const MALFORMED: HashRejection = HashRejection::Malformed("ASP.NET Identity");
    let bytes = STANDARD.decode(text).map_err(|_| MALFORMED)?;
    let prf = match number_at(&bytes, 1).ok_or(MALFORMED)? {
        0 => return Err(HashRejection::Unsupported("PBKDF2-SHA1")),
        1 => &SHA256,
        2 => &SHA512,
        _ => return Err(MALFORMED),
    };
    asp_net_pbkdf2(prf, &bytes).ok_or(MALFORMED)
}

fn asp_net_pbkdf2(prf: &Prf, bytes: &[u8]) -> Option<String> {
    let iterations = number_at(bytes, 5)?;
    let salt_length = number_at(bytes, 9)?.try_into().ok()?;
    let (salt, digest) = bytes.get(13..)?.split_at_checked(salt_length)?;
    Pbkdf2::format(prf, &iterations.to_string(), salt, digest)
}

fn number_at(bytes: &[u8], position: usize) -> Option<u32> {
    let number = bytes.get(position..position + 4)?;
    Some(u32::from_be_bytes(number.try_into().ok()?))
}

/// Formats a PHC string of scrypt. `n` must be a power of two.
fn format_scrypt(n: &str, r: &str, p: &str, salt: &str, key: &[u8]) -> Option<String> {
    let n: u64 = n.parse().ok()?;
    if !n.is_power_of_two() {
        return None;
    }
    let log_n = n.ilog2();
    let salt = STANDARD_NO_PAD.encode(salt);
    let key = STANDARD_NO_PAD.encode(key);
    Some(format!("$scrypt$ln={log_n},r={r},p={p}${salt}${key}"))
}

/// Returns the name of the system or the function that made a hash, if this service cannot check its hashes.
fn unsupported_system(text: &str) -> Option<&'static str> {
    let prefixed = UNSUPPORTED
        .iter()
        .find(|(prefix, _)| text.starts_with(prefix));
    if let Some((_, system)) = prefixed {
        return Some(system);
    }
    if text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return match text.len() {
            32 => Some("MD5"),
            40 => Some("SHA-1"),
            64 => Some("SHA-256"),
            128 => Some("SHA-512"),
            _ => None,
        };
    }
    let bytes = STANDARD
        .decode(text)
        .or_else(|_| URL_SAFE.decode(text))
        .ok()?;
    match (bytes.len(), bytes.first()) {
        (49, Some(0)) => Some("ASP.NET Identity 2 (PBKDF2-SHA1)"),
        (64, _) => Some("scrypt of Firebase"),
        _ => None,
    }
}
