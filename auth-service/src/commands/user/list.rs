//! `user list` and `user show`.

use super::operator::Operator;
use crate::{host::failed, store::UserFilter, user::User};
use rolegate_service_runtime::program::{Failure, print};

/// Users in one statement.
const PAGE: i64 = 1000;

/// Prints all users by ascending id, a line for each.
pub(super) async fn all(operator: &Operator) -> Result<(), Failure> {
    let mut filter = UserFilter { limit: PAGE, ..UserFilter::default() };
    print_header();
    loop {
        let users = operator.store.list(&filter).await.map_err(failed)?;
        users.iter().for_each(print_user);
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
    print_user(&user);
    Ok(())
}

fn print_header() {
    print(&line("ID", "ROLE", "STATE", "USERNAME"));
}

/// The name is quoted, and what is invisible in it is escaped.
fn print_user(user: &User) {
    let state = if user.disabled { "disabled" } else { "enabled" };
    let name = format!("{:?}", user.username);
    print(&line(&user.id.to_string(), user.role.as_str(), state, &name));
}

fn line(id: &str, role: &str, state: &str, username: &str) -> String {
    format!("{id:>8}  {role:<6}  {state:<8}  {username}")
}
