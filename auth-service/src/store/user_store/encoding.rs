//! Converts times and counts to the signed integers in the columns of the database.

/// Encodes a time in Unix seconds. A time that is too late for the column becomes the latest possible one.
pub(in crate::store) fn encode_seconds(seconds: u64) -> i64 {
    seconds.try_into().unwrap_or(i64::MAX)
}

/// Encodes a count for a comparison or a `LIMIT` in a statement.
pub(in crate::store) fn encode_count(count: usize) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}
