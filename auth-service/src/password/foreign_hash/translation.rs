//! The forms in which other systems write their hashes, translated into those that are stored.

use super::{
    super::rejection::HashRejection,
    pbkdf2::{Pbkdf2, Prf, SHA256, SHA512},
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE},
};
use std::borrow::Cow;

/// Beginnings of hashes that are not read, and whose they are.
const UNREAD: [(&str, &str); 19] = [
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

/// The stored form of a hash; text that no other system writes stays as it is.
pub(in crate::password) fn translate(text: &str) -> Result<Cow<'_, str>, HashRejection> {
    let of_system = |name, translated: Option<String>| {
        translated
            .map(Cow::Owned)
            .ok_or(HashRejection::Malformed(name))
    };
    if let Some(phc) = text.strip_prefix("argon2$") {
        of_system("Django's argon2", Some(format!("${phc}")))
    } else if let Some(bcrypt) = text.strip_prefix("bcrypt$") {
        Ok(bcrypt.into())
    } else if let Some(rest) = text.strip_prefix("scrypt$") {
        of_system("Django's scrypt", django_scrypt(rest))
    } else if let Some(rest) = text.strip_prefix("scrypt:") {
        of_system("Werkzeug's scrypt", werkzeug_scrypt(rest))
    } else if let Some(rest) = text.strip_prefix("pbkdf2:sha256:") {
        of_system("Werkzeug's PBKDF2", werkzeug_pbkdf2(&SHA256, rest))
    } else if let Some(rest) = text.strip_prefix("pbkdf2:sha512:") {
        of_system("Werkzeug's PBKDF2", werkzeug_pbkdf2(&SHA512, rest))
    } else if let Some((salt, key)) = text.split_once(':').filter(|_| is_better_auth(text)) {
        let key = hex::decode(key)
            .ok()
            .and_then(|key| scrypt("16384", "16", "1", salt, &key));
        of_system("better-auth", key.map(|phc| format!("nfkc:{phc}")))
    } else if text.starts_with("AQAAAA") {
        let bytes = STANDARD.decode(text).ok();
        let bytes = bytes.ok_or(HashRejection::Malformed("ASP.NET Identity"))?;
        asp_net_v3(&bytes).map(Cow::Owned)
    } else if let Some(name) = unread(text) {
        Err(HashRejection::Unread(name))
    } else {
        Ok(text.into())
    }
}

/// `N$SALT$R$P$KEY`, the key in base64.
fn django_scrypt(rest: &str) -> Option<String> {
    let [n, salt, r, p, key] = rest.split('$').collect::<Vec<_>>().try_into().ok()?;
    scrypt(n, r, p, salt, &STANDARD.decode(key).ok()?)
}

/// `N:R:P$SALT$KEY`, the key in hex.
fn werkzeug_scrypt(rest: &str) -> Option<String> {
    let [parameters, salt, key] = rest.split('$').collect::<Vec<_>>().try_into().ok()?;
    let [n, r, p] = parameters.split(':').collect::<Vec<_>>().try_into().ok()?;
    scrypt(n, r, p, salt, &hex::decode(key).ok()?)
}

/// `ITERATIONS$SALT$DIGEST`, the digest in hex.
fn werkzeug_pbkdf2(prf: &Prf, rest: &str) -> Option<String> {
    let [iterations, salt, digest] = rest.split('$').collect::<Vec<_>>().try_into().ok()?;
    Pbkdf2::format(prf, iterations, salt.as_bytes(), &hex::decode(digest).ok()?)
}

/// `SALT:KEY` in hex. The salt is the text, not what it encodes.
fn is_better_auth(text: &str) -> bool {
    text.len() == 161 && text.as_bytes()[32] == b':'
}

/// Version 3: after its number the function, iterations and length of the salt in four bytes each, the
/// salt, and the digest.
fn asp_net_v3(bytes: &[u8]) -> Result<String, HashRejection> {
    const MALFORMED: HashRejection = HashRejection::Malformed("ASP.NET Identity");
    let number = |at| {
        bytes
            .get(at..at + 4)?
            .try_into()
            .ok()
            .map(u32::from_be_bytes)
    };
    let prf = match number(1).ok_or(MALFORMED)? {
        0 => return Err(HashRejection::Unread("PBKDF2-SHA1")),
        1 => &SHA256,
        2 => &SHA512,
        _ => return Err(MALFORMED),
    };
    let translated = || {
        let (iterations, salt) = (number(5)?, number(9)?.try_into().ok()?);
        let (salt, digest) = bytes.get(13..)?.split_at_checked(salt)?;
        Pbkdf2::format(prf, &iterations.to_string(), salt, digest)
    };
    translated().ok_or(MALFORMED)
}

/// A PHC string of scrypt; `n` is a power of two.
fn scrypt(n: &str, r: &str, p: &str, salt: &str, key: &[u8]) -> Option<String> {
    let n = n.parse().ok().filter(|n: &u64| n.is_power_of_two())?;
    let encode = |bytes| STANDARD_NO_PAD.encode(bytes);
    let (salt, key) = (encode(salt.as_bytes()), encode(key));
    Some(format!("$scrypt$ln={},r={r},p={p}${salt}${key}", n.ilog2()))
}

/// Whose hash this is, if it is one that is not read.
fn unread(text: &str) -> Option<&'static str> {
    if let Some((_, name)) = UNREAD
        .iter()
        .find(|(beginning, _)| text.starts_with(beginning))
    {
        return Some(name);
    }
    if text.bytes().all(|it| it.is_ascii_hexdigit()) {
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
