//! Statements about pending sign-ins, for which the password was right and the code of the second factor is still
//! missing.

use rolegate_sql_store::Statement;

/// Inserts a pending sign-in of the user `$1`, with the digest `$2`, which expires at `$4`. Inserts nothing if the
/// user's `tokens_not_before` is not `$3`, if the second factor is off, or if the user is disabled.
pub(super) const INSERT_PENDING: &str = r#"INSERT INTO pending_sign_in (digest, user_id, not_before, expires_at)
    SELECT $2, id, tokens_not_before, $4 FROM "user"
    WHERE id = $1 AND tokens_not_before = $3 AND second_factor AND NOT disabled RETURNING user_id"#;

/// Deletes the pending sign-ins of the user `$1` that have expired at the time `$3`. Of the others, keeps the new one,
/// which has the digest `$2`, and the `$4` newest ones beside it.
pub(super) const END_PENDING: &str =
    "DELETE FROM pending_sign_in WHERE user_id = $1 AND digest <> $2
    AND (expires_at <= $3 OR digest NOT IN (SELECT digest FROM pending_sign_in
        WHERE user_id = $1 AND digest <> $2 ORDER BY expires_at DESC LIMIT $4))";

/// Continues a `SELECT` with the user of the pending sign-in that has this digest, if a code can still complete it.
pub(super) fn push_from_pending_sign_in(select: Statement, digest: &str) -> Statement {
    select
        .push(
            r#" FROM "user" JOIN pending_sign_in ON user_id = id AND not_before = tokens_not_before
            WHERE second_factor AND NOT disabled AND expires_at > $NOW AND digest = "#,
        )
        .push_bind(digest)
}
