//! The commands that change one user. Unlike an admin, an operator may also disable, demote or
//! delete the last admin.

use super::{
    new_password,
    operator::{Operator, username_taken},
};
use crate::{
    accounts::{self, ADMIN_USERNAME, InitialPassword},
    change::Change,
    commands::terminal::confirm,
    principal::Principal,
    settings::ServiceSettings,
};
use rolegate_program::{failure::Failure, output::print, settings::SettingError};
use rolegate_proto::{Reason, Role};
use rolegate_sql_store::DatabaseTarget;
use std::path::Path;

pub(super) async fn reset_password(
    operator: &Operator,
    username: &str,
    file: Option<&Path>,
    settings: &ServiceSettings,
) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    let hash = new_password::hash(file, settings).await?;
    let change = Change::SetPassword {
        user_id: user.id,
        hash,
    };
    operator.change(&user, change).await?;
    print(&format!(
        "User {} ({username:?}) has the new password now.",
        user.id
    ));
    // A file of this name beside the database may contain rolegate's generated password. The
    // command does not delete the file, because nothing proves that the file belongs to this
    // database.
    if username == ADMIN_USERNAME
        && let DatabaseTarget::Sqlite(database) = &operator.database_url.target
        && let file = database.with_file_name(InitialPassword::NAME)
        && file.is_file()
    {
        print(&format!(
            "{} contains an older password; delete it, or rolegate deletes it at its next start.",
            file.display()
        ));
    }
    Ok(())
}

pub(super) async fn remove_second_factor(
    operator: &Operator,
    username: &str,
) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    if !user.second_factor {
        return Err(format!("the second factor of the user {username:?} is not on").into());
    }
    let change = Change::TurnOffSecondFactor { user_id: user.id };
    operator.change(&user, change).await?;
    print(&format!(
        "User {} ({username:?}) has no second factor now.",
        user.id
    ));
    Ok(())
}

pub(super) async fn set_disabled(
    operator: &Operator,
    username: &str,
    disabled: bool,
) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    let user_id = user.id;
    let change = Change::SetDisabled { user_id, disabled };
    operator.change(&user, change).await?;
    let state = if disabled { "disabled" } else { "enabled" };
    print(&format!("User {} ({username:?}) is {state} now.", user.id));
    Ok(())
}

pub(super) async fn rename(
    operator: &Operator,
    username: &str,
    new_username: &str,
) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    if username != new_username {
        accounts::rename(
            &operator.changes,
            Principal::Operator,
            &user,
            new_username,
            None,
        )
        .await
        .map_err(|error| -> Failure {
            match error.reason() {
                Reason::UsernameInvalid => SettingError::new("NEW_USERNAME", error).into(),
                Reason::UsernameTaken => username_taken(new_username),
                Reason::UserNotFound => "the user was changed meanwhile; try again".into(),
                _ => error.into(),
            }
        })?;
    }
    print(&format!(
        "User {} has the name {new_username:?} now; it was {username:?}.",
        user.id
    ));
    Ok(())
}

pub(super) async fn set_role(
    operator: &Operator,
    username: &str,
    role: Role,
) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    let from = user.role;
    let change = Change::SetRole {
        user_id: user.id,
        from,
        to: role,
    };
    operator.change(&user, change).await?;
    print(&format!(
        "User {} ({username:?}) has the role {role} now; it was {from}.",
        user.id
    ));
    Ok(())
}

pub(super) async fn revoke_tokens(operator: &Operator, username: &str) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    let change = Change::RevokeTokens { user_id: user.id };
    operator.change(&user, change).await?;
    print(&format!(
        "Every access token of user {} ({username:?}) is revoked.",
        user.id
    ));
    Ok(())
}

/// Deletes a user after the operator has confirmed it. Nothing is asked if the operator gave
/// `--yes`, or if stdin is not a terminal.
pub(super) async fn delete(operator: &Operator, username: &str, yes: bool) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    let question = format!(
        "Delete user {} ({username:?}) and every API key of that user?",
        user.id
    );
    if !yes && !confirm(&question).await? {
        return Err("nothing was deleted".into());
    }
    let change = Change::DeleteUser { user_id: user.id };
    operator.change(&user, change).await?;
    print(&format!("User {} ({username:?}) is deleted.", user.id));
    if username == ADMIN_USERNAME {
        print("The next start creates the user admin again.");
    }
    Ok(())
}
