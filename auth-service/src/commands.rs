//! The commands of auth-service. Each reads the settings of `serve`. [`user`], [`doctor`] and
//! [`migrate`] need no more than those of the service, so that rolegate has them too.

pub mod doctor;
mod init_secrets;
mod serve;
pub mod user;

use crate::{settings::Settings, store};
use clap::Subcommand;
use init_secrets::InitSecrets;
use rolegate_grpc_server::IGNORED_ADDRESSES;
use rolegate_program::{
    doctor::Doctor,
    program::{Failure, Program, print},
    shutdown::Shutdown,
};
use rolegate_sql_store::DatabaseUrl;
use user::UserCommand;

/// What auth-service can do besides serving.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Wait for the database, migrate its schema, and exit; creates no user
    Migrate,
    /// Create the secrets of a deployment that do not exist yet
    InitSecrets(InitSecrets),
    /// Show and change users directly in the database
    #[command(subcommand)]
    User(UserCommand),
}

impl Program for Settings {
    type Command = Command;

    async fn serve(self, shutdown: Shutdown) -> Result<(), Failure> {
        serve::serve(self, shutdown).await
    }

    async fn check(&self, doctor: &mut Doctor) {
        let (database, service) = (&self.database, &self.service);
        doctor::check_settings(doctor, service, Some(self.keys()));
        doctor.file_modes(&[("DATABASE_URL_FILE", &database.database_url_file)]);
        let admin = service.admin_password();
        doctor::check_users(doctor, "database", service, database.url(), admin).await;
        IGNORED_ADDRESSES.check(doctor, false, self.ops_listen_addr).await;
    }

    async fn execute(self, command: Command) -> Result<(), Failure> {
        match command {
            Command::Migrate => migrate(&self.database.url()?).await,
            Command::InitSecrets(arguments) => init_secrets::run(&arguments, &self),
            Command::User(command) => {
                let database = self.database.url()?;
                user::run(command, &self.service, database).await
            }
        }
    }
}

/// Waits for the database and migrates its schema. Creates no admin, so that it needs no secret but
/// the database's.
pub async fn migrate(database: &DatabaseUrl) -> Result<(), Failure> {
    store::open(database).await?.close().await;
    print(&format!("The schema is up to date: {database}"));
    Ok(())
}
