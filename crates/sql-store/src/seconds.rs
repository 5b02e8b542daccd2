//! Decodes times, which the columns of a database have as signed integers.

/// Decodes a time in Unix seconds. Fails if the stored number is negative.
pub fn decode_seconds(stored: i64) -> sqlx::Result<u64> {
    stored
        .try_into()
        .map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// Decodes a time in Unix seconds, or `NULL`. Fails if the stored number is negative.
pub fn decode_optional_seconds(stored: Option<i64>) -> sqlx::Result<Option<u64>> {
    stored.map(decode_seconds).transpose()
}
