//! The command line of posts-service. Every command reads the settings of `serve`. [`migrate`] needs
//! the database only, so that rolegate has it too.

mod doctor;
mod serve;

use crate::{settings::Settings, store};
use clap::Subcommand;
use rolegate_program::{
    command_line::{self, CommandLine},
    healthcheck,
    program::{self, Failure, cancel_on_shutdown, print},
    shutdown::Shutdown,
};
use rolegate_sql_store::DatabaseUrl;
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve; the default without a command
    Serve,
    /// Wait for the database, migrate its schema, and exit
    Migrate,
    /// Exit with 0 if the server with these settings is ready, else with 1
    Healthcheck,
    /// Run the steps of a start without changing anything, and print one line for each
    Doctor,
}

/// Runs posts-service with the arguments and the environment of this process.
#[must_use]
pub fn run() -> ExitCode {
    program::run(command_line::parse(), dispatch)
}

async fn dispatch(line: CommandLine<Settings, Command>, shutdown: Shutdown) -> Result<(), Failure> {
    let CommandLine { settings, command } = line;
    match command.unwrap_or(Command::Serve) {
        Command::Serve => serve::run(settings, shutdown).await,
        Command::Migrate => {
            let database = settings.database.url()?;
            cancel_on_shutdown(&shutdown, migrate(&database)).await
        }
        Command::Healthcheck => healthcheck::run(settings.ops_listen_addr).await,
        Command::Doctor => cancel_on_shutdown(&shutdown, doctor::run(&settings)).await,
    }
}

/// Waits for the database and migrates its schema.
pub async fn migrate(database: &DatabaseUrl) -> Result<(), Failure> {
    store::open(database).await?.close().await;
    print(&format!("The schema is up to date: {database}"));
    Ok(())
}
