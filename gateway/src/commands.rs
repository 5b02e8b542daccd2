//! The command line of the gateway. Every command reads the settings of `serve`.

mod doctor;

use crate::{serve::serve, settings::Settings};
use clap::Subcommand;
use rolegate_program::{
    command_line::{self, CommandLine},
    healthcheck,
    program::{self, Failure, cancel_on_shutdown},
    shutdown::Shutdown,
};
use std::process::ExitCode;

#[derive(Clone, Copy, Debug, Subcommand)]
enum Command {
    /// Serve; the default without a command
    Serve,
    /// Exit with 0 if the program that runs with these settings is ready, else with 1
    Healthcheck,
    /// Run the steps of a start without changing anything, and print one line for each
    Doctor,
}

/// Runs the gateway with the arguments and the environment of this process.
#[must_use]
pub fn run() -> ExitCode {
    program::run(command_line::parse(), dispatch)
}

async fn dispatch(line: CommandLine<Settings, Command>, shutdown: Shutdown) -> Result<(), Failure> {
    let CommandLine { settings, command } = line;
    match command.unwrap_or(Command::Serve) {
        Command::Serve => Box::pin(serve(settings, shutdown)).await,
        Command::Healthcheck => healthcheck::run(settings.ops_listen_addr).await,
        Command::Doctor => cancel_on_shutdown(&shutdown, doctor::run(&settings)).await,
    }
}
