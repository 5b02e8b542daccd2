//! The statements that read users, up to their conditions. `User` has its columns and decodes them.

use crate::user::{Credentials, User, user_columns};
use rolegate_sql_store::{Row, TableRow};

/// The columns of a user, which come before all others in a statement.
pub(in crate::store) const USER_COLUMNS: &str = user_columns!();
pub(super) const SELECT_USERS: &str = concat!("SELECT ", user_columns!(), r#" FROM "user""#);
pub(in crate::store) const SELECT_CREDENTIALS: &str =
    concat!("SELECT ", user_columns!(), r#", password FROM "user""#);
/// Ends a statement that writes users, so that it returns them.
pub(super) const RETURNING_USER: &str = concat!(" RETURNING ", user_columns!());

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
