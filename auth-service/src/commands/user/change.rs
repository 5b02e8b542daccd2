//! The commands that change one user. Unlike an admin, an operator may also disable, demote or
//! delete the last admin.

use super::{
    new_password,
    operator::{Operator, username_taken},
    password_link::print_link,
};
use crate::{
    accounts::{self, ADMIN_USERNAME, InitialPassword, RequestedEnd, new_end},
    change::{Change, UserUpdate},
    commands::{
        doctor::OLD_REPLICAS_IGNORE_ENDS,
        group::parse_time,
        terminal::{confirm, print_note},
    },
    group::format_end,
    principal::Principal,
    settings::ServiceSettings,
    tokens::NewPasswordLink,
    user::User,
};
use clap::{Args, Subcommand};
use rolegate_program::{failure::Failure, output::print, settings::SettingError};
use rolegate_proto::Reason;
use std::path::PathBuf;

/// The argument of commands about one existing user.
#[derive(Args, Debug)]
pub struct Username {
    /// Name of the user, case-sensitive
    pub(super) username: String,
}

fn parse_end(text: &str) -> Result<RequestedEnd, &'static str> {
    if text == "never" {
        return Ok(RequestedEnd::Never);
    }
    parse_time(text).map(RequestedEnd::At)
}

/// A command that changes one user.
#[derive(Debug, Subcommand)]
pub enum UserChange {
    /// Refuse every credential of a user, from the next request on
    Disable(Username),
    /// Accept the credentials of a disabled user again, except for older tokens
    Enable(Username),
    /// Delete a user and revoke every credential of the user
    Delete {
        /// Name of the user, case-sensitive
        username: String,
        /// Do not ask for confirmation; without a terminal none is asked for
        #[arg(long)]
        yes: bool,
    },
    /// Give a user another name; sessions, API keys and posts stay, access tokens end
    Rename {
        /// Name of the user, case-sensitive
        username: String,
        /// New name
        new_username: String,
    },
    /// Set the end of a user's account, from which every credential is refused; first upgrade every replica, because
    /// older ones do not know ends
    SetUntil {
        /// Name of the user, case-sensitive
        username: String,
        /// Time such as 2026-12-04T17:00:00Z, or never to remove the end
        #[arg(value_parser = parse_end)]
        until: RequestedEnd,
    },
    /// Set the role of a user; effective from the next request
    SetRole {
        /// Name of the user, case-sensitive
        username: String,
        /// New role
        role: String,
    },
    /// Set the password of a user, which is typed, piped into stdin or read from a file; ends the user's access tokens
    /// and sessions
    ResetPassword {
        /// Name of the user, case-sensitive
        username: String,
        /// File that contains the new password; default: stdin
        #[arg(long, env)]
        new_password_file: Option<PathBuf>,
    },
    /// Create a link by which a user chooses a password, and print it; good once, for 24 hours
    PasswordLink(Username),
    /// Turn off the second factor of a user who lost the device
    RemoveSecondFactor(Username),
    /// End every access token and session of a user, from the next request on; the user can log in again
    RevokeTokens(Username),
}

impl UserChange {
    fn username(&self) -> &str {
        let (Self::Disable(Username { username })
        | Self::Enable(Username { username })
        | Self::Delete { username, .. }
        | Self::Rename { username, .. }
        | Self::SetUntil { username, .. }
        | Self::SetRole { username, .. }
        | Self::ResetPassword { username, .. }
        | Self::PasswordLink(Username { username })
        | Self::RemoveSecondFactor(Username { username })
        | Self::RevokeTokens(Username { username })) = self;
        username
    }

