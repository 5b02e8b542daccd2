//! The commands of auth-service: `serve`, which the program runs by default, and the commands for
//! operators.
//!
//! [`Settings`] implements the trait `Program`, through which `rolegate_program` parses the command
//! line, runs a command and serves. Every command reads the settings of `serve`. The commands of
//! [`database_command`] (`user`, `group` and `audit`), [`doctor`] and [`migrate`] need only the settings that
//! auth-service shares with rolegate, so rolegate offers the same commands. `init_secrets` is for
//! auth-service alone.
//!
//! `terminal` asks the operator for confirmation and writes notes to stderr. `terminal_text`
//! escapes texts from the database, and `timestamp` formats times.

mod audit;
pub mod database_command;
pub mod doctor;
mod group;
mod init_secrets;
mod terminal;
mod terminal_text;
mod timestamp;
pub mod user;

use crate::{AuthService, settings::Settings, store};
use clap::Subcommand;
use database_command::DatabaseCommand;
use init_secrets::InitSecrets;
use rolegate_grpc_server::{IGNORED_ADDRESSES, ServiceProgram};
use rolegate_http_server::ignored_address::Exposure;
use rolegate_program::{
    doctor::Doctor,
    failure::Failure,
    output::print,
    program::{Profile, Program},
    reload_signal::ReloadSignal,
    shutdown::Shutdown,
};
use rolegate_proto::SERVICE_NAME;
use rolegate_sql_store::{DatabaseUrl, Store as _};

/// The commands that auth-service adds to those of every program (`serve`, `healthcheck` and
/// `doctor`).
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Wait for the database, migrate its schema, and exit; creates no user
    Migrate,
    /// Create the secrets of a deployment that are missing
    InitSecrets(InitSecrets),
    /// The commands on the database of users.
    #[command(flatten)]
    Database(DatabaseCommand),
}

impl Program for Settings {
    const PROGRAM: &'static str = "auth-service";
    type Command = Command;

    fn profile(&self) -> Profile<'_> {
        Profile {
            common: &self.host.common,
            ops_listen_addr: self.ops_listen_addr,
            listeners: vec![("AUTH_LISTEN_ADDR", self.auth_listen_addr)],
            trusted_networks: ("TRUSTED_GATEWAYS", &self.host.trusted_gateways),
            warnings: self.service.sign_in.warnings(),
        }
    }

    async fn serve(self, shutdown: Shutdown) -> Result<(), Failure> {
        let reload_signal = ReloadSignal::listen();
        let tls = self.service.tls()?;
        let database = self.database.url()?;
        let program = ServiceProgram {
            headline: format!(
                "Rolegate auth-service {}, users in {database}",
                env!("CARGO_PKG_VERSION")
            ),
            service: SERVICE_NAME,
            grpc_setting: "AUTH_LISTEN_ADDR",
            grpc_address: self.auth_listen_addr,
            tls,
            ops: self.ops_listen_addr,
            log_format: self.host.common.telemetry.log_format,
        };
        let trusted = self.host.trusted_gateways.clone();
        let open = AuthService::open(self.service.config(database, self.keys()?, trusted)?);
        Box::pin(program.run(
            open,
            |auth| &auth.server,
            reload_signal,
            AuthService::reload,
            shutdown,
        ))
        .await
    }

    async fn check(&self, doctor: &mut Doctor) {
        let database = &self.database;
        let service = &self.service;
        doctor::check_settings(doctor, service, Some(self.keys()));
        doctor.file_modes(&[("DATABASE_URL_FILE", &database.database_url_file)]);
        let admin = service.admin_password();
        doctor::check_users(doctor, "database", service, database.url(), admin).await;
        IGNORED_ADDRESSES
            .check(doctor, Exposure::Internal, self.ops_listen_addr)
            .await;
    }

    async fn execute(self, command: Command) -> Result<(), Failure> {
        match command {
            Command::Migrate => migrate(&self.database.url()?).await,
            Command::InitSecrets(arguments) => init_secrets::run(&arguments, &self),
            Command::Database(command) => command.run(&self.service, self.database.url()).await,
        }
    }
}

/// Waits for the database, migrates its schema, and prints that the schema is up to date. It does
/// not create the user `admin`, so it needs no secret but the password of the database.
pub async fn migrate(database: &DatabaseUrl) -> Result<(), Failure> {
    store::open(database).await?.close().await;
    print(&format!("The schema is up to date: {database}"));
    Ok(())
}
