//! `user`: shows and changes users directly in the database. Access to the database is the
//! operator's authorization.
//!
//! `run` opens the database as an `Operator` and calls the module of the command. `change` contains
//! the commands that change one user. `create`, `password_link`, `end_all` and `erase_audit`
//! contain one command each, and `keys` the commands for API keys. `show` prints users. `import`
//! and `export` transfer users as JSON lines, which `user_line` reads and writes. `new_password`
//! reads a password without showing it, and hashes it.

mod change;
mod create;
mod end_all;
mod erase_audit;
mod export;
mod import;
mod keys;
mod new_password;
pub(super) mod operator;
mod password_link;
mod show;
pub(crate) mod user_line;

pub use end_all::end_all_restored;

use crate::{
    commands::terminal::confirm,
    roles::Roles,
    settings::ServiceSettings,
    store::{ApiKeys, FileClock},
};
use clap::{Args, Subcommand};
use create::CreateArguments;
use import::ImportArguments;
use keys::CreateKeyArguments;
use operator::Operator;
use rolegate_program::{
    failure::Failure,
    settings::{SettingError, number_between},
};
use rolegate_proto::Role;
use rolegate_sql_store::DatabaseUrl;
use std::{path::PathBuf, pin::Pin};

/// A command about users.
#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Create a user, also while registration is closed
    Create(CreateArguments),
    /// List all users by ascending id
    List {
        /// List only users who have this role or an API key with it; it may be a role that was removed from
        /// `EXTRA_ROLES`
        #[arg(long)]
        role: Option<Role>,
    },
    /// Show a user
    Show(Username),
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
        #[arg(long, env = "NEW_PASSWORD_FILE")]
        new_password_file: Option<PathBuf>,
    },
    /// Create a link by which a user chooses a password, and print it; good once, for 24 hours
    PasswordLink(Username),
    /// Turn off the second factor of a user who lost the device
    RemoveSecondFactor(Username),
    /// End every access token and session of a user, from the next request on; the user can log in again
    RevokeTokens(Username),
    /// End the sessions, access tokens, password links and unfinished second-factor enrollments of all users, after a
    /// restore or a theft; after a restore of posts, run posts-service skip-ids too
    EndAll {
        /// Also delete every API key
        #[arg(long)]
        keys: bool,
        /// Do not ask for confirmation; without a terminal none is asked for
        #[arg(long)]
        yes: bool,
    },
    /// Create an API key of a user, and print it
    CreateKey(CreateKeyArguments),
    /// List the API keys of a user by ascending id
    Keys(Username),
    /// Delete an API key of a user
    DeleteKey {
        /// Name of the user, case-sensitive
        username: String,
        /// Id of the key, as listed by user keys
        #[arg(value_parser = number_between(1, i64::MAX))]
        id: i64,
    },
    /// Erase the name and the addresses of a deleted user from the record of what happened, and the name from API keys
    /// that the user created for others
    EraseAudit(Username),
    /// Import users with their password hashes from a file with a JSON object on each line; all of them, or none
    Import(ImportArguments),
    /// Write all users with their password hashes to stdout, in the form that import reads
    Export,
}

/// The argument of commands about one existing user.
#[derive(Args, Debug)]
pub struct Username {
    /// Name of the user, case-sensitive
    username: String,
}

/// Runs the command on the users in `database`. New passwords and roles follow the rules of
/// `settings`. For `end-all`, the operator confirms first, before the database is opened.
#[must_use]
pub fn run(
    command: UserCommand,
    settings: &ServiceSettings,
    database: Result<DatabaseUrl, SettingError>,
) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + '_>> {
    // The future is boxed, so that rolegate does not compile the commands again.
    Box::pin(async move {
        let roles = &settings.extra_roles;
        let role = named_role(&command, roles)?;
        if let UserCommand::EndAll { keys, yes: false } = &command
            && !confirm(end_all::question(api_keys(*keys))).await?
        {
            return Err("nothing was ended".into());
        }
        let clock = file_clock(&command);
        let operator = Operator::connect(database?, roles.clone(), clock).await?;
        let outcome = execute(command, &operator, role, settings).await;
        operator.store.close().await;
        outcome
    })
}

/// Returns the role that the command gives to a user or a key; `None` if it gives none. Fails if
/// the role is unknown.
fn named_role(command: &UserCommand, roles: &Roles) -> Result<Option<Role>, SettingError> {
    let name = match command {
        UserCommand::Create(arguments) => Some(&arguments.role),
        UserCommand::SetRole { role, .. } => Some(role),
        UserCommand::CreateKey(new) => new.role.as_ref(),
        _ => None,
    };
    name.map(|name| roles.find(name).ok_or_else(|| roles.unknown_role()))
        .transpose()
}

/// Determines whether the command advances the clock of an SQLite file.
///
/// `end-all` revokes all tokens that were issued before the time of that clock. If the clock were
/// behind the clock of this machine, tokens issued between the two times would stay valid. Other
/// commands must not move the clock of a running service.
fn file_clock(command: &UserCommand) -> FileClock {
    match command {
        UserCommand::EndAll { .. } => FileClock::Advance,
        _ => FileClock::Keep,
    }
}

fn api_keys(delete: bool) -> ApiKeys {
    if delete {
        ApiKeys::Delete
    } else {
        ApiKeys::Keep
    }
}

async fn execute(
    command: UserCommand,
    operator: &Operator,
    role: Option<Role>,
    settings: &ServiceSettings,
) -> Result<(), Failure> {
    // A command that sets the role of a user always names the role, so it never uses this default.
    let role_of_user = role.unwrap_or(Role::USER);
    match command {
        UserCommand::Create(new) => create::run(operator, new, role_of_user, settings).await,
        UserCommand::List { role } => show::list(operator, role).await,
        UserCommand::Show(user) => show::run(operator, &user.username).await,
        UserCommand::Disable(user) => change::set_disabled(operator, &user.username, true).await,
        UserCommand::Enable(user) => change::set_disabled(operator, &user.username, false).await,
        UserCommand::Delete { username, yes } => change::delete(operator, &username, yes).await,
        UserCommand::Rename {
            username,
            new_username,
        } => change::rename(operator, &username, &new_username).await,
        UserCommand::SetRole { username, .. } => {
            change::set_role(operator, &username, role_of_user).await
        }
        UserCommand::ResetPassword {
            username,
            new_password_file,
        } => {
            let file = new_password_file.as_deref();
            change::reset_password(operator, &username, file, settings).await
        }
        UserCommand::PasswordLink(user) => {
            let sign_in_url = &settings.sign_in.sign_in_url;
            password_link::run(operator, &user.username, sign_in_url).await
        }
        UserCommand::RemoveSecondFactor(user) => {
            change::remove_second_factor(operator, &user.username).await
        }
        UserCommand::RevokeTokens(user) => change::revoke_tokens(operator, &user.username).await,
        UserCommand::EndAll { keys, .. } => end_all::run(operator, api_keys(keys)).await,
        UserCommand::CreateKey(new) => keys::create(operator, new, role).await,
        UserCommand::Keys(user) => keys::list(operator, &user.username).await,
        UserCommand::DeleteKey { username, id } => keys::delete(operator, &username, id).await,
        UserCommand::EraseAudit(user) => erase_audit::run(operator, &user.username).await,
        UserCommand::Import(arguments) => import::run(operator, &arguments, settings).await,
        UserCommand::Export => export::run(operator).await,
    }
}
