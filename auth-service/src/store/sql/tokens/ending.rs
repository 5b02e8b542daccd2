//! Statements that end the sessions of a user or keep them valid, and that rename the creator of API keys. They run in
//! the transaction that changes the user.

use crate::{
    change::Rename,
    store::sql::{encoding::encode_seconds, sql_store::SqlStore},
};
use rolegate_sql_store::Statement;

impl SqlStore {
    /// Returns the statements that end the sessions of the user. The session `except` and the other session of its
    /// sign-in stay valid, because they get the user's new `tokens_not_before`.
    pub(in crate::store::sql) fn end_sessions(
        &self,
        user_id: i64,
        except: Option<i64>,
    ) -> Vec<Statement> {
        let statement = |sql| self.database.statement(sql).bind(user_id).bind(except);
        let mut statements = vec![statement(
            "DELETE FROM api_key WHERE session_user_id = $1 AND ($2 IS NULL
            OR id <> $2 AND NOT coalesce(pair_id = (SELECT pair_id FROM api_key WHERE id = $2), false))",
        )];
        if except.is_some() {
            statements.push(statement(
                r#"UPDATE api_key
            SET not_before = (SELECT tokens_not_before FROM "user" WHERE "user".id = $1)
            WHERE session_user_id = $1
                AND (id = $2 OR pair_id = (SELECT pair_id FROM api_key WHERE id = $2))"#,
            ));
        }
        statements
    }

    /// Returns the statement that keeps the valid sessions of a renamed user, by changing their `not_before` from
    /// `old_not_before`, the old `tokens_not_before` of the user, to the new one.
    pub(in crate::store::sql) fn continue_sessions(
        &self,
        user_id: i64,
        old_not_before: u64,
    ) -> Statement {
        self.database
            .statement(
                r#"UPDATE api_key
            SET not_before = (SELECT tokens_not_before FROM "user" WHERE "user".id = $1)
            WHERE session_user_id = $1 AND not_before = $2"#,
            )
            .bind(user_id)
            .bind(encode_seconds(old_not_before))
    }

    /// Returns the statement that renames the user in the API keys that they created for other users. Keys that are
    /// older than the user are left, because another user had the name when they were created.
    pub(in crate::store::sql) fn rename_key_creator(
        &self,
        user_id: i64,
        rename: &Rename,
    ) -> Statement {
        self.database
            .statement(
                r#"UPDATE api_key SET created_by = $3 WHERE created_by = $2
            AND created_at >= coalesce((SELECT created_at FROM "user" WHERE "user".id = $1), 0)"#,
            )
            .bind(user_id)
            .bind(&*rename.from.name)
            .bind(rename.to.as_str())
    }
}
