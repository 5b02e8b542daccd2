//! The keyed digest that stands for a check.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

/// Stands for a name, a stored hash and a password; says nothing about them without the key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Tag([u8; 32]);

/// The key of this process: a whole block of the hash, which HMAC takes as it is.
pub(super) struct TagKey(Zeroizing<[u8; 64]>);

impl TagKey {
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut key = Zeroizing::new([0; 64]);
        getrandom::fill(&mut *key)?;
        Ok(Self(key))
    }

    /// HMAC-SHA-256 (RFC 2104) over the parts, each after its length, so that no two different
    /// checks read the same.
    pub(super) fn tag(&self, username: &str, stored: Option<&str>, password: &str) -> Tag {
        let mut mac = Hmac::<Sha256>::new(&(*self.0).into());
        let parts = [Some(username), stored, Some(password)];
        for part in parts {
            mac.update(&[u8::from(part.is_some())]);
            let part = part.unwrap_or_default();
            mac.update(&part.len().to_be_bytes());
            mac.update(part.as_bytes());
        }
        Tag(mac.finalize().into_bytes().into())
    }
}

#[cfg(test)]
mod tests {
    use super::TagKey;

    #[test]
    fn every_part_counts_and_so_does_where_it_ends() {
        let key = TagKey::random().expect("randomness");
        let checks = [
            ("ada", Some("hash"), "sesame"),
            ("bob", Some("hash"), "sesame"),
            ("ada", Some("other"), "sesame"),
            ("ada", Some("hash"), "Sesame"),
            ("ada", None, "sesame"),
            ("ada", Some(""), "sesame"),
            ("adah", Some("ash"), "sesame"),
            ("ada", Some("hashs"), "esame"),
        ];
        let tags = checks.map(|(name, stored, password)| key.tag(name, stored, password));
        for (one, tag) in tags.iter().enumerate() {
            for (other, tag_of_other) in tags.iter().enumerate() {
                assert_eq!(tag == tag_of_other, one == other, "{one} {other}");
            }
        }
    }

    #[test]
    fn another_process_has_other_tags() {
        let tag = || TagKey::random().expect("randomness").tag("ada", Some("hash"), "sesame");
        assert!(tag() != tag());
    }
}
