//! Names the entries of request metadata (the headers of gRPC), reads entries that must not be ambiguous, and defines
//! the id of a request.

use std::{fmt, str::FromStr};
use uuid::Uuid;

/// The credential of the actor, as `Bearer <token>` (RFC 6750, section 2.1).
pub const AUTHORIZATION: &str = "authorization";

/// The IPv4 or IPv6 address of the end user. Services accept it only from trusted callers.
pub const CLIENT_ADDRESS: &str = "x-client-address";

/// The [`RequestId`] of the request that a call serves. If several requests share a call, the entry has several
/// ids, separated by commas. Services accept it only from trusted callers.
pub const REQUEST_ID: &str = "x-request-id";

/// Returns the value of an entry or of an HTTP header that occurs exactly once. A repeated one is treated as absent,
/// because it means different things to different programs.
pub fn only_value<T>(values: impl IntoIterator<Item = T>) -> Option<T> {
    let mut values = values.into_iter();
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

/// Identifies a request in the logs of every program that handles it.
///
/// An id has 1 to 64 letters, digits and characters of `-_.:+/=@`. It is stored without a heap allocation,
/// because every request has one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RequestId {
    /// The id, padded with NUL.
    text: [u8; RequestId::MAX_LEN],
    length: u8,
}

/// The error for a text that is not a valid request id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a request id")]
pub struct InvalidRequestId;

impl RequestId {
    /// The maximum length of an id, in bytes.
    pub const MAX_LEN: usize = 64;

    /// Generates a random id of 32 hexadecimal digits.
    #[must_use]
    pub fn new_random() -> Self {
        let mut text = [0; Self::MAX_LEN];
        let length = Uuid::new_v4().simple().encode_lower(&mut text).len();
        Self {
            text,
            length: u8::try_from(length).unwrap_or_default(),
        }
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.text[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl FromStr for RequestId {
    type Err = InvalidRequestId;

    fn from_str(text: &str) -> Result<Self, InvalidRequestId> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:+/=@".contains(&byte);
        let is_id = (1..=Self::MAX_LEN).contains(&text.len()) && text.bytes().all(is_allowed);
        if !is_id {
            return Err(InvalidRequestId);
        }
        let mut padded = [0; Self::MAX_LEN];
        padded[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Self {
            text: padded,
            length: u8::try_from(text.len()).map_err(|_| InvalidRequestId)?,
        })
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
    fn ids_are_short_and_safe_in_logs() {
        let longest = "x".repeat(64);
        for good in [
            "a",
            "0f8fad5b-d9cb-469f-a165-70867728950e",
            "Root=1-67/x:y.z_@+",
            &longest,
        ] {
            assert_eq!(good.parse::<RequestId>().expect(good).as_str(), good);
        }
        let too_long = "x".repeat(65);
        let far_too_long = "x".repeat(1000);
        for bad in [
            "",
            " ",
            "a b",
            "a,b",
            "a\nb",
            "\u{1b}[31m",
            "é",
            "a\"b",
            &too_long,
            &far_too_long,
        ] {
            assert!(bad.parse::<RequestId>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn new_ids_are_valid_and_unique() {
        let ids: HashSet<String> = (0..10_000)
            .map(|_| RequestId::new_random().to_string())
            .collect();
        assert_eq!(ids.len(), 10_000);
        for id in ids {
            assert!(
                id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{id}"
            );
            assert_eq!(id.parse::<RequestId>().expect("an id").as_str(), id);
        }
    }
}
