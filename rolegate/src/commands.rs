//! The command line of rolegate. Every command reads the settings of `serve`.

mod backup;
mod doctor;
mod migrate;

use crate::{databases::Databases, serve, settings::Settings};
use backup::{Backup, Restore};
use clap::Subcommand;
use rolegate_auth_service::commands::user::{self, UserCommand};
use rolegate_program::{
    command_line::{self, CommandLine},
    healthcheck,
    program::{self, Failure, cancel_on_shutdown},
    shutdown::Shutdown,
};
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve; the default without a command
    Serve,
    /// Wait for the databases, migrate their schemas, and exit; creates no user
    Migrate,
    /// Exit with 0 if the program that runs with these settings is ready, else with 1
    Healthcheck,
    /// Show and change users directly in the database
    #[command(subcommand)]
    User(UserCommand),
    /// Run the steps of a start without changing anything, and print one line for each
    Doctor,
    /// Copy the databases of users and posts into new files, also while they are served
    Backup(Backup),
    /// Put the databases of a backup into the place of those of the settings
    Restore(Restore),
}

/// Runs rolegate with the arguments and the environment of this process, after `adjust` has changed
/// its settings.
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
        Command::Serve => Box::pin(serve::serve(settings, shutdown)).await,
        Command::Migrate => cancel_on_shutdown(&shutdown, migrate::run(&settings)).await,
        Command::Healthcheck => healthcheck::run(settings.ops_listen_addr).await,
        Command::User(command) => {
            let database = Databases::from_settings(&settings)?.users;
            cancel_on_shutdown(&shutdown, user::run(command, &settings.service, database)).await
        }
        Command::Doctor => cancel_on_shutdown(&shutdown, doctor::run(&settings)).await,
        Command::Backup(backup) => cancel_on_shutdown(&shutdown, backup.run(&settings)).await,
        Command::Restore(restore) => cancel_on_shutdown(&shutdown, restore.run(&settings)).await,
    }
}
