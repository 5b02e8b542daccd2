//! `user show`: prints a user. `user list` prints users in the same form, one on each line.

use super::operator::{Operator, not_found};
use crate::{
    commands::{terminal_text::quote, timestamp::rfc3339_or_dash},
    user::ListedUser,
};
use rolegate_program::{failure::Failure, output::print};

const HEADING: [&str; 6] = ["ID", "ROLE", "STATE", "CREATED", "LAST SIGN-IN", "USERNAME"];

pub(super) async fn run(operator: &Operator, username: &str) -> Result<(), Failure> {
    let shown = operator
        .store
        .listed_user(username)
        .await?
        .ok_or_else(|| not_found(username))?;
    print_heading(operator);
    print_user(operator, &shown, 0);
    Ok(())
}

/// Prints a user. The name is quoted, and its invisible characters are escaped.
///
/// `keys_with_role` is the number of the user's API keys that have the listed role; 0 if the user
/// has that role.
pub(super) fn print_user(operator: &Operator, listed: &ListedUser, keys_with_role: usize) {
    let user = &listed.user;
    let mut username = quote(&user.username);
    if !listed.has_password {
        username += "  (no password)";
    }
    if user.second_factor {
        username += "  (second factor)";
    }
    if !user.memberships.is_empty() {
        let note = format!("  (groups: {})", user.group_names().join(", "));
        username += &note;
    }
    if user.until.is_some() {
        let note = format!("  (until {})", rfc3339_or_dash(user.until));
        username += &note;
    }
    if keys_with_role > 0 {
        let note = format!("  (API keys with it: {keys_with_role})");
        username += &note;
    }
    let id = user.id.to_string();
    let state = if user.disabled { "disabled" } else { "enabled" };
    let created = rfc3339_or_dash(user.created_at);
    let last_sign_in = rfc3339_or_dash(listed.last_login_at);
    let role = user.role.as_str();
    print_columns(
        operator,
        [&id, role, state, &created, &last_sign_in, &username],
    );
}

pub(super) fn print_heading(operator: &Operator) {
    print_columns(operator, HEADING);
}

/// Prints a line of the list, with the columns of the heading.
fn print_columns(
    operator: &Operator,
    [id, role, state, created, last_sign_in, username]: [&str; HEADING.len()],
) {
    let role_width = operator.roles.max_name_len();
    print(&format!(
        "{id:>8}  {role:<role_width$}  {state:<8}  {created:<20}  {last_sign_in:<20}  {username}"
    ));
}
