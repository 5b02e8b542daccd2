//! What the binary can be asked for. All read the same settings as `serve`.

mod doctor;

use crate::{program::serve, settings::Settings, store};
use clap::Subcommand;
use rolegate_service_runtime::{
    command_line::CommandLine,
    healthcheck,
    program::{Failure, cancel_on_shutdown, print},
    shutdown::Shutdown,
};

/// What posts-service is to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve; the same as no command
    Serve,
    /// Wait for the database, bring its schema up to date, and end
    Migrate,
    /// Ask the posts-service that runs with these settings whether it is ready: exit 0 or 1
    Healthcheck,
    /// Say what is wrong with settings, secrets, database, clock, auth-service and addresses; changes nothing
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
        Command::Migrate => cancel_on_shutdown(&shutdown, migrate(&settings)).await,
        Command::Healthcheck => healthcheck::run(settings.ops_listen_addr).await,
        Command::Doctor => cancel_on_shutdown(&shutdown, doctor::run(&settings)).await,
    }
}

/// Brings the schema up to date, as every start does. Needs nothing but the database.
async fn migrate(settings: &Settings) -> Result<(), Failure> {
    let url = settings.store_url()?;
    store::open(&url).await?.close().await;
    print(&format!("The schema is up to date: {url}"));
    Ok(())
}
