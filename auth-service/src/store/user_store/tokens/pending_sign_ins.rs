//! The condition under which a code can still complete a pending sign-in. The password of such a sign-in was right, and
//! the code of the second factor is still missing.

use crate::store::user_store::user_rows::IS_ACTIVE;
use rolegate_sql_store::Statement;

/// Continues a `SELECT` with the user of the pending sign-in that has this digest, if a code can still complete it.
pub(in crate::store::user_store) fn push_from_pending_sign_in(
    select: Statement,
    digest: &str,
) -> Statement {
    select
        .push(
            r#" FROM "user" JOIN pending_sign_in ON user_id = id AND not_before = tokens_not_before
            WHERE second_factor AND expires_at > $NOW AND "#,
        )
        .push(IS_ACTIVE)
        .push(" AND digest = ")
        .push_bind(digest)
}
