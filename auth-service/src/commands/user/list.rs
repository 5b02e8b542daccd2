//! `user list` and `user show`.

use super::operator::Operator;
use crate::{host::failed, password::NO_PASSWORD, store::Transfer, user::Credentials};
use rolegate_program::program::{Failure, print};
use secrecy::ExposeSecret;

/// Prints all users by ascending id, a line for each.
pub(super) async fn all(operator: &Operator) -> Result<(), Failure> {
    let transfer = Transfer::open(&operator.database).await?;
    print_header();
    let mut last = Ok(Some(0));
    while let Ok(Some(id)) = last {
        last = transfer.users_after(id).await.map(|users| {
            users.iter().for_each(print_user);
            users.last().map(|found| found.user.id)
        });
    }
    transfer.close().await;
    last.map(drop).map_err(failed)
}

/// Prints one user.
pub(super) async fn one(operator: &Operator, username: &str) -> Result<(), Failure> {
    let found = operator.credentials(username).await?;
    print_header();
    print_user(&found);
    Ok(())
}

fn print_header() {
    print(&line("ID", "ROLE", "STATE", "USERNAME"));
}

/// The name is quoted, and what is invisible in it is escaped.
fn print_user(Credentials { user, password_hash }: &Credentials) {
    let state = if user.disabled { "disabled" } else { "enabled" };
    let has_none = password_hash.expose_secret() == NO_PASSWORD;
    let note = if has_none { "  (no password)" } else { "" };
    let name = format!("{:?}{note}", user.username);
    print(&line(&user.id.to_string(), user.role.as_str(), state, &name));
}

fn line(id: &str, role: &str, state: &str, username: &str) -> String {
    format!("{id:>8}  {role:<6}  {state:<8}  {username}")
}
