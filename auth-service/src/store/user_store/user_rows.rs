//! The statements that read users, up to their conditions. `user.rs` has the columns and decodes them.

use crate::{
    group::to_names,
    user::{is_disabled, user_columns, user_columns_before_found_groups},
};
use rolegate_proto::GroupName;
use rolegate_sql_store::Statement;

/// The columns of a user, which come before all others in a statement.
pub(in crate::store) const USER_COLUMNS: &str = user_columns!();
pub(super) const SELECT_USERS: &str = concat!("SELECT ", user_columns!(), r#" FROM "user""#);
pub(in crate::store) const SELECT_CREDENTIALS: &str =
    concat!("SELECT ", user_columns!(), r#", password FROM "user""#);
/// The condition that a user can act: the user is not disabled, and the account has not ended.
pub(in crate::store) const IS_ACTIVE: &str = concat!("NOT ", is_disabled!());

/// Continues a `SELECT` with the columns of a user for a decision that requires these groups. The statement also finds
/// out which of them exist.
pub(super) fn push_deciding_columns(select: Statement, required: &[GroupName]) -> Statement {
    if required.is_empty() {
        return select.push(USER_COLUMNS);
    }
    select
        .push(user_columns_before_found_groups!())
        .push(r#"(SELECT string_agg(name, ',') FROM "group" WHERE name"#)
        .push_any(&to_names(required))
        .push(") AS found_groups")
}

/// Ends a statement that writes users, so that it returns them.
pub(super) const RETURNING_USER: &str = concat!(" RETURNING ", user_columns!());

/// Appends the condition that this admin still is one.
pub(super) fn push_admin_condition(statement: Statement, admin_id: i64) -> Statement {
    statement
        .push(r#" AND EXISTS (SELECT 1 FROM "user" WHERE role = 'admin' AND "#)
        .push(IS_ACTIVE)
        .push(" AND id = ")
        .push_bind(admin_id)
        .push(")")
}
