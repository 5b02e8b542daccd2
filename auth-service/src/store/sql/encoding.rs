//! Converts times and counts to the signed integers in the columns of the database, and back.

/// Encodes a time in Unix seconds. A time that is too late for the column becomes the latest possible one.
pub(in crate::store) fn encode_seconds(seconds: u64) -> i64 {
    seconds.try_into().unwrap_or(i64::MAX)
}

/// Decodes a time in Unix seconds. Fails if the stored number is negative.
pub(in crate::store) fn decode_seconds(stored: i64) -> sqlx::Result<u64> {
    stored
        .try_into()
        .map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// Decodes a time in Unix seconds, or `NULL`. Fails if the stored number is negative.
pub(in crate::store) fn decode_optional_seconds(stored: Option<i64>) -> sqlx::Result<Option<u64>> {
    stored.map(decode_seconds).transpose()
}

/// Encodes a count for a comparison or a `LIMIT` in a statement.
pub(in crate::store) fn encode_count(count: usize) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}
