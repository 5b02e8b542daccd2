//! The statements that read users, up to their conditions. `user.rs` has the columns and decodes them.

use crate::user::user_columns;

/// The columns of a user, which come before all others in a statement.
pub(in crate::store) const USER_COLUMNS: &str = user_columns!();
pub(super) const SELECT_USERS: &str = concat!("SELECT ", user_columns!(), r#" FROM "user""#);
pub(in crate::store) const SELECT_CREDENTIALS: &str =
    concat!("SELECT ", user_columns!(), r#", password FROM "user""#);
/// Ends a statement that writes users, so that it returns them.
pub(super) const RETURNING_USER: &str = concat!(" RETURNING ", user_columns!());
