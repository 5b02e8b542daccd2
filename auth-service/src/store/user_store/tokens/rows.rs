//! Defines the columns of an opaque token for statements, and decodes tokens and password links from rows.

use crate::{
    group::parse_group_names,
    tokens::{
        OpaqueToken, SessionDetails, StoredPasswordLink, TokenBearer, TokenBounds, TokenDetails,
        TokenKind,
    },
    user::User,
};
use rolegate_sql_store::{Row, TableRow};
use sqlx::Error;

/// The columns of a token. A session has `session_user_id` in place of `user_id`.
macro_rules! token_columns {
    () => {
        "id, coalesce(user_id, session_user_id) AS user_id, name, prefix, role, created_at,
    expires_at, last_used_at, not_before, client_address, user_agent, created_by, cookie_only, pair_id, group_names"
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
        let details = match decode_bounds(row, "role")? {
            TokenBounds::ApiKey { role, groups } => TokenDetails::ApiKey {
                role,
                groups,
                created_by: row.get("created_by")?,
            },
            TokenBounds::Session {
                not_before,
                cookie_only,
            } => TokenDetails::Session(SessionDetails {
                not_before,
                client_address: row.get("client_address")?,
                user_agent: row.get("user_agent")?,
                cookie_only,
                pair_id: row.get("pair_id")?,
            }),
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
    ", digest, token_id, token_role, group_names, expires_at, used_at, not_before, cookie_only
            FROM (SELECT coalesce(user_id, session_user_id) AS user_id, digest, id AS token_id,
                role AS token_role, group_names, expires_at, ",
    last_use!(),
    " AS used_at, not_before,
                cookie_only
                FROM api_key WHERE digest"
);

impl TableRow for TokenBearer {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        Ok(Self {
            digest: row.get("digest")?,
            token_id: row.get("token_id")?,
            expires_at: row.optional_seconds("expires_at")?,
            last_used_at: row.seconds("used_at")?,
            bounds: decode_bounds(row, "token_role")?,
            user: User::from_row(row)?,
        })
    }
}

/// Decodes the bounds of a token, whose role is in the column `role`.
///
/// A role that cannot be read is an error, because a key without a role grants the full role of its user. So is a role
/// of a session: none is stored with one, and without it, the session would grant more than the row says.
fn decode_bounds(row: Row<'_>, role: &str) -> sqlx::Result<TokenBounds> {
    let role: Option<String> = row.get(role)?;
    let role = role
        .map(|role| role.parse())
        .transpose()
        .map_err(|error| Error::Decode(Box::new(error)))?;
    match row.optional_seconds("not_before")? {
        None => {
            let groups: Option<String> = row.get("group_names")?;
            let groups = groups.as_deref().map(parse_group_names).transpose()?;
            Ok(TokenBounds::ApiKey { role, groups })
        }
        Some(_) if role.is_some() => Err(Error::Decode("a session has a role".into())),
        Some(not_before) => Ok(TokenBounds::Session {
            not_before,
            cookie_only: row.get("cookie_only")?,
        }),
    }
}

impl TableRow for StoredPasswordLink {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        Ok(Self {
            user: User::from_row(row)?,
            expires_at: row.seconds("expires_at")?,
        })
    }
}
