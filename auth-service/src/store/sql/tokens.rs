//! Implements `TokenStore`: API keys and sessions in an SQL database.
//!
//! `insertion` inserts tokens, `rows` decodes them, and `ending` ends or keeps the sessions of a user who is changed.
//! `password_links` and `pending_sign_ins` have the statements of the other tokens, and `revocation` moves the time
//! before which tokens are not valid.
//!
//! The table is named `api_key`, because API keys came first. A session has `session_user_id` in place of `user_id`, so
//! that replicas of the previous release do not mistake it for a key.

mod ending;
mod insertion;
mod password_links;
pub(super) mod pending_sign_ins;
pub(in crate::store) mod revocation;
mod rows;

use super::{
    encoding::encode_seconds,
    locked_writes::Guard,
    sql_store::SqlStore,
    usage_pauses::read_pauses,
    user_rows::{SELECT_USERS, USER_COLUMNS},
};
use crate::{
    audit::Requested,
    change::{SessionEnd, TokenChange, TokenSelection},
    store::{StoreError, TokenStore, UsageKind, UsagePause, WriteError, locked_rows::AdminCount},
    tokens::{
        MAX_PENDING_SIGN_INS, OpaqueToken, PENDING_SIGN_IN_SECONDS, StoredPasswordLink,
        TokenBearer, TokenKind,
    },
    user::User,
};
use async_trait::async_trait;
use insertion::NewTokens;
use pending_sign_ins::push_from_pending_sign_in;
use rolegate_sql_store::{FollowUp, Timed};
use rows::{BEARERS, RETURNING_TOKEN, SELECT_TOKENS, last_use};
use std::{ops::Range, sync::Arc};

/// Returns the condition that selects the tokens of this kind that belong to the user `$1`.
fn belong_to_user(kind: TokenKind) -> &'static str {
    match kind {
        TokenKind::ApiKey => "user_id = $1",
        TokenKind::Session => "session_user_id = $1",
    }
}

fn sort_by_id(mut tokens: Vec<OpaqueToken>) -> Vec<OpaqueToken> {
    tokens.sort_unstable_by_key(|token| token.id);
    tokens
}

#[async_trait]
impl TokenStore for SqlStore {
    async fn change_tokens(
        &self,
        request: Arc<Requested<TokenChange>>,
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        let changed = match &request.change {
            TokenChange::Create {
                user_id,
                kind,
                created_at,
                tokens,
            } => {
                let new = NewTokens {
                    user_id: *user_id,
                    kind: *kind,
                    created_at: *created_at,
                    tokens,
                };
                self.insert_tokens(&request, &new).await?
            }
            TokenChange::Delete {
                kind,
                user_id,
                selection,
            } => {
                self.delete_tokens(&request, *kind, *user_id, *selection)
                    .await?
            }
            TokenChange::EndSessions { digests, extent } => {
                self.end_sessions_by_digest(&request, digests, *extent)
                    .await?
            }
        };
        Ok(sort_by_id(changed))
    }

