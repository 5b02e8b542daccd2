//! What the binary can be asked for, one file per command. All read the same settings as `serve`.

mod doctor;
mod healthcheck;
mod init_secrets;
mod migrate;
mod user;

use crate::{
    program::serve,
    settings::Settings,
    store::{self, UserStore},
};
use clap::Subcommand;
use init_secrets::InitSecrets;
use rolegate_service_runtime::{
    command_line::CommandLine,
    program::{Failure, cancel_on_shutdown},
    shutdown::Shutdown,
};
use rolegate_sql_store::{DatabaseTarget, Schema, sqlite};
use std::sync::Arc;
use user::UserCommand;

/// What auth-service is to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve; the same as no command
    Serve,
    /// Wait for the database, bring its schema up to date, and end; creates no user
    Migrate,
    /// Make the secrets of a deployment, those that are not there yet
    InitSecrets(InitSecrets),
    /// Ask the auth-service that runs with these settings whether it is ready: exit 0 or 1
    Healthcheck,
    /// Change a user, straight in the database
    #[command(subcommand)]
    User(UserCommand),
    /// Say what is wrong with settings, secrets, database, clock and addresses; changes nothing
    Doctor,
}

/// Does what was asked for.
pub(crate) async fn run(
    line: CommandLine<Settings, Command>,
    shutdown: Shutdown,
) -> Result<(), Failure> {
    let CommandLine { settings, command } = line;
    match command.unwrap_or(Command::Serve) {
        Command::Serve => serve(settings, shutdown).await,
        Command::Migrate => cancel_on_shutdown(&shutdown, migrate::run(&settings)).await,
        Command::InitSecrets(wanted) => init_secrets::run(&wanted, &settings),
        Command::Healthcheck => healthcheck::run(&settings).await,
        Command::User(command) => {
            cancel_on_shutdown(&shutdown, user::run(command, &settings)).await
        }
        Command::Doctor => cancel_on_shutdown(&shutdown, doctor::run(&settings)).await,
    }
}

/// The store that is there now, for somebody who sits and waits. Makes nothing: a path or a host
/// that was mistyped would be an empty database.
async fn existing_store(settings: &Settings) -> Result<Arc<dyn UserStore>, Failure> {
    let url = settings.store_url()?;
    if let DatabaseTarget::Sqlite(file) = url.target()
        && !sqlite::file_exists(file).map_err(|problem| url.invalid(problem))?
    {
        return Err(url.invalid(format!("the file {} does not exist", file.display())).into());
    }
    match store::inspect(&url).await?.schema {
        Schema::Missing { .. } => Err(url.invalid(format!("{url} has no users yet")).into()),
        Schema::Unrecognized(why) => Err(url.unrecognized(&why).into()),
        // To open it would bring it up to date, under the feet of what runs with it.
        Schema::Older { .. } => {
            let problem = format!("{url} is of an older version: type auth-service migrate first");
            Err(url.invalid(problem).into())
        }
        Schema::Current | Schema::Newer => Ok(store::open(&url).await?),
    }
}
