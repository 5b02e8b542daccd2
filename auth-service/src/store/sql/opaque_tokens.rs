//! Opaque tokens in an SQL database.
//!
//! The table is named after API keys, which came first. A session has `session_user_id` in place of
//! `user_id`, so that replicas of the version before do not take it for a key.

use super::{
    additions::{has_room, recent_additions},
    encoding::{decode_seconds, encode_count, encode_seconds},
    second_factor::from_pending,
    sql_store::SqlStore,
    token_usage::pauses,
};
use crate::{
    audit::Write,
    opaque_token::{NewToken, OpaqueToken, TokenBearer, TokenKind},
    store::{
        SessionEnd, StoreError, TokenSelection, TokenStore, UsageKind, UsagePause, WriteError,
        Writer, admin_check::AdminCount, tables::COLUMNS,
    },
    user::{Credentials, User},
};
use async_trait::async_trait;
use rolegate_proto::{
    Role,
    limits::{MAX_API_KEYS, MAX_SESSIONS},
};
use rolegate_sql_store::{FollowUp, Statement, Timed};
use serde_json::{Value, json};
use sqlx::{Error, FromRow, Row};
use std::ops::Range;

/// The columns of a token, in the order of their rows.
const TOKEN_COLUMNS: &str =
    "id, coalesce(user_id, session_user_id), name, prefix, role, created_at,
    expires_at, last_used_at, not_before, client_address, user_agent, created_by, cookie_only, pair_id";

/// The columns of a new token, and their types in PostgreSQL.
const NEW_COLUMNS: [(&str, &str); 14] = [
    ("user_id", "bigint"),
    ("session_user_id", "bigint"),
    ("name", "text"),
    ("prefix", "text"),
    ("digest", "text"),
    ("role", "text"),
    ("created_at", "bigint"),
    ("expires_at", "bigint"),
    ("not_before", "bigint"),
    ("client_address", "text"),
    ("user_agent", "text"),
    ("created_by", "text"),
    ("cookie_only", "boolean"),
    ("pair_id", "bigint"),
];

/// Ends the sessions for which there is no room, after an insert: those that have ended by themselves, and
/// those that have been idle longest.
const MAKE_ROOM: &str = "DELETE FROM api_key WHERE session_user_id = $1 AND (
    expires_at <= $2 OR id NOT IN (SELECT id FROM api_key WHERE session_user_id = $1 ORDER BY id DESC LIMIT $5) AND id IN (SELECT id FROM api_key WHERE session_user_id = $1 AND expires_at > $2
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

    /// Ends the sessions of the user, except one and the other one of its sign-in, which follow the user's new
    /// `tokens_not_before`.
    pub(super) fn end_sessions(&self, user_id: i64, except: Option<i64>) -> Vec<Statement> {
        let end = "DELETE FROM api_key WHERE session_user_id = $1 AND ($2 IS NULL
            OR id <> $2 AND NOT coalesce(pair_id = (SELECT pair_id FROM api_key WHERE id = $2), false))";
        let keep = r#"UPDATE api_key
            SET not_before = (SELECT tokens_not_before FROM "user" WHERE "user".id = $1)
            WHERE session_user_id = $1
                AND (id = $2 OR pair_id = (SELECT pair_id FROM api_key WHERE id = $2))"#;
        let statement = |sql| self.database.statement(sql).bind(user_id).bind(except);
        [end]
            .into_iter()
            .chain(except.map(|_| keep))
            .map(statement)
            .collect()
    }
}

impl SqlStore {
    /// Lets the sessions of a renamed user that are good follow the user's new `tokens_not_before`; it was `seen` before.
    pub(super) fn continue_sessions(&self, user_id: i64, seen: i64) -> Statement {
        let sql = r#"UPDATE api_key
            SET not_before = (SELECT tokens_not_before FROM "user" WHERE "user".id = $1)
            WHERE session_user_id = $1 AND not_before = $2"#;
        self.database.statement(sql).bind(user_id).bind(seen)
    }

    /// Renames the maker of API keys for others. Keys from before the user was made are those of somebody else, who had
    /// the name.
    pub(super) fn rename_key_creator(
        &self,
        user_id: i64,
        from: Option<String>,
        to: Option<String>,
    ) -> Statement {
        let sql = r#"UPDATE api_key SET created_by = $3 WHERE created_by = $2
            AND created_at >= coalesce((SELECT created_at FROM "user" WHERE "user".id = $1), 0)"#;
        self.database
            .statement(sql)
            .bind(user_id)
            .bind(from)
            .bind(to)
    }
}

