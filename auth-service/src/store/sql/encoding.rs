//! Converts times and counts to the signed integers in the columns of the database, and back.

/// Encodes Unix seconds.
pub(in crate::store) fn encode_seconds(seconds: u64) -> i64 {
    seconds.try_into().unwrap_or(i64::MAX)
}

/// Decodes Unix seconds.
pub(in crate::store) fn decode_seconds(stored: i64) -> sqlx::Result<u64> {
    stored
        .try_into()
        .map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// Decodes Unix seconds that may be missing.
pub(in crate::store) fn decode_optional_seconds(stored: Option<i64>) -> sqlx::Result<Option<u64>> {
    stored.map(decode_seconds).transpose()
}

/// Encodes a count.
pub(in crate::store) fn encode_count(count: usize) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}
