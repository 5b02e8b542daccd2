//! What may be the id of a request, and new ones.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    str::FromStr,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// Names one request in the logs of every program that worked for it: 1 to 64 letters, digits and
/// characters of `-_.:+/=@`. Copied, never allocated: every request has one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RequestId {
    text: [u8; RequestId::LONGEST_BYTES],
    length: u8,
}

/// The text cannot be the id of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidRequestId;

impl RequestId {
    /// Longer texts are no ids.
    pub const LONGEST_BYTES: usize = 64;

    /// A new id of 128 bits, as 32 hexadecimal digits. Nobody's secret, but unlike any other: a
    /// counter under two functions whose keys the system drew for this process.
    #[must_use]
    pub fn new_random() -> Self {
        static KEYS: LazyLock<[RandomState; 2]> =
            LazyLock::new(|| [RandomState::new(), RandomState::new()]);
        static COUNT: AtomicU64 = AtomicU64::new(0);
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut text = [0; Self::LONGEST_BYTES];
        for (key, half) in KEYS.iter().zip(text.chunks_mut(16)) {
            let mut bits = key.hash_one(count);
            for digit in half {
                bits = bits.rotate_left(4);
                *digit = DIGITS[usize::try_from(bits & 0xf).unwrap_or_default()];
            }
        }
        Self { text, length: 32 }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.text[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl FromStr for RequestId {
    type Err = InvalidRequestId;

    fn from_str(text: &str) -> Result<Self, InvalidRequestId> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:+/=@".contains(&byte);
        let length = u8::try_from(text.len()).map_err(|_| InvalidRequestId)?;
        let mut id = Self { text: [0; Self::LONGEST_BYTES], length };
        let place = id.text.get_mut(..text.len()).ok_or(InvalidRequestId)?;
        if text.is_empty() || !text.bytes().all(is_allowed) {
            return Err(InvalidRequestId);
        }
        place.copy_from_slice(text.as_bytes());
        Ok(id)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RequestId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::RequestId;
    use std::collections::HashSet;

    #[test]
    fn an_id_is_short_and_has_no_character_that_a_log_could_stumble_over() {
        let longest = "x".repeat(64);
        for good in ["a", "0f8fad5b-d9cb-469f-a165-70867728950e", "Root=1-67/x:y.z_@+", &longest] {
            assert_eq!(good.parse::<RequestId>().expect(good).as_str(), good);
        }
        let too_long = "x".repeat(65);
        let far_too_long = "x".repeat(1000);
        for bad in
            ["", " ", "a b", "a,b", "a\nb", "\u{1b}[31m", "é", "a\"b", &too_long, &far_too_long]
        {
            assert!(bad.parse::<RequestId>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn new_ids_are_all_different_and_are_ids() {
        let ids: HashSet<String> =
            (0..10_000).map(|_| RequestId::new_random().to_string()).collect();
        assert_eq!(ids.len(), 10_000);
        for id in ids {
            assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
            assert_eq!(id.parse::<RequestId>().expect("an id").as_str(), id);
        }
    }
}
