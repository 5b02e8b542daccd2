//! Defines the columns of an opaque token for statements, and decodes tokens and password links from rows.

use crate::{
    tokens::{
        OpaqueToken, SessionDetails, StoredPasswordLink, TokenBearer, TokenBounds, TokenDetails,
        TokenKind,
    },
    user::User,
};
use rolegate_proto::Role;
use rolegate_sql_store::{Row, TableRow};
use sqlx::Error;

/// The columns of a token. A session has `session_user_id` in place of `user_id`.
macro_rules! token_columns {
    () => {
        "id, coalesce(user_id, session_user_id) AS user_id, name, prefix, role, created_at,
    expires_at, last_used_at, not_before, client_address, user_agent, created_by, cookie_only, pair_id"
    };
}

/// The time of the last use of a token, or of its creation if it was never used.
macro_rules! last_use {
    () => {
        "coalesce(last_used_at, created_at)"
    };
}
pub(super) use last_use;

/// Returns the condition that selects the tokens of this kind that belong to the user `$1`.
pub(super) fn owner_condition(kind: TokenKind) -> &'static str {
    match kind {
        TokenKind::ApiKey => "user_id = $1",
        TokenKind::Session => "session_user_id = $1",
    }
}

pub(super) const SELECT_TOKENS: &str = concat!("SELECT ", token_columns!(), " FROM api_key");
/// Ends a statement that writes tokens, so that it returns them.
pub(super) const RETURNING_TOKEN: &str = concat!(" RETURNING ", token_columns!());

impl TableRow for OpaqueToken {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        let role = decode_role(row.get("role")?)?;
        let details = match row.optional_seconds("not_before")? {
            None => TokenDetails::ApiKey {
                role,
                created_by: row.get("created_by")?,
            },
            Some(not_before) => {
                refuse_role_of_session(role)?;
                TokenDetails::Session(SessionDetails {
                    not_before,
                    client_address: row.get("client_address")?,
                    user_agent: row.get("user_agent")?,
                    cookie_only: row.get("cookie_only")?,
                    pair_id: row.get("pair_id")?,
                })
            }
        };
        Ok(Self {
            id: row.get("id")?,
            user_id: row.get("user_id")?,
            name: row.get("name")?,
            prefix: row.get("prefix")?,
            created_at: row.seconds("created_at")?,
            expires_at: row.optional_seconds("expires_at")?,
            last_used_at: row.optional_seconds("last_used_at")?,
            details,
        })
    }
}

/// Continues a `SELECT` of the bearers of tokens. `USER_COLUMNS` come before this text. The digests of the tokens and
/// the join with the table of users come after it.
pub(super) const BEARERS: &str = concat!(
    ", digest, token_id, token_role, expires_at, used_at, not_before, cookie_only
            FROM (SELECT coalesce(user_id, session_user_id) AS user_id, digest, id AS token_id,
                role AS token_role, expires_at, ",
    last_use!(),
    " AS used_at, not_before,
                cookie_only
                FROM api_key WHERE digest"
);

impl TableRow for TokenBearer {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        let role = decode_role(row.get("token_role")?)?;
        let bounds = match row.optional_seconds("not_before")? {
            None => TokenBounds::ApiKey { role },
            Some(not_before) => {
                refuse_role_of_session(role)?;
                TokenBounds::Session {
                    not_before,
                    cookie_only: row.get("cookie_only")?,
                }
            }
        };
        Ok(Self {
            digest: row.get("digest")?,
            token_id: row.get("token_id")?,
            expires_at: row.optional_seconds("expires_at")?,
            last_used_at: row.seconds("used_at")?,
            bounds,
            user: User::from_row(row)?,
        })
    }
}

/// Decodes the highest role that a token grants. A role that cannot be read is an error, because a key without a role
/// grants the full role of its user.
fn decode_role(stored: Option<String>) -> sqlx::Result<Option<Role>> {
    stored
        .map(|role| role.parse())
        .transpose()
        .map_err(|error| Error::Decode(Box::new(error)))
}

/// Fails if a session has a role. No session is stored with one, and ignoring it would grant more than the row says.
fn refuse_role_of_session(role: Option<Role>) -> sqlx::Result<()> {
    if role.is_some() {
        return Err(Error::Decode("a session has a role".into()));
    }
    Ok(())
}

impl TableRow for StoredPasswordLink {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        Ok(Self {
            user: User::from_row(row)?,
            expires_at: row.seconds("expires_at")?,
        })
    }
}
