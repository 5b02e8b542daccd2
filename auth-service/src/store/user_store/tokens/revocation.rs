//! The ways in which a revocation moves `tokens_not_before`, the time before which tokens are not valid.

use crate::store::user_store::encoding::encode_seconds;
use crate::tokens::{MAX_CLOCK_SETBACK_SECONDS, MAX_ISSUE_AHEAD_SECONDS, REVOCATION_AHEAD_SECONDS};
use rolegate_sql_store::Statement;

/// Sets a `tokens_not_before` that is always greater than the old one. [`push_revocation_times`] appends the times
/// `soon` and `latest`.
pub(in crate::store::user_store) const GROW: &str = "tokens_not_before =
    CASE WHEN tokens_not_before < soon THEN soon ELSE tokens_not_before + 1 END";
/// Sets a new `tokens_not_before` as [`GROW`] does, but keeps an old value that is later than the issue time of every
/// possible token.
pub(in crate::store) const REVOKE: &str =
    "tokens_not_before = CASE WHEN tokens_not_before < soon THEN soon
    WHEN tokens_not_before > latest THEN tokens_not_before ELSE tokens_not_before + 1 END";
/// Sets a new `tokens_not_before` as [`GROW`] does, but lowers an old value that is later than the issue time of every
/// possible token.
///
/// When it lowers the value, it also raises `tokens_marked_until`. So tokens from a clock that was ahead stay revoked,
/// because they carry no mark or an earlier one. The new mark is at least a day after the old value, because that clock
/// dates logins at the old value or later.
pub(in crate::store::user_store) const LOWER: &str =
    "tokens_not_before = CASE WHEN tokens_not_before BETWEEN soon AND latest
        THEN tokens_not_before + 1 ELSE soon END,
    tokens_marked_until = CASE WHEN tokens_not_before <= latest THEN tokens_marked_until
        WHEN tokens_marked_until < tokens_not_before + 86400 THEN tokens_not_before + 86400
        ELSE tokens_marked_until + 1 END";

/// Appends a `FROM` that provides the times of a revocation. `soon` is later than the issue time of every token so far,
/// and `latest` is the latest time at which any token can have been issued. The clock is read once, so that both times
/// are based on the same moment.
pub(in crate::store) fn push_revocation_times(update: Statement) -> Statement {
    let soon = encode_seconds(REVOCATION_AHEAD_SECONDS);
    let latest = encode_seconds(MAX_ISSUE_AHEAD_SECONDS + MAX_CLOCK_SETBACK_SECONDS);
    update
        .push(" FROM (SELECT now + ")
        .push_bind(soon)
        .push(" AS soon, now + ")
        .push_bind(latest)
        .push(" AS latest FROM (SELECT $NOW AS now) AS clock) AS revocation")
}
