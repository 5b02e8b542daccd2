//! `auth-service user …`: for the operator, straight on the store. Whoever may open the database
//! needs no token, and nobody else gets here.

mod new_password;
mod reset_password;
mod set_role;

use super::existing_store;
use crate::{
    settings::Settings,
    store::UserStore,
    user::{Credentials, User},
};
use clap::{
    Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use rolegate_proto::Role;
use rolegate_service_runtime::program::Failure;
use rolegate_telemetry::audit_line;
use std::path::PathBuf;

/// What to change of a user.
#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Give a user another role; it counts from the next request on
    SetRole {
        /// Whose, byte for byte
        username: String,
        /// Which
        #[arg(value_parser = role())]
        role: Role,
    },
    /// Give a user a new password, typed, piped into stdin or read from a file
    ResetPassword {
        /// Whose, byte for byte
        username: String,
        /// File that holds the new password; stdin otherwise
        #[arg(long, env = "NEW_PASSWORD_FILE")]
        new_password_file: Option<PathBuf>,
    },
}

fn role() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::as_str)).try_map(|text| text.parse::<Role>())
}

/// Changes a user.
pub(super) async fn run(command: UserCommand, settings: &Settings) -> Result<(), Failure> {
    let store = existing_store(settings).await?;
    let outcome = match command {
        UserCommand::SetRole { username, role } => {
            set_role::run(store.as_ref(), &username, role).await
        }
        UserCommand::ResetPassword { username, new_password_file } => {
            let file = new_password_file.as_deref();
            reset_password::run(store.as_ref(), &username, file, settings).await
        }
    };
    store.close().await;
    outcome
}

async fn user_named(store: &dyn UserStore, username: &str) -> Result<User, Failure> {
    let found = store.credentials_by_username(&[username.to_owned()]).await;
    let found: Option<Credentials> = found.map_err(failed)?.pop();
    found.map(|credentials| credentials.user).ok_or_else(|| nobody(username))
}

fn nobody(username: &str) -> Failure {
    Failure::Other(format!("no user has the name {username:?}").into())
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    Failure::Other(Box::new(error))
}

/// The trace that a change leaves in the log: what was done, to whom, and by whom it was not.
fn audit(event: &'static str, user: &User) {
    audit_line!(
        event,
        user_id = user.id,
        username = user.username,
        role = user.role.as_str(),
        by = "operator",
    );
}
