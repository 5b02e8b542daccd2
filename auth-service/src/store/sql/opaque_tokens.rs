//! Opaque tokens in an SQL database.
//!
//! The table is named after API keys, which came first. A session has `session_user_id` in place of
//! `user_id`, so that replicas of the version before do not take it for a key.

use super::{
    SqlStore,
    additions::{has_room, recent_additions},
    count_to_store, seconds_to_store, stored_seconds,
    token_usage::pauses,
};
use crate::{
    audit::Write,
    opaque_token::{NewToken, OpaqueToken, TokenBearer, TokenKind},
    store::{
        StoreError, TokenSelection, TokenStore, UsagePause, Used, WriteError, Writer,
        tables::COLUMNS,
    },
    user::{Credentials, User},
};
use async_trait::async_trait;
use rolegate_proto::{
    Role,
    limits::{MAX_API_KEYS, MAX_SESSIONS},
};
use rolegate_sql_store::{Statement, Timed};
use sqlx::{Error, FromRow, Row};
use std::ops::Range;

/// The columns of a token, in the order of their rows.
const TOKEN_COLUMNS: &str =
    "id, coalesce(user_id, session_user_id), name, prefix, role, created_at,
    expires_at, last_used_at, not_before, client_address, user_agent, created_by";

/// Ends the sessions for which there is no room, after an insert: those that have ended by themselves, and
/// those that have been idle longest.
const MAKE_ROOM: &str = "DELETE FROM api_key WHERE session_user_id = $1 AND (
    expires_at <= $2 OR id <> (SELECT max(id) FROM api_key WHERE session_user_id = $1) AND id IN (SELECT id FROM api_key WHERE session_user_id = $1 AND expires_at > $2
        ORDER BY coalesce(last_used_at, created_at) DESC, id DESC LIMIT $3 OFFSET $4))";

/// The condition for tokens of this kind, whose user is `$1`.
fn of_user(kind: TokenKind) -> &'static str {
    match kind {
        TokenKind::ApiKey => "user_id = $1",
        TokenKind::Session => "session_user_id = $1",
    }
}

impl SqlStore {
    fn returning_tokens(write: Statement) -> Statement {
        write.push(" RETURNING ").push(TOKEN_COLUMNS)
    }

    /// Ends the sessions of the user, except one, which follows the user's new `tokens_not_before`.
    pub(super) fn end_sessions(&self, user_id: i64, except: Option<i64>) -> Vec<Statement> {
        let end = "DELETE FROM api_key WHERE session_user_id = $1 AND ($2 IS NULL OR id <> $2)";
        let keep = r#"UPDATE api_key
            SET not_before = (SELECT tokens_not_before FROM "user" WHERE "user".id = $1)
            WHERE session_user_id = $1 AND id = $2"#;
        let statement = |sql| self.database.statement(sql).bind(user_id).bind(except);
        [end]
            .into_iter()
            .chain(except.map(|_| keep))
            .map(statement)
            .collect()
    }
}

