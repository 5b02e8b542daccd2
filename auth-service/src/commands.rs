//! The command line of auth-service. Every command reads the settings of `serve`. [`user`],
//! [`doctor`] and [`migrate`] need no more than those of the service, so that rolegate has them too.

pub mod doctor;
mod init_secrets;
mod serve;
pub mod user;

use crate::{settings::Settings, store};
use clap::Subcommand;
use init_secrets::InitSecrets;
use rolegate_program::{
    command_line::{self, CommandLine},
    healthcheck,
    program::{self, Failure, cancel_on_shutdown, print},
    shutdown::Shutdown,
};
use rolegate_sql_store::DatabaseUrl;
use std::process::ExitCode;
use user::UserCommand;

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve; the default without a command
    Serve,
    /// Wait for the database, migrate its schema, and exit; creates no user
    Migrate,
    /// Create the secrets of a deployment that do not exist yet
    InitSecrets(InitSecrets),
    /// Exit with 0 if the server with these settings is ready, else with 1
    Healthcheck,
    /// Show and change users directly in the database
    #[command(subcommand)]
    User(UserCommand),
    /// Run the steps of a start without changing anything, and print one line for each
    Doctor,
}

/// Runs auth-service with the arguments and the environment of this process, after `adjust` has
/// changed its settings.
pub fn run(adjust: impl FnOnce(&mut Settings)) -> ExitCode {
    let line = command_line::parse().map(|mut line: CommandLine<Settings, Command>| {
        adjust(&mut line.settings);
        line
    });
    program::run(line, dispatch)
}

async fn dispatch(line: CommandLine<Settings, Command>, shutdown: Shutdown) -> Result<(), Failure> {
    let CommandLine { settings, command } = line;
    match command.unwrap_or(Command::Serve) {
        Command::Serve => serve::run(settings, shutdown).await,
        Command::Migrate => {
            let database = settings.database.url()?;
            cancel_on_shutdown(&shutdown, migrate(&database)).await
        }
        Command::InitSecrets(arguments) => init_secrets::run(&arguments, &settings),
        Command::Healthcheck => healthcheck::run(settings.ops_listen_addr).await,
        Command::User(command) => {
            let database = settings.database.url()?;
            cancel_on_shutdown(&shutdown, user::run(command, &settings.service, database)).await
        }
        Command::Doctor => cancel_on_shutdown(&shutdown, doctor::run(&settings)).await,
    }
}

/// Waits for the database and migrates its schema. Creates no admin, so that it needs no secret but
/// the database's.
pub async fn migrate(database: &DatabaseUrl) -> Result<(), Failure> {
    store::open(database).await?.close().await;
    print(&format!("The schema is up to date: {database}"));
    Ok(())
}
