//! Users and their credentials from the rows of [`COLUMNS`], and second factors.

use super::encoding::decode_seconds;
use crate::{
    store::{StoredPasswordLink, StoredSecondFactor, WriteError, WrongCodes, tables::COLUMNS},
    user::{Credentials, User},
};
use rolegate_sql_store::Statement;
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
            (decode_seconds(not_before)?, decode_seconds(marked_until)?);
        Ok(Self {
            id,
            username,
            role,
            tokens_not_before,
            disabled,
            tokens_marked_until,
            second_factor,
            created_at: created_at.map(decode_seconds).transpose()?,
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

impl<'r, R: Row> FromRow<'r, R> for StoredPasswordLink
where
    User: FromRow<'r, R>,
    LinkRow: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (.., expires_at) = LinkRow::from_row(row)?;
        Ok(Self {
            user: User::from_row(row)?,
            expires_at: decode_seconds(expires_at)?,
        })
    }
}

/// The secret and its last step, the count and the beginning of the window of each limit, and the recovery codes.
type FactorRow = (String, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64);

impl<'r, R: Row> FromRow<'r, R> for StoredSecondFactor
where
    FactorRow: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (
            secret,
            last_step,
            wrong_codes,
            wrong_since,
            wrong_recovery_codes,
            wrong_recovery_since,
            wrong_confirmations,
            wrong_confirmations_since,
            wrong_recovery_confirmations,
            wrong_recovery_confirmations_since,
            recovery_codes,
        ) = FactorRow::from_row(row)?;
        Ok(Self {
            secret,
            last_step,
            at_sign_in: WrongCodes {
                count: wrong_codes,
                since: wrong_since,
            },
            recovery_at_sign_in: WrongCodes {
                count: wrong_recovery_codes,
                since: wrong_recovery_since,
            },
            at_confirmation: WrongCodes {
                count: wrong_confirmations,
                since: wrong_confirmations_since,
            },
            recovery_at_confirmation: WrongCodes {
                count: wrong_recovery_confirmations,
                since: wrong_recovery_confirmations_since,
            },
            recovery_codes,
        })
    }
}

pub(super) fn returning(write: Statement) -> Statement {
    write.push(" RETURNING ").push(COLUMNS)
}

pub(super) fn only(mut rows: Vec<User>) -> Result<User, WriteError> {
    rows.pop().ok_or(WriteError::UserNotFound)
}
