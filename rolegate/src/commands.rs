//! The commands of rolegate. Each reads the settings of `serve`.

mod backup;
mod doctor;

use crate::{data_dir::DataDir, databases::Databases, serve, settings::Settings};
use backup::{Backup, Restore};
use clap::Subcommand;
use rolegate_auth_service::commands::user::{self, UserCommand};
use rolegate_program::{
    doctor::Doctor,
    program::{Failure, Program},
    shutdown::Shutdown,
};

/// What rolegate can do besides serving.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Wait for the databases, migrate their schemas, and exit; creates no user
    Migrate,
    /// Show and change users directly in the database
    #[command(subcommand)]
    User(UserCommand),
    /// Copy the databases of users and posts into new files, also while they are served
    Backup(Backup),
    /// Put the databases of a backup into the place of those of the settings
    Restore(Restore),
}

impl Program for Settings {
    type Command = Command;

    async fn serve(self, shutdown: Shutdown) -> Result<(), Failure> {
        Box::pin(serve::serve(self, shutdown)).await
    }

    async fn check(&self, doctor: &mut Doctor) {
        doctor::check(self, doctor).await;
    }

    async fn execute(self, command: Command) -> Result<(), Failure> {
        let databases = Databases::from_settings(&self)?;
        match command {
            Command::Migrate => migrate(&self, &databases).await,
            Command::User(command) => user::run(command, &self.service, databases.users).await,
            Command::Backup(backup) => backup.run(&databases).await,
            Command::Restore(restore) => restore.run(&self, &databases).await,
        }
    }
}

/// Creates the folder of the databases, as `serve` does.
async fn migrate(settings: &Settings, databases: &Databases) -> Result<(), Failure> {
    DataDir::open(&settings.data_dir)?;
    rolegate_auth_service::commands::migrate(&databases.users).await?;
    match &databases.posts {
        Some(posts) => rolegate_posts_service::commands::migrate(posts).await,
        None => Ok(()),
    }
}
