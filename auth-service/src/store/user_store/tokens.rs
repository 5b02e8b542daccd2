//! API keys, sessions, password links and pending sign-ins, each of which belongs to one user.
//!
//! `insertion` inserts tokens, `rows` decodes them, and `ending` ends tokens and keeps sessions.
//! `password_links` inserts and deletes password links, and `pending_sign_ins` has the condition that several statements
//! about pending sign-ins share. `revocation` moves the time before which tokens are not valid.
//!
//! The table is named `api_key`, because API keys came first. A session has `session_user_id` in place of `user_id`, so
//! that replicas of the previous release do not mistake it for a key.

pub(in crate::store) mod ending;
mod insertion;
mod password_links;
pub(super) mod pending_sign_ins;
pub(in crate::store) mod revocation;
mod rows;

use super::{
    UserStore,
    encoding::encode_seconds,
    locked_writes::Guard,
    usage_pauses::read_pauses,
    user_rows::{IS_ACTIVE, USER_COLUMNS, push_deciding_columns},
};
use crate::{
    audit::Requested,
    change::TokenChange,
    store::{StoreError, UsagePause, WriteError},
    tokens::{
        MAX_PENDING_SIGN_INS, OpaqueToken, PENDING_SIGN_IN_SECONDS, StoredPasswordLink,
        TokenBearer, TokenKind,
    },
    user::User,
};
use pending_sign_ins::push_from_pending_sign_in;
use rolegate_proto::GroupName;
use rolegate_sql_store::{FollowUp, Timed};
use rows::{BEARERS, SELECT_TOKENS, owner_condition};
use std::{ops::Range, sync::Arc};

fn sort_by_id(mut tokens: Vec<OpaqueToken>) -> Vec<OpaqueToken> {
    tokens.sort_unstable_by_key(|token| token.id);
    tokens
}

impl UserStore {
    /// Makes a change of tokens under the condition of its principal, and records it. Returns the changed tokens by
    /// ascending id.
    ///
    /// Without the condition, a stolen token could create another token after the logout that was meant to revoke it,
    /// and an old password could create a session.
    pub(crate) async fn change_tokens(
        &self,
        request: Arc<Requested<TokenChange>>,
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        let changed = match &request.change {
            TokenChange::Create(new) => self.insert_tokens(&request, new).await?,
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

    /// Reads the tokens with these digests at one moment, each with its user, for decisions that require these groups.
    /// Returns them in any order, and omits unknown digests.
    pub(crate) async fn tokens_by_digest(
        &self,
        digests: &[String],
        required: &[GroupName],
    ) -> Result<Timed<Vec<TokenBearer>>, StoreError> {
        let select = push_deciding_columns(self.database.statement("SELECT "), required)
            .push(BEARERS)
            .push_any(digests)
            .push(r#") AS t JOIN "user" ON id = user_id"#);
        self.database.read_timed(select).await
    }

    /// Returns the tokens of a user by ascending id.
    pub(crate) async fn tokens_of_user(
        &self,
        kind: TokenKind,
        user_id: i64,
    ) -> Result<Timed<Vec<OpaqueToken>>, StoreError> {
        let select = self
            .database
            .statement(SELECT_TOKENS)
            .push(" WHERE ")
            .push(owner_condition(kind))
            .bind(user_id);
        Ok(self.database.read_timed(select).await?.map(sort_by_id))
    }

    /// Inserts a pending sign-in of this user, whose password was verified at the time `user.at`. Also deletes the
    /// user's expired pending sign-ins, and the oldest ones beyond [`MAX_PENDING_SIGN_INS`]. Fails if the user is
    /// disabled, if the second factor is off, or if the user's tokens were revoked since `user` was read.
    pub(crate) async fn insert_pending_sign_in(
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
                WHERE id = $1 AND tokens_not_before = $3 AND second_factor AND "#,
            )
            .push(IS_ACTIVE)
            .push(" RETURNING user_id")
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

    /// Returns the user of the pending sign-in with this digest; `None` if there is none that a code can complete. A
    /// pending sign-in ends after [`PENDING_SIGN_IN_SECONDS`], when it is used, when the tokens of the user are
    /// revoked, and when the second factor is turned off or enrolled again.
    pub(crate) async fn pending_sign_in(
        &self,
        digest: &str,
    ) -> Result<Timed<Option<User>>, StoreError> {
        let select = self.database.statement("SELECT ").push(USER_COLUMNS);
        self.read_one(push_from_pending_sign_in(select, digest))
            .await
    }

    /// Returns the link with this digest, even if it has expired or its user is disabled; `None` if there is no such
    /// link.
    pub(crate) async fn password_link(
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

    /// Restricts these sessions to cookies. From then on, the API does not accept them as bearer tokens.
    pub(crate) async fn restrict_to_cookies(&self, ids: &[i64]) -> Result<(), StoreError> {
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

    /// Deletes the sessions with these ids whose last use, in Unix seconds, is outside `active_range`.
    ///
    /// Returns the given ids that no session has any more, whether this call or an earlier write deleted the session.
    /// The deletions are not recorded, because no user made them: the sessions ended for lack of use. If this call
    /// fails with [`StoreError::ReadOnly`], uses cannot be written either, and [`Self::unwritten_since`] returns a time
    /// from then on.
    pub(crate) async fn delete_idle_sessions(
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

    /// Returns the latest usage pauses that are over. During each of them, uses of tokens could not be written.
    pub(crate) async fn usage_pauses(&self) -> Result<Vec<UsagePause>, StoreError> {
        read_pauses(&self.database).await
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
