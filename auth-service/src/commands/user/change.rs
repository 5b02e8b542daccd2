//! `user disable`, `enable`, `set-role`, `revoke-tokens` and `delete`. The operator may disable, demote
//! and delete the last admin too.

use super::{operator::Operator, password_input::prompt};
use crate::{accounts::ADMIN_USERNAME, audit::Change, host::failed, store::Writer, user::User};
use rolegate_program::program::{Failure, print};
use rolegate_proto::Role;
use std::io::{self, IsTerminal as _};
use tokio::io::{AsyncBufReadExt as _, BufReader};

pub(super) async fn set_disabled(
    operator: &Operator,
    username: &str,
    disabled: bool,
) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    let (store, id, state) =
        (operator.store(), user.id, if disabled { "disabled" } else { "enabled" });
    let set = async move { store.set_disabled(None, id, disabled).await };
    operator.change(&user, Change::disabled(disabled), set).await?;
    print(&format!("User {id} ({username:?}) is {state} now."));
    Ok(())
}

pub(super) async fn set_role(
    operator: &Operator,
    username: &str,
    role: Role,
) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    let (store, id, from) = (operator.store(), user.id, user.role);
    let set = async move { store.set_role(None, id, role).await };
    operator.change(&user, Change::RoleChanged { from }, set).await?;
    print(&format!("User {id} ({username:?}) has the role {role} now; it was {from}."));
    Ok(())
}

pub(super) async fn revoke_tokens(operator: &Operator, username: &str) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    let (store, id) = (operator.store(), user.id);
    let revoke = async move { store.revoke_tokens(id, Writer::Operator).await };
    operator.change(&user, Change::TokensRevoked, revoke).await?;
    print(&format!("Every access token of user {id} ({username:?}) is revoked."));
    Ok(())
}

/// Asks first, unless `yes` or without a terminal.
pub(super) async fn delete(operator: &Operator, username: &str, yes: bool) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    if !yes && io::stdin().is_terminal() && !is_confirmed(&user).await.map_err(failed)? {
        return Err(Failure::Other("nothing was deleted".into()));
    }
    let (store, id) = (operator.store(), user.id);
    let delete = async move { store.delete(None, id).await };
    operator.change(&user, Change::UserDeleted, delete).await?;
    print(&format!("User {id} ({username:?}) is deleted."));
    if username == ADMIN_USERNAME {
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
