//! `user`: shows and changes users directly in the database. Access to the database is the
//! operator's authorization.
//!
//! `run` gets the open database as an `Operator`, and calls the module of the command. `change` contains
//! the commands that change one user, and `keys` those for API keys. `create`, `end_all` and
//! `erase_audit` contain one command each. `list` and `show` print users, and `password_link` prints
//! a new link. `import` and `export` transfer users as JSON lines, which `user_line` reads and writes.
//! `new_password` reads a password without showing it, and hashes it.

mod change;
mod create;
mod end_all;
mod erase_audit;
mod export;
mod import;
mod keys;
mod list;
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
use change::{UserChange, Username};
use clap::Subcommand;
use create::CreateArguments;
use import::ImportArguments;
use keys::CreateKeyArguments;
use list::ListArguments;
use operator::Operator;
use rolegate_program::{failure::Failure, settings::number_between};

/// A command about users.
#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Create a user, also while registration is closed
    Create(CreateArguments),
    /// List users, all or those who match filters
    List(ListArguments),
    /// Show a user
    Show(Username),
    /// The commands that change one user.
    #[command(flatten)]
    Change(UserChange),
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

impl UserCommand {
    /// Checks the role that the command names, and lets the operator confirm `end-all`, before the
    /// database is opened. Returns whether the command advances the clock of an SQLite file.
    ///
    /// `end-all` revokes all tokens that were issued before the time of that clock. If the clock
    /// were behind the clock of this machine, tokens issued between the two times would stay valid.
    /// Other commands must not move the clock of a running service.
    pub(super) async fn prepare(&self, roles: &Roles) -> Result<FileClock, Failure> {
        let role = match self {
            Self::Create(arguments) => Some(&arguments.role),
            Self::Change(UserChange::SetRole { role, .. }) => Some(role),
            Self::CreateKey(new) => new.role.as_ref(),
            _ => None,
        };
        if let Some(role) = role {
            roles.require(role)?;
        }
        let Self::EndAll { keys, yes } = self else {
            return Ok(FileClock::Keep);
        };
        if !yes && !confirm(end_all::question(api_keys(*keys))).await? {
            return Err("nothing was ended".into());
        }
        Ok(FileClock::Advance)
    }
}

fn api_keys(delete: bool) -> ApiKeys {
    if delete {
        ApiKeys::Delete
    } else {
        ApiKeys::Keep
    }
}

/// Runs the command. New passwords and roles follow the rules of `settings`.
pub(super) async fn run(
    command: UserCommand,
    operator: &Operator,
    settings: &ServiceSettings,
) -> Result<(), Failure> {
    match command {
        UserCommand::Create(new) => create::run(operator, new, settings).await,
        UserCommand::List(arguments) => list::run(operator, arguments).await,
        UserCommand::Show(user) => show::run(operator, &user.username).await,
        UserCommand::Change(change) => change.run(operator, settings).await,
        UserCommand::EndAll { keys, .. } => end_all::run(operator, api_keys(keys)).await,
        UserCommand::CreateKey(new) => keys::create(operator, new).await,
        UserCommand::Keys(user) => keys::list(operator, &user.username).await,
        UserCommand::DeleteKey { username, id } => keys::delete(operator, &username, id).await,
        UserCommand::EraseAudit(user) => erase_audit::run(operator, &user.username).await,
        UserCommand::Import(arguments) => import::run(operator, &arguments, settings).await,
        UserCommand::Export => export::run(operator).await,
    }
}
