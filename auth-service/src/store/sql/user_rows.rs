//! Users, as the rows of statements have them.

use super::encoding::decode_seconds;
use crate::{
    store::WriteError,
    user::{Credentials, User},
};
use sqlx::{ColumnIndex, Decode, FromRow, Row, Type};

/// The columns of a user, in the order in which they are decoded. What else a statement selects comes behind them.
macro_rules! user_columns {
    () => {
        "id, username, role, tokens_not_before, disabled, tokens_marked_until, second_factor, created_at"
    };
}

pub(in crate::store) const USER_COLUMNS: &str = user_columns!();
pub(super) const SELECT_USERS: &str = concat!("SELECT ", user_columns!(), r#" FROM "user""#);
pub(super) const SELECT_CREDENTIALS: &str =
    concat!("SELECT ", user_columns!(), r#", password FROM "user""#);
/// Ends a statement that writes users.
pub(super) const RETURNING_USER: &str = concat!(" RETURNING ", user_columns!());

/// Decodes by position, because almost every request reads a user.
impl<'r, R: Row> FromRow<'r, R> for User
where
    usize: ColumnIndex<R>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
    Option<i64>: Decode<'r, R::Database> + Type<R::Database>,
    bool: Decode<'r, R::Database> + Type<R::Database>,
    String: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let role: String = row.try_get(2)?;
        let created_at: Option<i64> = row.try_get(7)?;
        Ok(Self {
            id: row.try_get(0)?,
            username: row.try_get(1)?,
            role: role
                .parse()
                .map_err(|error| sqlx::Error::Decode(Box::new(error)))?,
            tokens_not_before: decode_seconds(row.try_get(3)?)?,
            disabled: row.try_get(4)?,
            tokens_marked_until: decode_seconds(row.try_get(5)?)?,
            second_factor: row.try_get(6)?,
            created_at: created_at.map(decode_seconds).transpose()?,
        })
    }
}

rolegate_sql_store::row! {
    /// What credentials have beside the user.
    struct PasswordRow {
        password: String,
    }
}

impl<'r, R: Row> FromRow<'r, R> for Credentials
where
    User: FromRow<'r, R>,
    PasswordRow: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let PasswordRow { password } = PasswordRow::from_row(row)?;
        // While the second factor is on, a prefix makes the hash invalid for processes that do not know the column.
        let hash = password.strip_prefix("otp:").unwrap_or(&password);
        Ok(Self {
            user: User::from_row(row)?,
            password_hash: hash.into(),
        })
    }
}

/// The user whom a write has changed; without one, there is none, or a condition of the write did not hold.
pub(super) fn changed_user(mut rows: Vec<User>) -> Result<User, WriteError> {
    rows.pop().ok_or(WriteError::UserNotFound)
}
