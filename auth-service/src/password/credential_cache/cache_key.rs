//! The keyed digest that identifies a check.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::net::IpAddr;
use zeroize::Zeroizing;

/// Identifies a username, a stored hash, a password and a client; reveals nothing without the secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey([u8; 32]);

/// The random secret of this process: one block of the hash, which HMAC uses unchanged.
pub(super) struct CacheSecret(Zeroizing<[u8; 64]>);

impl CacheSecret {
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut secret = Zeroizing::new([0; 64]);
        getrandom::fill(&mut *secret)?;
        Ok(Self(secret))
    }

    /// HMAC-SHA-256 (RFC 2104) over the parts, each after its length, so that different parts never
    /// give the same input.
    pub(super) fn key(
        &self,
        username: &str,
        stored: Option<&str>,
        password: &str,
        client: IpAddr,
    ) -> CacheKey {
        let mut mac = Hmac::<Sha256>::new(&(*self.0).into());
        match client {
            IpAddr::V4(v4) => mac.update(&v4.to_ipv6_mapped().octets()),
            IpAddr::V6(v6) => mac.update(&v6.octets()),
        }
        for part in [Some(username), stored, Some(password)] {
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
    use std::net::{IpAddr, Ipv4Addr};

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn every_part_and_its_length_changes_the_key() {
        let secret = CacheSecret::random().expect("randomness");
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
        let client = IpAddr::from([192, 0, 2, 1]);
        let key = |(name, stored, password)| secret.key(name, stored, password, client);
        let elsewhere = secret.key("ada", Some("hash"), "sesame", IpAddr::from([192, 0, 2, 2]));
        let keys: Vec<_> = checks.into_iter().map(key).chain([elsewhere]).collect();
        for (one, key) in keys.iter().enumerate() {
            for (other, other_key) in keys.iter().enumerate() {
                assert_eq!(key == other_key, one == other, "{one} {other}");
            }
        }
    }

    #[test]
    fn each_process_has_its_own_keys() {
        let key =
            || CacheSecret::random().expect("randomness").key("ada", Some("hash"), "sesame", HERE);
        assert!(key() != key());
    }
}
