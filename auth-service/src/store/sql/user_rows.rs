//! Defines the columns of a user for statements, and decodes users from rows.

use super::encoding::{decode_optional_seconds, decode_seconds};
use crate::user::{Credentials, User};
use rolegate_sql_store::{Row, TableRow};

/// The columns of a user, in the order in which they are decoded. Other columns of a statement come after them.
macro_rules! user_columns {
    () => {
        "id, username, role, tokens_not_before, disabled, tokens_marked_until, second_factor, created_at"
    };
}

pub(in crate::store) const USER_COLUMNS: &str = user_columns!();
pub(super) const SELECT_USERS: &str = concat!("SELECT ", user_columns!(), r#" FROM "user""#);
pub(super) const SELECT_CREDENTIALS: &str =
    concat!("SELECT ", user_columns!(), r#", password FROM "user""#);
/// Ends a statement that writes users, so that it returns them.
pub(super) const RETURNING_USER: &str = concat!(" RETURNING ", user_columns!());

/// Decodes the columns by position, which is faster than by name, because almost every request reads a user.
impl TableRow for User {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        let role: String = row.get(2)?;
        Ok(Self {
            id: row.get(0)?,
            username: row.get(1)?,
            role: role
                .parse()
                .map_err(|error| sqlx::Error::Decode(Box::new(error)))?,
            tokens_not_before: decode_seconds(row.get(3)?)?,
            disabled: row.get(4)?,
            tokens_marked_until: decode_seconds(row.get(5)?)?,
            second_factor: row.get(6)?,
            created_at: decode_optional_seconds(row.get(7)?)?,
        })
    }
}

impl TableRow for Credentials {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        let password: String = row.get("password")?;
        // While the second factor is on, a prefix makes the hash invalid for processes of a release that does not know
        // the second factor.
        let hash = password.strip_prefix("otp:").unwrap_or(&password);
        Ok(Self {
            user: User::from_row(row)?,
            password_hash: hash.into(),
        })
    }
}
