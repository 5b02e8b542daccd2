//! `user`: users as an operator sees and changes them, directly in the database. Access
//! to the database is the authorization.

mod change;
mod confirmation;
mod end_all;
mod erase_audit;
mod import;
mod keys;
mod new_password;
pub(super) mod operator;
mod show;
pub(crate) mod user_line;

use crate::{
    settings::ServiceSettings,
    store::{ApiKeys, FileClock},
};
use clap::{Args, Subcommand};
pub use end_all::end_all_restored;
use import::ImportArguments;
use keys::NewKey;
use operator::Operator;
use rolegate_program::{
    program::Failure,
    settings::{SettingError, number_between},
};
use rolegate_proto::Role;
use rolegate_sql_store::DatabaseUrl;
use std::{path::PathBuf, pin::Pin};

/// A command on users.
#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Create a user, also while registration is closed
    Create {
        /// Name of the user, case-sensitive
        username: String,
        /// Role of the user
        #[arg(long, default_value = "user")]
        role: String,
        /// File that contains the password; default: stdin
        #[arg(long, env = "NEW_PASSWORD_FILE")]
        new_password_file: Option<PathBuf>,
        /// Print a link by which the user chooses a password; good once, for 24 hours
        #[arg(long, conflicts_with = "new_password_file")]
        link: bool,
    },
    /// List all users by ascending id
    List {
        /// Only users who have this role or an API key with it; also one that was taken out of `EXTRA_ROLES`
        #[arg(long)]
        role: Option<Role>,
    },
    /// Show a user
    Show(Name),
    /// Refuse every credential of a user, from the next request on
    Disable(Name),
    /// Accept the credentials of a disabled user again, except for older tokens
    Enable(Name),
    /// Delete a user and revoke every credential of the user
    Delete {
        /// Name of the user, case-sensitive
        username: String,
        /// Do not ask; without a terminal there is no question
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
    /// Set the role of a user; effective from the next request
    SetRole {
        /// Name of the user, case-sensitive
        username: String,
        /// New role
        role: String,
    },
    /// Set the password of a user, typed, piped into stdin or read from a file
    ResetPassword {
        /// Name of the user, case-sensitive
        username: String,
        /// File that contains the new password; default: stdin
        #[arg(long, env = "NEW_PASSWORD_FILE")]
        new_password_file: Option<PathBuf>,
    },
    /// Create a link by which a user chooses a password, and print it; good once, for 24 hours
    PasswordLink(Name),
    /// Turn off the second factor of a user who lost the device
    RemoveSecondFactor(Name),
    /// End every access token and session of a user, from the next request on; the user can log in again
    RevokeTokens(Name),
    /// End the sessions, access tokens, password links and unfinished second-factor enrollments of all users, after a restore or a theft; after a restore of posts, run posts-service skip-ids too
    EndAll {
        /// Delete every API key too
        #[arg(long)]
        keys: bool,
        /// Do not ask for confirmation; without a terminal none is asked for
        #[arg(long)]
        yes: bool,
    },
    /// Create an API key of a user, and print it
    CreateKey(NewKey),
    /// List the API keys of a user by ascending id
    Keys(Name),
    /// Delete an API key of a user
    DeleteKey {
        /// Name of the user, case-sensitive
        username: String,
        /// Id of the key, which the command keys shows
        #[arg(value_parser = |text: &str| number_between(text, 1, i64::MAX))]
        id: i64,
    },
    /// Erase the name and the addresses of a deleted user from the record of what happened
    EraseAudit(Name),
    /// Import users with their password hashes, one JSON object a line; all of them, or none
    Import(ImportArguments),
    /// Write all users with their password hashes to stdout, in the form that import reads
    Export,
}

/// A user who exists.
#[derive(Args, Debug)]
pub struct Name {
    /// Name of the user, case-sensitive
    username: String,
}

/// Runs the command on the users in `database`. New passwords follow the rules of `settings`.
#[must_use]
pub fn run(
    command: UserCommand,
    settings: &ServiceSettings,
    database: Result<DatabaseUrl, SettingError>,
) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + '_>> {
    // Boxed, so that no other crate compiles the commands again.
    Box::pin(async move {
        let roles = &settings.extra_roles;
        let role = match &command {
            UserCommand::Create { role, .. } | UserCommand::SetRole { role, .. } => Some(role),
            UserCommand::CreateKey(new) => new.role.as_ref(),
            _ => None,
        };
        let role = role
            .map(|name| roles.named(name).ok_or_else(|| roles.unknown()))
            .transpose()?;
        let role_of_user = role.unwrap_or(Role::USER);
        // end-all revokes tokens by time: the clock of an SQLite file must not be behind that of this machine, or tokens
        // issued meanwhile would stay valid. Other commands must not move the clock of a running service.
        let clock = if matches!(command, UserCommand::EndAll { .. }) {
            FileClock::Advance
        } else {
            FileClock::Keep
        };
        if let UserCommand::EndAll { keys, yes: false } = &command
            && !confirmation::is_given(end_all::question(*keys)).await?
        {
            return Err("nothing was ended".into());
        }
        let operator = Operator::connect(database?, roles.clone(), clock).await?;
        let outcome = match command {
            UserCommand::Create {
                username,
                link: true,
                ..
            } => {
                operator
                    .create_with_link(&username, role_of_user, settings)
                    .await
            }
            UserCommand::Create {
                username,
                new_password_file,
                ..
            } => {
                operator
                    .create(&username, role_of_user, new_password_file, settings)
                    .await
            }
            UserCommand::List { role } => operator.list(role).await,
            UserCommand::Show(Name { username }) => operator.show(&username).await,
            UserCommand::Disable(Name { username }) => operator.set_disabled(&username, true).await,
            UserCommand::Enable(Name { username }) => operator.set_disabled(&username, false).await,
            UserCommand::Delete { username, yes } => operator.delete(&username, yes).await,
            UserCommand::Rename {
                username,
                new_username,
            } => operator.rename(&username, &new_username).await,
            UserCommand::SetRole { username, .. } => {
                operator.set_role(&username, role_of_user).await
            }
            UserCommand::ResetPassword {
                username,
                new_password_file,
            } => {
                operator
                    .reset_password(&username, new_password_file, settings)
                    .await
            }
            UserCommand::PasswordLink(Name { username }) => {
                operator
                    .password_link(&username, &settings.sign_in.sign_in_url)
                    .await
            }
            UserCommand::RemoveSecondFactor(Name { username }) => {
                operator.remove_second_factor(&username).await
            }
            UserCommand::RevokeTokens(Name { username }) => operator.revoke_tokens(&username).await,
            UserCommand::EndAll { keys, .. } => {
                let api_keys = if keys { ApiKeys::Delete } else { ApiKeys::Keep };
                operator.end_all(api_keys).await
            }
            UserCommand::CreateKey(new) => operator.create_key(new, role).await,
            UserCommand::Keys(Name { username }) => operator.keys(&username).await,
            UserCommand::DeleteKey { username, id } => operator.delete_key(&username, id).await,
            UserCommand::Import(arguments) => import::run(&operator, &arguments, settings).await,
            UserCommand::EraseAudit(Name { username }) => operator.erase_audit(&username).await,
            UserCommand::Export => operator.export().await,
        };
        operator.store.close().await;
        outcome
    })
}
