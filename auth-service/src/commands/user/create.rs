//! `user create`: creates a user, with a password or with a link to choose one.

use super::{
    new_password,
    operator::{Operator, username_taken},
    password_link::print_link,
};
use crate::{
    accounts::{UserWithLink, check_new_username},
    change::{Change, NewUser},
    commands::terminal::print_note,
    principal::Principal,
    settings::ServiceSettings,
    store::WriteError,
};
use clap::Args;
use rolegate_program::{failure::Failure, output::print, settings::SettingError};
use rolegate_proto::Role;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct CreateArguments {
    /// Name of the user, case-sensitive
    username: String,
    /// Role of the user
    #[arg(long, default_value = "user")]
    pub(super) role: String,
    /// File that contains the password; default: stdin
    #[arg(long, env = "NEW_PASSWORD_FILE")]
    new_password_file: Option<PathBuf>,
    /// Print a link by which the user chooses a password; good once, for 24 hours
    #[arg(long, conflicts_with = "new_password_file")]
    link: bool,
}

pub(super) async fn run(
    operator: &Operator,
    arguments: CreateArguments,
    role: Role,
    settings: &ServiceSettings,
) -> Result<(), Failure> {
    let username = &arguments.username;
    // The name is checked before the operator types a password, which would otherwise be in vain.
    // The insert checks again that no user has the name.
    check_new_username(username).map_err(|error| SettingError::new("USERNAME", error))?;
    if operator.find(username).await.is_ok() {
        return Err(username_taken(username));
    }
    if arguments.link {
        return create_with_link(operator, username, role, &settings.sign_in.sign_in_url).await;
    }
    let file = arguments.new_password_file.as_deref();
    let new = NewUser {
        username: username.clone(),
        password_hash: new_password::hash(file, settings).await?,
        role,
        link: None,
    };
    print(&insert(operator, new).await?);
    Ok(())
}

/// Creates a user without a password, and a link by which the user chooses one. Only the link is on
/// stdout, so that a script can send it.
async fn create_with_link(
    operator: &Operator,
    username: &str,
    role: Role,
    sign_in_url: &str,
) -> Result<(), Failure> {
    let new = UserWithLink::generate(username, role, operator.now().await?)?;
    let created = insert(operator, new.user).await?;
    print_note(&created);
    print_link(username, sign_in_url, &new.link)
}

/// Inserts a user, and returns the message for the operator.
async fn insert(operator: &Operator, new: NewUser) -> Result<String, Failure> {
    let username = new.username.clone();
    let role = new.role;
    let inserted = operator
        .changes
        .apply(Principal::Operator, Change::CreateUser(new))
        .await;
    match inserted {
        Ok(user) => Ok(format!(
            "User {} ({username:?}) is created, with the role {role}.",
            user.id
        )),
        Err(WriteError::UsernameTaken) => Err(username_taken(&username)),
        Err(error) => Err(error.into()),
    }
}
