//! Statements that end tokens and sessions, or keep sessions valid when the tokens of their user are revoked.
//!
//! Most of them run in the transaction that changes the user.

use super::rows::{RETURNING_TOKEN, last_use, owner_condition};
use crate::{
    audit::Requested,
    change::{Rename, SessionEnd, TokenChange, TokenSelection},
    principal::Principal,
    store::{
        StoreError, WriteError,
        locked_rows::AdminCount,
        user_store::{
            UserStore, encoding::encode_seconds, locked_writes::Guard, user_rows::SELECT_USERS,
        },
    },
    tokens::{OpaqueToken, TokenKind},
};
use rolegate_sql_store::Statement;
use std::{ops::Range, sync::Arc};

/// Ends the sessions of all users, and also their API keys if `$1` is true.
pub(in crate::store) const END_ALL_SESSIONS: &str =
    "DELETE FROM api_key WHERE session_user_id IS NOT NULL OR $1";
/// Delete the password links and the pending sign-ins of all users.
pub(in crate::store) const END_ALL_OTHER_TOKENS: [&str; 2] =
    ["DELETE FROM password_link", "DELETE FROM pending_sign_in"];

/// Continues a condition that selects tokens: all but `$2` and the other session of its sign-in.
const ALL_BUT: &str = " AND id <> $2
    AND NOT coalesce(pair_id = (SELECT pair_id FROM api_key WHERE id = $2), false)";

/// Begins a statement that keeps sessions of the user `$1` valid, because they get the new `tokens_not_before` of the
/// user. The condition that selects the sessions follows.
const KEEP_SESSIONS: &str = r#"UPDATE api_key
    SET not_before = (SELECT tokens_not_before FROM "user" WHERE "user".id = $1)
    WHERE session_user_id = $1 AND "#;

/// Continues a condition: the session by which the principal acts, if there is one, has not ended.
pub(in crate::store::user_store) fn push_session_exists(
    statement: Statement,
    by: &Principal,
) -> Statement {
    let Some(session_id) = by.session_id() else {
        return statement;
    };
    statement
        .push(" AND EXISTS (SELECT 1 FROM api_key WHERE api_key.id = ")
        .push_bind(session_id)
        .push(")")
}

impl UserStore {
    /// Deletes the selected tokens of a user, and returns them.
    pub(super) async fn delete_tokens(
        &self,
        request: &Arc<Requested<TokenChange>>,
        kind: TokenKind,
        user_id: i64,
        selection: TokenSelection,
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        let delete = self
            .database
            .statement("DELETE FROM api_key WHERE ")
            .push(owner_condition(kind))
            .bind(user_id);
        let delete = match selection {
            TokenSelection::One(id) => delete
                .push(
                    " AND (id = $2 OR pair_id = (SELECT pair_id FROM api_key
                    WHERE id = $2 AND session_user_id = $1))",
                )
                .bind(id),
            TokenSelection::All => delete,
            TokenSelection::AllBut(id) => delete.push(ALL_BUT).bind(id),
        };
        let delete = delete.push(RETURNING_TOKEN);
        let record = self.record_tokens(request, Vec::new());
        let actor = request.by.admin_id();
        let guard = match actor {
            Some(_) => Guard::Admins(user_id, AdminCount::Kept),
            // The user's row is locked first. So a change that the user has begun with one of these tokens either
            // commits before the token is deleted, or fails.
            None => Guard::User(user_id),
        };
        self.write_guarded(guard, actor, delete, record).await
    }

    /// Deletes the sessions with these digests and, if `extent` says so, the other sessions of their sign-ins. Returns the
    /// deleted sessions.
    pub(super) async fn end_sessions_by_digest(
        &self,
        request: &Arc<Requested<TokenChange>>,
        digests: &[String],
        extent: SessionEnd,
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        // The rows of the users are locked first. So a change that a user has begun with one of these sessions either
        // commits before the session is deleted, or fails.
        let lock = self
            .database
            .statement(SELECT_USERS)
            .push(" WHERE id IN (SELECT session_user_id FROM api_key WHERE digest")
            .push_any(digests)
            .push(") ORDER BY id");
        let mut delete = self
            .database
            .statement(
                "DELETE FROM api_key WHERE session_user_id IS NOT NULL AND id IN (
                    SELECT id FROM api_key WHERE digest",
            )
            .push_any(digests);
        if extent == SessionEnd::WithPairs {
            delete = delete
                .push(
                    " UNION SELECT pair.id FROM api_key AS one JOIN api_key AS pair
                        ON pair.session_user_id = one.session_user_id AND pair.pair_id = one.pair_id
                    WHERE one.digest",
                )
                .push_any(digests);
        }
        let delete = delete.push(")").push(RETURNING_TOKEN);
        let record = self.record_tokens(request, Vec::new());
        Ok(self.database.write_locked(lock, delete, record).await?)
    }

    /// Deletes the sessions with these ids whose last use, in Unix seconds, is outside of the range.
    pub(super) async fn delete_sessions_not_used(
        &self,
        ids: &[i64],
        active_range: Range<u64>,
    ) -> Result<(), StoreError> {
        let delete = self
            .database
            .statement(concat!(
                "DELETE FROM api_key WHERE session_user_id IS NOT NULL AND ",
                last_use!(),
                " NOT BETWEEN $1 AND $2 AND id"
            ))
            .bind(encode_seconds(active_range.start))
            // `BETWEEN` includes its end; the range does not.
            .bind(encode_seconds(active_range.end) - 1)
            .push_any(ids)
            .push(" RETURNING id");
        self.database.execute(delete).await.map(drop)
    }

    /// Returns the statement that ends all sessions of a user.
    pub(in crate::store::user_store) fn end_sessions(&self, user_id: i64) -> Statement {
        self.database
            .statement("DELETE FROM api_key WHERE session_user_id = $1")
            .bind(user_id)
    }

    /// Returns the statements that end the sessions of a user, except for the session by which the principal acts and
    /// the other session of its sign-in. These two stay valid, because they get the user's new `tokens_not_before`.
    pub(in crate::store::user_store) fn end_other_sessions(
        &self,
        user_id: i64,
        by: &Principal,
    ) -> Vec<Statement> {
        let end = self.end_sessions(user_id);
        let Some(session_id) = by.session_id() else {
            return vec![end];
        };
        let keep = self
            .database
            .statement(KEEP_SESSIONS)
            .push("(id = $2 OR pair_id = (SELECT pair_id FROM api_key WHERE id = $2))")
            .bind(user_id)
            .bind(session_id);
        vec![end.push(ALL_BUT).bind(session_id), keep]
    }

    /// Returns the statement that keeps the valid sessions of a renamed user, by changing their `not_before` from
    /// `old_not_before`, the old `tokens_not_before` of the user, to the new one.
    pub(in crate::store::user_store) fn continue_sessions(
        &self,
        user_id: i64,
        old_not_before: u64,
    ) -> Statement {
        self.database
            .statement(KEEP_SESSIONS)
            .push("not_before = $2")
            .bind(user_id)
            .bind(encode_seconds(old_not_before))
    }

    /// Returns the statement that renames the user in the API keys that they created for other users. Keys that are
    /// older than the user are left, because another user had the name when they were created.
    pub(in crate::store::user_store) fn rename_key_creator(
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
