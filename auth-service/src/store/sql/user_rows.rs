//! Users and their credentials from the rows of [`COLUMNS`](crate::store::tables::COLUMNS).

use crate::{
    store::StoredLink,
    user::{Credentials, User},
};
use sqlx::{FromRow, Row};

type UserRow = (i64, String, String, i64, bool, i64, bool, Option<i64>);
type CredentialsRow = (
    i64,
    String,
    String,
    i64,
    bool,
    i64,
    bool,
    Option<i64>,
    String,
);

impl<'r, R: Row> FromRow<'r, R> for User
where
    UserRow: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (id, username, role, not_before, disabled, marked_until, second_factor, created_at) =
            UserRow::from_row(row)?;
        let role = role
            .parse()
            .map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
        let (tokens_not_before, tokens_marked_until) =
            (stored_seconds(not_before)?, stored_seconds(marked_until)?);
        Ok(Self {
            id,
            username,
            role,
            tokens_not_before,
            disabled,
            tokens_marked_until,
            second_factor,
            created_at: created_at.map(stored_seconds).transpose()?,
        })
    }
}

impl<'r, R: Row> FromRow<'r, R> for Credentials
where
    User: FromRow<'r, R>,
    CredentialsRow: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (.., password) = CredentialsRow::from_row(row)?;
        // The mark of a second factor, for processes that do not know the column.
        let hash = password.strip_prefix("otp:").unwrap_or(&password);
        Ok(Self {
            user: User::from_row(row)?,
            password_hash: hash.into(),
        })
    }
}

/// The columns of a user, and when the link ends.
type LinkRow = (i64, String, String, i64, bool, i64, bool, Option<i64>, i64);

impl<'r, R: Row> FromRow<'r, R> for StoredLink
where
    User: FromRow<'r, R>,
    LinkRow: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (.., expires_at) = LinkRow::from_row(row)?;
        Ok(Self {
            user: User::from_row(row)?,
            expires_at: stored_seconds(expires_at)?,
        })
    }
}

pub(in crate::store) fn stored_seconds(stored: i64) -> sqlx::Result<u64> {
    stored
        .try_into()
        .map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

pub(super) fn count_to_store(count: usize) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}
