//! `user create`: creates a user, with a password or with a link to choose one.

use super::{
    new_password,
    operator::{Operator, username_taken},
    password_link::print_link,
};
use crate::{
    accounts::check_new_username,
    change::{Change, NewUser},
    commands::terminal::print_note,
    settings::ServiceSettings,
    tokens::NewPasswordLink,
};
use clap::Args;
use rolegate_program::{failure::Failure, output::print, settings::SettingError};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct CreateArguments {
    /// Name of the user, case-sensitive
    username: String,
    /// Role of the user
    #[arg(long, default_value = "user")]
    pub(super) role: String,
    /// File that contains the password; default: stdin
    #[arg(long, env)]
    new_password_file: Option<PathBuf>,
    /// Print a link by which the user chooses a password; good once, for 24 hours
    #[arg(long, conflicts_with = "new_password_file")]
    link: bool,
}

pub(super) async fn run(
    operator: &Operator,
    arguments: CreateArguments,
    settings: &ServiceSettings,
) -> Result<(), Failure> {
    let username = &arguments.username;
    let role = operator.roles.require(&arguments.role)?;
    // The name is checked before the operator types a password, which would otherwise be in vain.
    // The insert checks again that no user has the name.
    check_new_username(username).map_err(|error| SettingError::new("USERNAME", error))?;
    if operator.find(username).await.is_ok() {
        return Err(username_taken(username));
    }
    let new = if arguments.link {
        let link = NewPasswordLink::generate(operator.now().await?)?;
        NewUser::with_link(username.clone(), role, link)
    } else {
        let file = arguments.new_password_file.as_deref();
        NewUser {
            username: username.clone(),
            password_hash: new_password::hash(file, settings).await?,
            role,
            link: None,
        }
    };
    let link = new.link.clone();
    let user = operator.apply(username, Change::CreateUser(new)).await?;
    let outcome = format!(
        "User {} ({username:?}) is created, with the role {role}.",
        user.id
    );
    match link {
        None => print(&outcome),
        Some(link) => {
            // Only the link is on stdout, so that a script can send it.
            print_note(&outcome);
            print_link(username, settings, &link)?;
        }
    }
    Ok(())
}