#[async_trait]
impl TokenStore for SqlStore {
    async fn insert_token(
        &self,
        new: NewToken,
        writer: Writer,
        write: Write,
    ) -> Result<OpaqueToken, WriteError> {
        let NewToken {
            digest,
            stored: token,
            ..
        } = new;
        let (id, actor, kind) = (token.user_id, writer.admin(), token.kind());
        let created_at = seconds_to_store(token.created_at);
        // Statements of their own after the lock: they count what the transaction before has committed.
        let sql =
            "INSERT INTO api_key (user_id, session_user_id, name, prefix, digest, role, created_at,
                expires_at, not_before, client_address, user_agent, created_by)
            SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12
            WHERE (SELECT count(*) FROM api_key WHERE user_id = $1) < $13
                AND ($14 IS NULL OR EXISTS (SELECT 1 FROM api_key WHERE id = $14))";
        let owner = |of| (kind == of).then_some(id);
        let insert = self.database.statement(sql).bind(owner(TokenKind::ApiKey));
        let insert = insert
            .bind(owner(TokenKind::Session))
            .bind(token.name)
            .bind(token.prefix);
        let insert = insert
            .bind(digest)
            .bind(token.role.as_ref().map(Role::as_str));
        let insert = insert
            .bind(created_at)
            .bind(token.expires_at.map(seconds_to_store));
        let insert = insert.bind(token.not_before.map(seconds_to_store));
        let insert = insert.bind(token.client_address).bind(token.user_agent);
        let insert = insert
            .bind(token.created_by)
            .bind(count_to_store(MAX_API_KEYS));
        // The session by which an owner acts.
        let session = writer.session();
        let insert = insert.bind(session);
        let is_limited = !matches!(writer, Writer::Operator);
        let insert = if is_limited {
            has_room(insert.push(" AND "), id)
        } else {
            insert
        };
        let insert = Self::returning_tokens(insert);
        let mut then = vec![self.count_addition(id)];
        if kind == TokenKind::Session {
            let make_room = self.database.statement(MAKE_ROOM).bind(id).bind(created_at);
            let others = i64::from(i32::MAX);
            then.push(make_room.bind(others).bind(count_to_store(MAX_SESSIONS)));
        }
        let lock = self
            .database
            .statement("SELECT ")
            .push(COLUMNS)
            .push(r#", password FROM "user" WHERE "#);
        let lock = lock
            .push("id IN ($1, $2) ORDER BY id")
            .bind(id)
            .bind(actor.unwrap_or(id));
        let check = move |locked: &[Credentials]| writer.may_add_token(locked, id);
        let then = self.record_tokens(write, then);
        if let Some(inserted) = self
            .database
            .write_if(lock, check, insert, then)
            .await?
            .pop()
        {
            return Ok(inserted);
        }
        if let Some(session) = session {
            let session = self
                .database
                .statement("SELECT id FROM api_key WHERE id = $1")
                .bind(session);
            let has_ended = self.database.read::<(i64,)>(session).await?.is_empty();
            if has_ended {
                return Err(WriteError::UserNotFound);
            }
        }
        if is_limited {
            recent_additions(&self.database, id).await?.check()?;
        }
        Err(WriteError::ApiKeyLimit)
    }

