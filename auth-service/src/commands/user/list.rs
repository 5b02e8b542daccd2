//! `user list` and `user show`.

use super::operator::Operator;
use crate::{host::failed, password::NO_PASSWORD, store::UserFilter, user::Credentials};
use rolegate_program::program::{Failure, print};
use secrecy::ExposeSecret;

/// Users in one statement.
const PAGE: i64 = 1000;

/// Prints all users by ascending id, a line for each.
pub(super) async fn all(operator: &Operator) -> Result<(), Failure> {
    let mut filter = UserFilter { limit: PAGE, ..UserFilter::default() };
    print_header();
    loop {
        let users = operator.store.list(&filter).await.map_err(failed)?;
        print_users(operator, users.iter().map(|user| user.username.clone()).collect()).await?;
        match users.last() {
            Some(last) => filter.after = last.id,
            None => return Ok(()),
        }
    }
}

/// Prints one user.
pub(super) async fn one(operator: &Operator, username: &str) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    print_header();
    print_users(operator, vec![user.username]).await
}

fn print_header() {
    print(&line("ID", "ROLE", "STATE", "USERNAME"));
}

/// Prints those of these users who still exist, by ascending id. Names are quoted, and what is invisible in
/// them is escaped.
async fn print_users(operator: &Operator, usernames: Vec<String>) -> Result<(), Failure> {
    let found = operator.store.credentials_by_username(&usernames).await;
    let mut users = found.map_err(failed)?.value;
    users.sort_by_key(|found| found.user.id);
    for Credentials { user, password_hash } in users {
        let state = if user.disabled { "disabled" } else { "enabled" };
        let has_none = password_hash.expose_secret() == NO_PASSWORD;
        let note = if has_none { "  (no password)" } else { "" };
        let name = format!("{:?}{note}", user.username);
        print(&line(&user.id.to_string(), user.role.as_str(), state, &name));
    }
    Ok(())
}

fn line(id: &str, role: &str, state: &str, username: &str) -> String {
    format!("{id:>8}  {role:<6}  {state:<8}  {username}")
}
