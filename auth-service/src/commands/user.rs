//! `auth-service user`: changes by an operator, directly in the database. Access to the database
//! is the authorization.

mod operator;
mod password_input;
mod reset_password;
mod set_role;

use crate::settings::Settings;
use clap::{
    Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use operator::Operator;
use rolegate_proto::Role;
use rolegate_service_runtime::program::Failure;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
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
}

fn role() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::as_str)).try_map(|text| text.parse::<Role>())
}

pub(super) async fn run(command: UserCommand, settings: &Settings) -> Result<(), Failure> {
    let operator = Operator::connect(settings).await?;
    let outcome = match command {
        UserCommand::SetRole { username, role } => set_role::run(&operator, &username, role).await,
        UserCommand::ResetPassword { username, new_password_file } => {
            let file = new_password_file.as_deref();
            reset_password::run(&operator, &username, file, settings).await
        }
    };
    operator.store.close().await;
    outcome
}