    async fn tokens_by_digest(
        &self,
        digests: &[String],
    ) -> Result<Timed<Vec<TokenBearer>>, StoreError> {
        let tokens = ", digest, token_id, token_role, expires_at, used_at, not_before
            FROM (SELECT coalesce(user_id, session_user_id) AS user_id, digest, id AS token_id,
                role AS token_role, expires_at, coalesce(last_used_at, created_at) AS used_at, not_before
                FROM api_key WHERE digest";
        let select = self
            .database
            .statement("SELECT ")
            .push(COLUMNS)
            .push(tokens)
            .push_any(digests);
        let select = select.push(r#") AS t JOIN "user" ON id = user_id"#);
        self.database.read_timed(select).await
    }

    async fn tokens_of_user(
        &self,
        kind: TokenKind,
        user_id: i64,
    ) -> Result<Timed<Vec<OpaqueToken>>, StoreError> {
        let select = self
            .database
            .statement("SELECT ")
            .push(TOKEN_COLUMNS)
            .push(" FROM api_key WHERE ");
        let Timed { at, value } = self
            .database
            .read_timed(select.push(of_user(kind)).bind(user_id))
            .await?;
        Ok(Timed {
            at,
            value: by_id(value),
        })
    }

    async fn delete_tokens(
        &self,
        kind: TokenKind,
        actor: Option<i64>,
        user_id: i64,
        selection: TokenSelection,
        write: Write,
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        let delete = self
            .database
            .statement("DELETE FROM api_key WHERE ")
            .push(of_user(kind))
            .bind(user_id);
        let (condition, id) = match selection {
            TokenSelection::One(id) => (" AND id = $2", Some(id)),
            TokenSelection::AllBut(id) => (" AND ($2 IS NULL OR id <> $2)", id),
        };
        let delete = Self::returning_tokens(delete.push(condition).bind(id));
        let record = self.record_tokens(write, Vec::new());
        if actor.is_some() {
            let deleted = self.write_as_admin(actor, user_id, true, delete, record);
            return Ok(by_id(deleted.await?));
        }
        // After the user's row, so that what the session has begun to write is done or does not happen.
        Ok(by_id(self.write_locked(user_id, delete, record).await?))
    }

    async fn end_sessions_by_digest(
        &self,
        digests: &[String],
        write: Write,
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        // The rows of the users first, so that what the sessions have begun to write is done or does not happen.
        let lock = self
            .select()
            .push(" WHERE id IN (SELECT session_user_id FROM api_key WHERE digest")
            .push_any(digests)
            .push(") ORDER BY id");
        let delete = self
            .database
            .statement("DELETE FROM api_key WHERE session_user_id IS NOT NULL AND digest")
            .push_any(digests);
        let ended = self.database.write_if(
            lock,
            |_: &[User]| Ok::<_, WriteError>(()),
            Self::returning_tokens(delete),
            self.record_tokens(write, Vec::new()),
        );
        Ok(by_id(ended.await?))
    }

    async fn delete_idle_sessions(
        &self,
        ids: &[i64],
        in_use: Range<u64>,
    ) -> Result<Vec<i64>, StoreError> {
        let delete = self
            .database
            .statement("DELETE FROM api_key WHERE session_user_id IS NOT NULL");
        let delete = delete.push(" AND NOT (coalesce(last_used_at, created_at) >= ");
        let delete = delete.push_bind(seconds_to_store(in_use.start));
        let delete = delete.push(" AND coalesce(last_used_at, created_at) < ");
        let delete = delete
            .push_bind(seconds_to_store(in_use.end))
            .push(") AND id");
        let delete = delete.push_any(ids).push(" RETURNING id");
        let deleted = self.database.write::<(i64,)>(delete).await;
        if let Err(StoreError::ReadOnly(_)) = deleted {
            self.token_usage[Used::Token as usize]
                .note_failure(&self.database)
                .await;
        }
        deleted?;
        // Another request may have deleted some of them, and another replica may have noted a use.
        let left = self
            .database
            .statement("SELECT id FROM api_key WHERE id")
            .push_any(ids);
        let left: Vec<(i64,)> = self.database.read(left).await?;
        Ok(ids
            .iter()
            .copied()
            .filter(|id| !left.contains(&(*id,)))
            .collect())
    }

    fn note_use(&self, used: Used, id: i64, at: u64) {
        self.token_usage[used as usize].note(id, at);
    }

    fn noted_use(&self, used: Used, id: i64) -> Option<u64> {
        self.token_usage[used as usize].noted(id)
    }

    fn unwritten_since(&self) -> Option<u64> {
        self.token_usage[Used::Token as usize].failing_since()
    }

    async fn usage_pauses(&self) -> Result<Vec<UsagePause>, StoreError> {
        pauses(&self.database).await
    }
}

fn by_id(mut tokens: Vec<OpaqueToken>) -> Vec<OpaqueToken> {
    tokens.sort_unstable_by_key(|token| token.id);
    tokens
}

type Text = Option<String>;
type Time = Option<i64>;

/// A row of [`TOKEN_COLUMNS`].
type TokenRow = (
    i64,
    i64,
    String,
    String,
    Text,
    i64,
    Time,
    Time,
    Time,
    Text,
    Text,
    Text,
);

/// A row of a user, and what a decision needs of the token.
type BearerRow = (
    i64,
    String,
    String,
    i64,
    bool,
    i64,
    bool,
    Time,
    String,
    i64,
    Text,
    Time,
    i64,
    Time,
);

impl<'r, R: Row> FromRow<'r, R> for OpaqueToken
where
    TokenRow: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (id, user_id, name, prefix, role, created_at, expires_at, last_used_at, own, ..) =
            TokenRow::from_row(row)?;
        let (.., client_address, user_agent, created_by) = TokenRow::from_row(row)?;
        let optional = |seconds: Option<i64>| seconds.map(stored_seconds).transpose();
        Ok(Self {
            id,
            user_id,
            name,
            prefix,
            role: bound(role)?,
            created_at: stored_seconds(created_at)?,
            expires_at: optional(expires_at)?,
            last_used_at: optional(last_used_at)?,
            not_before: optional(own)?,
            client_address,
            user_agent,
            created_by,
        })
    }
}

impl<'r, R: Row> FromRow<'r, R> for TokenBearer
where
    User: FromRow<'r, R>,
    BearerRow: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (.., digest, token_id, role, expires_at, last_used_at, own) = BearerRow::from_row(row)?;
        Ok(Self {
            digest,
            token_id,
            role: bound(role)?,
            expires_at: expires_at.map(stored_seconds).transpose()?,
            last_used_at: stored_seconds(last_used_at)?,
            not_before: own.map(stored_seconds).transpose()?,
            user: User::from_row(row)?,
        })
    }
}

/// An unreadable role is an error: without it the key would grant more.
fn bound(role: Option<String>) -> sqlx::Result<Option<Role>> {
    let role = role.map(|role| role.parse()).transpose();
    role.map_err(|error| Error::Decode(Box::new(error)))
}
