//! `user delete`.

use super::{
    operator::{Operator, audit, not_found},
    password_input::prompt,
};
use crate::{accounts::ADMIN_USERNAME, host::failed, user::User};
use rolegate_program::program::{Failure, print};
use std::io::{self, IsTerminal as _};
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// The operator may delete the last admin too. Asks first, unless `yes` or without a terminal.
pub(super) async fn run(operator: &Operator, username: &str, yes: bool) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    if !yes && io::stdin().is_terminal() && !is_confirmed(&user).await.map_err(failed)? {
        return Err(Failure::Other("nothing was deleted".into()));
    }
    let deleted = operator.store.delete(None, user.id).await.map_err(failed)?;
    let user = deleted.ok_or_else(|| not_found(username))?;
    audit("user_deleted", &user);
    print(&format!("User {} ({:?}) is deleted.", user.id, user.username));
    if user.username == ADMIN_USERNAME {
        print("The next start creates the user admin again.");
    }
    Ok(())
}

async fn is_confirmed(user: &User) -> io::Result<bool> {
    prompt(&format!("Delete user {} ({:?}) and every API key? [y/N] ", user.id, user.username));
    let mut answer = String::new();
    BufReader::new(tokio::io::stdin()).read_line(&mut answer).await?;
    Ok(["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()))
}