    /// Finds the user, makes the change, and prints the result.
    pub(super) async fn run(
        self,
        operator: &Operator,
        settings: &ServiceSettings,
    ) -> Result<(), Failure> {
        let user = &operator.find(self.username()).await?;
        let user_id = user.id;
        let username = &user.username;
        match self {
            Self::Disable(_) => set_disabled(operator, user, true).await,
            Self::Enable(_) => set_disabled(operator, user, false).await,
            Self::Delete { yes, .. } => delete(operator, user, yes).await,
            Self::Rename { new_username, .. } => rename(operator, user, &new_username).await,
            Self::SetUntil { until, .. } => set_until(operator, user, until).await,
            Self::SetRole { role, .. } => {
                let to = operator.roles.require(&role)?;
                let from = user.role;
                let change = Change::SetRole { user_id, from, to };
                let outcome = format!("has the role {to} now; it was {from}");
                operator.change(user, change, &outcome).await
            }
            Self::ResetPassword {
                new_password_file, ..
            } => {
                let hash = new_password::hash(new_password_file.as_deref(), settings).await?;
                let change = Change::SetPassword { user_id, hash };
                operator
                    .change(user, change, "has the new password now")
                    .await?;
                print_outdated_password_file(operator, user);
                Ok(())
            }
            Self::PasswordLink(_) => {
                let link = NewPasswordLink::generate(operator.now().await?)?;
                let change = Change::CreatePasswordLink {
                    user_id,
                    link: link.clone(),
                };
                operator.apply(username, change).await?;
                print_link(username, settings, &link)
            }
            Self::RemoveSecondFactor(_) if !user.second_factor => {
                Err(format!("the second factor of the user {username:?} is not on").into())
            }
            Self::RemoveSecondFactor(_) => {
                let change = Change::TurnOffSecondFactor { user_id };
                operator
                    .change(user, change, "has no second factor now")
                    .await
            }
            Self::RevokeTokens(_) => {
                let change = Change::RevokeTokens { user_id };
                operator.apply(username, change).await?;
                print(&format!(
                    "Every access token of user {user_id} ({username:?}) is revoked."
                ));
                Ok(())
            }
        }
    }
}

async fn set_disabled(operator: &Operator, user: &User, disabled: bool) -> Result<(), Failure> {
    let user_id = user.id;
    let update = UserUpdate {
        disabled: Some(disabled),
        ..UserUpdate::default()
    };
    let change = Change::Update { user_id, update };
    let outcome = if disabled {
        "is disabled now"
    } else {
        "is enabled now"
    };
    operator.change(user, change, outcome).await?;
    let now = operator.now().await?;
    if !disabled && user.until.is_some_and(|end| end <= now) {
        let end = format_end(user.until);
        print_note(&format!(
            "note: the account ended at {end}, so the user cannot act before `user set-until` moves the end"
        ));
    }
    Ok(())
}

/// Sets or removes the end of an account, and warns that older replicas do not know it.
async fn set_until(operator: &Operator, user: &User, until: RequestedEnd) -> Result<(), Failure> {
    let now = operator.now().await?;
    let end = new_end(user, until, now).map_err(|error| SettingError::new("UNTIL", error))?;
    let update = UserUpdate {
        end: Some(end),
        ..UserUpdate::default()
    };
    let user_id = user.id;
    let outcome = match end.to {
        Some(_) => format!("has an account until {} now", format_end(end.to)),
        None => "has an account without an end now".to_owned(),
    };
    let change = Change::Update { user_id, update };
    operator.change(user, change, &outcome).await?;
    if end.to.is_some() {
        print_note(&format!("note: {OLD_REPLICAS_IGNORE_ENDS}"));
    }
    Ok(())
}

/// Prints a note if `admin` has another password now and rolegate's generated password may still be
/// in a file beside the database.
///
/// The command does not delete the file, because nothing proves that the file belongs to this
/// database.
fn print_outdated_password_file(operator: &Operator, user: &User) {
    if user.username == ADMIN_USERNAME
        && let Some(database) = operator.database_url.sqlite_file()
        && let file = database.with_file_name(InitialPassword::NAME)
        && file.is_file()
    {
        print(&format!(
            "{} contains an older password; delete it, or rolegate deletes it at its next start.",
            file.display()
        ));
    }
}

async fn rename(operator: &Operator, user: &User, new_username: &str) -> Result<(), Failure> {
    let username = &user.username;
    if username != new_username {
        accounts::rename(&operator.changes, Principal::Operator, user, new_username)
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

/// Deletes a user after the operator has confirmed it. Nothing is asked if the operator gave
/// `--yes`, or if stdin is not a terminal.
async fn delete(operator: &Operator, user: &User, yes: bool) -> Result<(), Failure> {
    let User { id, username, .. } = user;
    let question = format!("Delete user {id} ({username:?}) and every API key of that user?");
    if !yes && !confirm(&question).await? {
        return Err("nothing was deleted".into());
    }
    let change = Change::DeleteUser { user_id: *id };
    operator.change(user, change, "is deleted").await?;
    if username == ADMIN_USERNAME {
        print("The next start creates the user admin again.");
    }
    Ok(())
}
