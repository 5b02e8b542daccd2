//! `user`: users as an operator sees and changes them, directly in the database. Access
//! to the database is the authorization.

mod change;
mod create_key;
mod import;
mod new_password;
mod operator;
mod show;
mod user_line;

use crate::settings::ServiceSettings;
use clap::{Args, Subcommand};
use create_key::{NewKey, role};
use import::ImportArguments;
use operator::Operator;
use rolegate_program::program::Failure;
use rolegate_proto::Role;
use rolegate_sql_store::DatabaseUrl;
use std::path::PathBuf;

/// A command on users.
#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Create a user, also while registration is closed
    Create {
        /// Name of the user, case-sensitive
        username: String,
        /// Role of the user
        #[arg(long, value_parser = role(), default_value = "user")]
        role: Role,
        /// File that contains the password; default: stdin
        #[arg(long, env = "NEW_PASSWORD_FILE")]
        new_password_file: Option<PathBuf>,
    },
    /// List all users by ascending id
    List,
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
    /// Set the role of a user; effective from the next request
    SetRole {
        /// Name of the user, case-sensitive
        username: String,
        /// New role
        #[arg(value_parser = role())]
        role: Role,
    },
    /// Set the password of a user, typed, piped into stdin or read from a file
    ResetPassword {
        /// Name of the user, case-sensitive
        username: String,
        /// File that contains the new password; default: stdin
        #[arg(long, env = "NEW_PASSWORD_FILE")]
        new_password_file: Option<PathBuf>,
    },
    /// End every access token of a user, from the next request on; the user can log in again
    RevokeTokens(Name),
    /// Create an API key of a user, and print it
    CreateKey(NewKey),
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
pub async fn run(
    command: UserCommand,
    settings: &ServiceSettings,
    database: DatabaseUrl,
) -> Result<(), Failure> {
    let operator = Operator::connect(database).await?;
    let outcome = match command {
        UserCommand::Create { username, role, new_password_file } => {
            operator.create(&username, role, new_password_file, settings).await
        }
        UserCommand::List => operator.list().await,
        UserCommand::Show(Name { username }) => operator.show(&username).await,
        UserCommand::Disable(Name { username }) => operator.set_disabled(&username, true).await,
        UserCommand::Enable(Name { username }) => operator.set_disabled(&username, false).await,
        UserCommand::Delete { username, yes } => operator.delete(&username, yes).await,
        UserCommand::SetRole { username, role } => operator.set_role(&username, role).await,
        UserCommand::ResetPassword { username, new_password_file } => {
            operator.reset_password(&username, new_password_file, settings).await
        }
        UserCommand::RevokeTokens(Name { username }) => operator.revoke_tokens(&username).await,
        UserCommand::CreateKey(new) => create_key::run(&operator, new).await,
        UserCommand::Import(arguments) => import::run(&operator, &arguments, settings).await,
        UserCommand::Export => operator.export().await,
    };
    operator.store.close().await;
    outcome
}
