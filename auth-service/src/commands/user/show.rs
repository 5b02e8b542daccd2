//! `user list` and `user show`: print users, one on each line.

use super::{
    keys::keys_of_user,
    operator::{Operator, not_found},
};
use crate::{
    commands::{terminal_text::quote, timestamp::rfc3339_or_dash},
    password::NO_PASSWORD,
    store::{ShownUser, StoreError},
};
use rolegate_program::{failure::Failure, output::print};
use rolegate_proto::Role;
use secrecy::ExposeSecret;

const HEADING: [&str; 6] = ["ID", "ROLE", "STATE", "CREATED", "LAST SIGN-IN", "USERNAME"];

/// Prints all users by ascending id, or only those who have this role or an API key with it. Fails
/// if the role is unknown.
pub(super) async fn list(operator: &Operator, role: Option<Role>) -> Result<(), Failure> {
    if let Some(role) = role {
        require_known_role(operator, role).await?;
    }
    print_columns(operator, HEADING);
    let mut last_id = Some(0);
    while let Some(id) = last_id {
        let users = operator.database.users_after(id, role).await?;
        for shown in &users {
            let user = &shown.credentials.user;
            let keys_with_role = match role {
                Some(role) if role != user.role => count_keys(operator, user.id, role).await?,
                _ => 0,
            };
            print_user(operator, shown, keys_with_role);
        }
        last_id = users.last().map(|shown| shown.credentials.user.id);
    }
    Ok(())
}

async fn count_keys(operator: &Operator, user_id: i64, role: Role) -> Result<usize, StoreError> {
    let keys = keys_of_user(operator, user_id).await?;
    Ok(keys.iter().filter(|key| key.role() == Some(role)).count())
}

pub(super) async fn run(operator: &Operator, username: &str) -> Result<(), Failure> {
    let shown = operator
        .database
        .user_named(username)
        .await?
        .ok_or_else(|| not_found(username))?;
    print_columns(operator, HEADING);
    print_user(operator, &shown, 0);
    Ok(())
}

/// Fails if this service does not have the role, and no stored user or key has it either.
async fn require_known_role(operator: &Operator, role: Role) -> Result<(), Failure> {
    let in_use = operator.store.roles_in_use().await?;
    let is_used = in_use.iter().any(|usage| usage.role == role.as_str());
    if is_used || operator.roles.contains(&role) {
        return Ok(());
    }
    Err(operator.roles.unknown_role().into())
}

/// Prints a user. The name is quoted, and its invisible characters are escaped.
///
/// `keys_with_role` is the number of the user's API keys that have the listed role; 0 if the user
/// has that role.
fn print_user(operator: &Operator, shown: &ShownUser, keys_with_role: usize) {
    let credentials = &shown.credentials;
    let user = &credentials.user;
    let mut username = quote(&user.username);
    if credentials.password_hash.expose_secret() == NO_PASSWORD {
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
    let last_sign_in = rfc3339_or_dash(shown.last_login_at);
    let role = user.role.as_str();
    print_columns(
        operator,
        [&id, role, state, &created, &last_sign_in, &username],
    );
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