#[async_trait]
impl TokenStore for SqlStore {
    async fn insert_tokens(
        &self,
        tokens: Vec<NewToken>,
        writer: Writer,
        write: Write,
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        let Some(first) = tokens.first().map(|token| &token.stored) else {
            return Ok(Vec::new());
        };
        let (id, kind, added) = (first.user_id, first.kind(), tokens.len());
        let created_at = encode_seconds(first.created_at);
        let (actor, session) = (writer.admin_id(), writer.session_id());
        let rows: Vec<Value> = tokens.iter().map(new_row).collect();
        // Statements of their own after the lock: they count what the transaction before has committed.
        let insert = self
            .database
            .statement(
                "INSERT INTO api_key (user_id, session_user_id, name, prefix, digest, role, created_at,
                    expires_at, not_before, client_address, user_agent, created_by, cookie_only, pair_id)
                SELECT user_id, session_user_id, name, prefix, digest, role, created_at,
                    expires_at, not_before, client_address, user_agent, created_by, cookie_only, pair_id",
            )
            .push_rows(&NEW_COLUMNS, &rows)
            .push(" AND (SELECT count(*) FROM api_key WHERE user_id = ")
            .push_bind((kind == TokenKind::ApiKey).then_some(id))
            .push(") < ")
            .push_bind(encode_count(MAX_API_KEYS));
        // The session by which an owner acts.
        let insert = match session {
            Some(session) => insert
                .push(" AND EXISTS (SELECT 1 FROM api_key WHERE id = ")
                .push_bind(session)
                .push(")"),
            None => insert,
        };
        let mut then: Vec<Statement> = tokens.iter().map(|_| self.count_addition(id)).collect();
        let insert = match &writer {
            Writer::PendingSignIn { digest, .. } => {
                let end = self
                    .database
                    .statement("DELETE FROM pending_sign_in WHERE digest = $1");
                then.push(end.bind(digest.as_str()));
                from_pending(insert.push(" AND EXISTS (SELECT 1"), digest)
                    .push(" AND id = ")
                    .push_bind(id)
                    .push(")")
            }
            _ => insert,
        };
        let is_limited = !matches!(writer, Writer::Operator);
        let insert = if is_limited {
            has_room(insert.push(" AND "), id, added)
        } else {
            insert
        };
        let insert = Self::returning_tokens(insert);
        if kind == TokenKind::Session {
            let make_room = self
                .database
                .statement(MAKE_ROOM)
                .bind(id)
                .bind(created_at)
                .bind(i64::from(i32::MAX))
                .bind(encode_count(MAX_SESSIONS))
                .bind(encode_count(added));
            then.push(make_room);
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
        let check = move |locked: &[Credentials]| writer.check_new_token(locked, id);
        let then = self.record_tokens(write, then);
        let inserted = self.database.write_if(lock, check, insert, then).await?;
        if !inserted.is_empty() {
            return Ok(by_id(inserted));
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
            recent_additions(&self.database, id).await?.check(added)?;
        }
        Err(match kind {
            TokenKind::ApiKey => WriteError::ApiKeyLimit,
            TokenKind::Session => WriteError::UserNotFound,
        })
    }

