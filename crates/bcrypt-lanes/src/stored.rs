//! Parses and formats a stored hash, such as `$2b$12$` and 53 characters of bcrypt's base64.

use base64::Engine as _;
use bcrypt::{BASE_64, HashParts};

/// The work factor of bcrypt, from 4 to 31. A hash of cost c takes 2^c iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost(u32);

impl Cost {
    /// The lowest cost of bcrypt, which is too low for real passwords.
    pub const MIN: Self = Self(4);
    /// The maximum cost that failed verifications adopt from stored hashes. Without it, a single stored hash of
    /// a very high cost would stop all logins.
    pub(crate) const MAX_FAILED: Self = Self(16);
    /// The highest cost of bcrypt.
    pub const MAX: Self = Self(31);

    /// Creates a cost. Returns `None` if the number is not from 4 to 31.
    pub const fn new(cost: u32) -> Option<Self> {
        if cost >= Self::MIN.0 && cost <= Self::MAX.0 {
            Some(Self(cost))
        } else {
            None
        }
    }

    /// Returns the cost as a number, as stored hashes contain it.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns 2^cost, the iterations of a hash.
    pub const fn iterations(self) -> u64 {
        1 << self.0
    }
}

/// The first 23 bytes of bcrypt's output. The 24th is not part of the stored format.
pub(crate) type Digest = [u8; 23];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredHash {
    pub(crate) cost: Cost,
    pub(crate) salt: [u8; 16],
    pub(crate) digest: Digest,
}

impl StoredHash {
    /// Parses a hash with one of the prefixes `$2a$`, `$2b$`, `$2x$` and `$2y$`. The `bcrypt` crate accepts
    /// these prefixes, and all are computed alike. Returns `None` for any other text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parts: HashParts = text.parse().ok()?;
        // `HashParts` does not expose the digest, but has checked that the text is 60 bytes of ASCII.
        let mut digest = [0; 23];
        BASE_64.decode_slice(text.get(29..)?, &mut digest).ok()?;
        Some(Self {
            cost: Cost::new(parts.get_cost())?,
            salt: parts.get_salt_raw(),
            digest,
        })
    }

    /// Returns the hash as 60 characters with the prefix `$2b$`.
    pub(crate) fn format(&self) -> String {
        let salt = BASE_64.encode(self.salt);
        let digest = BASE_64.encode(self.digest);
        format!("$2b${:02}${salt}{digest}", self.cost.get())
    }
}

/// Returns the cost of a hash that [`Engine::verify`](crate::Engine::verify) can check; `None` for any other text.
pub fn stored_cost(text: &str) -> Option<Cost> {
    StoredHash::parse(text).map(|stored| stored.cost)
}

#[cfg(test)]
mod tests {
    use super::StoredHash;

    const HASH: &str = "$2b$12$L6Bc/AlTQHyd9liGgGEZyOFLPHNgyxeEPfgYfBCVxJ7JIlwxyVU3u";

    #[test]
    fn a_hash_survives_parsing_and_formatting() {
        assert_eq!(
            StoredHash::parse(HASH).map(|s| s.format()).as_deref(),
            Some(HASH)
        );
        let older = HASH.replacen("2b", "2y", 1);
        assert_eq!(StoredHash::parse(&older), StoredHash::parse(HASH));
    }

    #[test]
    fn malformed_hashes_are_rejected() {
        let dear = HASH.replacen("$12$", "$32$", 1);
        let cheap = HASH.replacen("$12$", "$03$", 1);
        let strange = HASH.replacen("2b", "2c", 1);
        let wide = format!("{}é", &HASH[..58]);
        for text in ["", "secret", &HASH[..59], &dear, &cheap, &strange, &wide] {
            assert_eq!(StoredHash::parse(text), None, "{text}");
        }
    }
}
