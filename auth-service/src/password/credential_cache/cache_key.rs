//! The keyed digest that stands for a check.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

/// Stands for a name, a stored hash and a password; says nothing about them without the key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey([u8; 32]);

/// The key of this process: a whole block of the hash, which HMAC takes as it is.
pub(super) struct CacheSecret(Zeroizing<[u8; 64]>);

impl CacheSecret {
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut key = Zeroizing::new([0; 64]);
        getrandom::fill(&mut *key)?;
        Ok(Self(key))
    }

    /// HMAC-SHA-256 (RFC 2104) over the parts, each after its length, so that no two different
    /// checks read the same.
    pub(super) fn cache_key(
        &self,
        username: &str,
        stored: Option<&str>,
        password: &str,
    ) -> CacheKey {
        let mut mac = Hmac::<Sha256>::new(&(*self.0).into());
        let parts = [Some(username), stored, Some(password)];
        for part in parts {
            mac.update(&[u8::from(part.is_some())]);
            let part = part.unwrap_or_default();
            mac.update(&part.len().to_be_bytes());
            mac.update(part.as_bytes());
        }
        CacheKey(mac.finalize().into_bytes().into())
    }
}

#[cfg(test)]
mod tests {
    use super::CacheSecret;

    #[test]
    fn every_part_counts_and_so_does_where_it_ends() {
        let key = CacheSecret::random().expect("randomness");
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
        let keys = checks.map(|(name, stored, password)| key.cache_key(name, stored, password));
        for (one, cache_key) in keys.iter().enumerate() {
            for (other, other_key) in keys.iter().enumerate() {
                assert_eq!(cache_key == other_key, one == other, "{one} {other}");
            }
        }
    }

    #[test]
    fn another_process_has_other_tags() {
        let cache_key =
            || CacheSecret::random().expect("randomness").cache_key("ada", Some("hash"), "sesame");
        assert!(cache_key() != cache_key());
    }
}