    async fn tokens_by_digest(
        &self,
        digests: &[String],
    ) -> Result<Timed<Vec<TokenBearer>>, StoreError> {
        let tokens = ", digest, token_id, token_role, expires_at, used_at, not_before, cookie_only
            FROM (SELECT coalesce(user_id, session_user_id) AS user_id, digest, id AS token_id,
                role AS token_role, expires_at, coalesce(last_used_at, created_at) AS used_at, not_before,
                cookie_only
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

    async fn restrict_to_cookies(&self, ids: &[i64]) -> Result<(), StoreError> {
        // By ascending id, as other writes, none of which should lose a deadlock.
        let lock = self
            .database
            .statement("SELECT id FROM api_key WHERE id")
            .push_any(ids)
            .push(" ORDER BY id");
        let restrict = self
            .database
            .statement("UPDATE api_key SET cookie_only = ")
            .push_bind(true)
            .push(" WHERE session_user_id IS NOT NULL AND id")
            .push_any(ids)
            .push(" RETURNING id");
        let check = |_: &[(i64,)]| Ok::<_, StoreError>(());
        self.database
            .write_if::<_, (i64,), _>(lock, check, restrict, FollowUp::none())
            .await
            .map(drop)
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
            TokenSelection::One(id) => (
                " AND (id = $2 OR pair_id = (SELECT pair_id FROM api_key
                    WHERE id = $2 AND session_user_id = $1))",
                Some(id),
            ),
            TokenSelection::AllBut(id) => (
                " AND ($2 IS NULL OR id <> $2
                    AND NOT coalesce(pair_id = (SELECT pair_id FROM api_key WHERE id = $2), false))",
                id,
            ),
        };
        let delete = Self::returning_tokens(delete.push(condition).bind(id));
        let record = self.record_tokens(write, Vec::new());
        if actor.is_some() {
            let deleted = self.write_as_admin(actor, user_id, AdminCount::Kept, delete, record);
            return Ok(by_id(deleted.await?));
        }
        // After the user's row, so that what the session has begun to write is done or does not happen.
        Ok(by_id(self.write_locked(user_id, delete, record).await?))
    }

    async fn end_sessions_by_digest(
        &self,
        digests: &[String],
        extent: SessionEnd,
        write: Write,
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        // The rows of the users first, so that what the sessions have begun to write is done or does not happen.
        let lock = self
            .select()
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
        let delete = delete.push(")");
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
        let delete = delete.push_bind(encode_seconds(in_use.start));
        let delete = delete.push(" AND coalesce(last_used_at, created_at) < ");
        let delete = delete
            .push_bind(encode_seconds(in_use.end))
            .push(") AND id");
        let delete = delete.push_any(ids).push(" RETURNING id");
        let deleted = self.database.write::<(i64,)>(delete).await;
        if let Err(StoreError::ReadOnly(_)) = deleted {
            self.token_usage[UsageKind::Token as usize]
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

    fn note_use(&self, kind: UsageKind, id: i64, at: u64) {
        self.token_usage[kind as usize].note(id, at);
    }

    fn unwritten_use(&self, kind: UsageKind, id: i64) -> Option<u64> {
        self.token_usage[kind as usize].noted(id)
    }

    fn unwritten_since(&self) -> Option<u64> {
        self.token_usage[UsageKind::Token as usize].failing_since()
    }

    async fn usage_pauses(&self) -> Result<Vec<UsagePause>, StoreError> {
        pauses(&self.database).await
    }
}

/// A row of [`NEW_COLUMNS`].
fn new_row(NewToken { digest, stored, .. }: &NewToken) -> Value {
    let owner = |kind| (stored.kind() == kind).then_some(stored.user_id);
    json!({
        "user_id": owner(TokenKind::ApiKey),
        "session_user_id": owner(TokenKind::Session),
        "name": stored.name,
        "prefix": stored.prefix,
        "digest": digest,
        "role": stored.role.as_ref().map(Role::as_str),
        "created_at": encode_seconds(stored.created_at),
        "expires_at": stored.expires_at.map(encode_seconds),
        "not_before": stored.not_before.map(encode_seconds),
        "client_address": stored.client_address,
        "user_agent": stored.user_agent,
        "created_by": stored.created_by,
        "cookie_only": stored.cookie_only,
        "pair_id": stored.pair_id,
    })
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
    bool,
    Option<i64>,
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
    bool,
);

impl<'r, R: Row> FromRow<'r, R> for OpaqueToken
where
    TokenRow: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (id, user_id, name, prefix, role, created_at, expires_at, last_used_at, own, ..) =
            TokenRow::from_row(row)?;
        let (.., client_address, user_agent, created_by, cookie_only, pair_id) =
            TokenRow::from_row(row)?;
        let optional = |seconds: Option<i64>| seconds.map(decode_seconds).transpose();
        Ok(Self {
            id,
            user_id,
            name,
            prefix,
            role: bound(role)?,
            created_at: decode_seconds(created_at)?,
            expires_at: optional(expires_at)?,
            last_used_at: optional(last_used_at)?,
            not_before: optional(own)?,
            client_address,
            user_agent,
            created_by,
            cookie_only,
            pair_id,
        })
    }
}

impl<'r, R: Row> FromRow<'r, R> for TokenBearer
where
    User: FromRow<'r, R>,
    BearerRow: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (.., digest, token_id, role, expires_at, last_used_at, own, cookie_only) =
            BearerRow::from_row(row)?;
        Ok(Self {
            digest,
            token_id,
            role: bound(role)?,
            expires_at: expires_at.map(decode_seconds).transpose()?,
            last_used_at: decode_seconds(last_used_at)?,
            not_before: own.map(decode_seconds).transpose()?,
            cookie_only,
            user: User::from_row(row)?,
        })
    }
}

/// An unreadable role is an error: without it the key would grant more.
fn bound(role: Option<String>) -> sqlx::Result<Option<Role>> {
    let role = role.map(|role| role.parse()).transpose();
    role.map_err(|error| Error::Decode(Box::new(error)))
}
