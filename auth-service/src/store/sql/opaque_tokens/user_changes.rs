//! What a change of a user does to their tokens, in the same transaction.

use crate::store::{
    Rename,
    sql::{encoding::encode_seconds, sql_store::SqlStore},
};
use rolegate_sql_store::Statement;

/// Ends the sessions of the user `$1` except `$2`, if that is given, and the other one of its sign-in.
const END_SESSIONS: &str = "DELETE FROM api_key WHERE session_user_id = $1 AND ($2 IS NULL
            OR id <> $2 AND NOT coalesce(pair_id = (SELECT pair_id FROM api_key WHERE id = $2), false))";

/// Lets the session `$2` and the other one of its sign-in follow the new `tokens_not_before` of the user `$1`.
const KEEP_SESSION: &str = r#"UPDATE api_key
            SET not_before = (SELECT tokens_not_before FROM "user" WHERE "user".id = $1)
            WHERE session_user_id = $1
                AND (id = $2 OR pair_id = (SELECT pair_id FROM api_key WHERE id = $2))"#;

/// Lets the valid sessions of the user `$1` follow the new `tokens_not_before`, which was `$2` before.
const CONTINUE_SESSIONS: &str = r#"UPDATE api_key
            SET not_before = (SELECT tokens_not_before FROM "user" WHERE "user".id = $1)
            WHERE session_user_id = $1 AND not_before = $2"#;

/// Replaces the name `$2` of who made API keys for others by `$3`. Keys from before the user `$1` was made are those of
/// another user, who had the name.
const RENAME_KEY_CREATOR: &str = r#"UPDATE api_key SET created_by = $3 WHERE created_by = $2
            AND created_at >= coalesce((SELECT created_at FROM "user" WHERE "user".id = $1), 0)"#;

impl SqlStore {
    /// Ends the sessions of the user, except one and the other one of its sign-in, which follow the user's new
    /// `tokens_not_before`.
    pub(in crate::store::sql) fn end_sessions(
        &self,
        user_id: i64,
        except: Option<i64>,
    ) -> Vec<Statement> {
        let statement = |sql| self.database.statement(sql).bind(user_id).bind(except);
        let mut statements = vec![statement(END_SESSIONS)];
        if except.is_some() {
            statements.push(statement(KEEP_SESSION));
        }
        statements
    }

    /// Lets the valid sessions of a renamed user follow the user's new `tokens_not_before`.
    pub(in crate::store::sql) fn continue_sessions(
        &self,
        user_id: i64,
        old_not_before: u64,
    ) -> Statement {
        self.database
            .statement(CONTINUE_SESSIONS)
            .bind(user_id)
            .bind(encode_seconds(old_not_before))
    }

    /// Renames the user in the keys that they made for others.
    pub(in crate::store::sql) fn rename_key_creator(
        &self,
        user_id: i64,
        rename: &Rename,
    ) -> Statement {
        self.database
            .statement(RENAME_KEY_CREATOR)
            .bind(user_id)
            .bind(rename.from.as_str())
            .bind(rename.to.as_str())
    }
}