    async fn tokens_by_digest(
        &self,
        digests: &[String],
    ) -> Result<Timed<Vec<TokenBearer>>, StoreError> {
        let select = self
            .database
            .statement("SELECT ")
            .push(USER_COLUMNS)
            .push(BEARERS)
            .push_any(digests)
            .push(r#") AS t JOIN "user" ON id = user_id"#);
        self.database.read_timed(select).await
    }

    async fn tokens_of_user(
        &self,
        kind: TokenKind,
        user_id: i64,
    ) -> Result<Timed<Vec<OpaqueToken>>, StoreError> {
        let select = self
            .database
            .statement(SELECT_TOKENS)
            .push(" WHERE ")
            .push(belong_to_user(kind))
            .bind(user_id);
        Ok(self.database.read_timed(select).await?.map(sort_by_id))
    }

    async fn insert_pending_sign_in(
        &self,
        user: &Timed<User>,
        digest: String,
    ) -> Result<(), WriteError> {
        let Timed { at, value: user } = user;
        let insert = self
            .database
            .statement(
                r#"INSERT INTO pending_sign_in (digest, user_id, not_before, expires_at)
                SELECT $2, id, tokens_not_before, $4 FROM "user"
                WHERE id = $1 AND tokens_not_before = $3 AND second_factor AND NOT disabled RETURNING user_id"#,
            )
            .bind(user.id)
            .bind(&*digest)
            .bind(encode_seconds(user.tokens_not_before))
            .bind(encode_seconds(at + PENDING_SIGN_IN_SECONDS));
        // This statement deletes the expired pending sign-ins. Of the others, it keeps the new one and the newest ones
        // beside it.
        let end = self
            .database
            .statement(
                "DELETE FROM pending_sign_in WHERE user_id = $1 AND digest <> $2
                AND (expires_at <= $3 OR digest NOT IN (SELECT digest FROM pending_sign_in
                    WHERE user_id = $1 AND digest <> $2 ORDER BY expires_at DESC LIMIT $4))",
            )
            .bind(user.id)
            .bind(digest)
            .bind(encode_seconds(*at))
            .bind(MAX_PENDING_SIGN_INS - 1);
        let end = FollowUp::<i64>::fixed(vec![end]);
        let guard = Guard::User(user.id);
        let inserted = self.write_guarded(guard, None, insert, end).await?;
        if inserted.is_empty() {
            return Err(WriteError::UserNotFound);
        }
        Ok(())
    }

    async fn pending_sign_in(&self, digest: &str) -> Result<Timed<Option<User>>, StoreError> {
        let select = self.database.statement("SELECT ").push(USER_COLUMNS);
        self.read_one(push_from_pending_sign_in(select, digest))
            .await
    }

    async fn password_link(
        &self,
        digest: &str,
    ) -> Result<Timed<Option<StoredPasswordLink>>, StoreError> {
        let select = self
            .database
            .statement("SELECT ")
            .push(USER_COLUMNS)
            .push(r#", expires_at FROM "user" JOIN password_link ON user_id = id WHERE digest = "#)
            .push_bind(digest);
        self.read_one(select).await
    }

    async fn restrict_to_cookies(&self, ids: &[i64]) -> Result<(), StoreError> {
        // All writes lock rows by ascending id, so that they do not deadlock.
        let lock = self
            .database
            .statement("SELECT id FROM api_key WHERE id")
            .push_any(ids)
            .push(" ORDER BY id");
        let restrict = self
            .database
            .statement(
                "UPDATE api_key SET cookie_only = $1 WHERE session_user_id IS NOT NULL AND id",
            )
            .bind(true)
            .push_any(ids)
            .push(" RETURNING id");
        let nothing = FollowUp::<i64>::none();
        let restricted = self.database.write_locked(lock, restrict, nothing);
        restricted.await.map(drop)
    }

    async fn delete_idle_sessions(
        &self,
        ids: &[i64],
        active_range: Range<u64>,
    ) -> Result<Vec<i64>, StoreError> {
        let deleted = self.delete_sessions_not_used(ids, active_range).await;
        if let Err(StoreError::ReadOnly(_)) = deleted {
            self.token_usage.note_failure(&self.database).await;
        }
        deleted?;
        // The deletion alone does not tell which sessions are gone. Another request may have deleted some of them
        // before, and the deletion skips sessions whose recent use another replica has stored.
        self.missing_tokens(ids).await
    }

    fn note_use(&self, kind: UsageKind, id: i64, at: u64) {
        self.usage(kind).note(id, at);
    }

    fn unwritten_use(&self, kind: UsageKind, id: i64) -> Option<u64> {
        self.usage(kind).unwritten(id)
    }

    fn unwritten_since(&self) -> Option<u64> {
        self.token_usage.failing_since()
    }

    async fn usage_pauses(&self) -> Result<Vec<UsagePause>, StoreError> {
        read_pauses(&self.database).await
    }
}

impl SqlStore {
    async fn delete_tokens(
        &self,
        request: &Arc<Requested<TokenChange>>,
        kind: TokenKind,
        user_id: i64,
        selection: TokenSelection,
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        let delete = self
            .database
            .statement("DELETE FROM api_key WHERE ")
            .push(belong_to_user(kind))
            .bind(user_id);
        let delete = match selection {
            TokenSelection::One(id) => delete
                .push(
                    " AND (id = $2 OR pair_id = (SELECT pair_id FROM api_key
                    WHERE id = $2 AND session_user_id = $1))",
                )
                .bind(id),
            TokenSelection::All => delete,
            TokenSelection::AllBut(id) => delete
                .push(
                    " AND id <> $2
                    AND NOT coalesce(pair_id = (SELECT pair_id FROM api_key WHERE id = $2), false)",
                )
                .bind(id),
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

    async fn end_sessions_by_digest(
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
    async fn delete_sessions_not_used(
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

    /// Returns the ids in `ids` that no token has.
    async fn missing_tokens(&self, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
        let select = self
            .database
            .statement("SELECT id FROM api_key WHERE id")
            .push_any(ids);
        let existing: Vec<i64> = self.database.read(select).await?;
        let mut missing = ids.to_vec();
        missing.retain(|id| !existing.contains(id));
        Ok(missing)
    }
}
