//! The commands of posts-service. Each reads the settings of `serve`. [`migrate`] needs the database
//! only, so that rolegate has it too.

mod serve;

use crate::{settings::Settings, store};
use clap::Subcommand;
use rolegate_grpc_server::IGNORED_ADDRESSES;
use rolegate_program::{
    doctor::Doctor,
    program::{Failure, Program, print},
    shutdown::Shutdown,
};
use rolegate_sql_store::{DatabaseUrl, check_database};

/// What posts-service can do besides serving.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Wait for the database, migrate its schema, and exit
    Migrate,
}

impl Program for Settings {
    type Command = Command;

    async fn serve(self, shutdown: Shutdown) -> Result<(), Failure> {
        serve::serve(self, shutdown).await
    }

    async fn check(&self, doctor: &mut Doctor) {
        doctor.tls("tls", self.tls.load());
        doctor.file_modes(&[
            ("DATABASE_URL_FILE", &self.database.database_url_file),
            ("POSTS_TLS_KEY_FILE", &self.tls.posts_tls_key_file),
            ("AUTH_CLIENT_TLS_KEY_FILE", &self.auth_tls.auth_client_tls_key_file),
        ]);
        match self.database.url() {
            Ok(url) => drop(check_database(doctor, "database", &url, store::inspect(&url).await)),
            Err(error) => doctor.fail("database", error),
        }
        self.auth_tls.check(doctor, &self.auth_service_url).await;
        IGNORED_ADDRESSES.check(doctor, false, self.ops_listen_addr).await;
    }

    async fn execute(self, Command::Migrate: Command) -> Result<(), Failure> {
        migrate(&self.database.url()?).await
    }
}

/// Waits for the database and migrates its schema.
pub async fn migrate(database: &DatabaseUrl) -> Result<(), Failure> {
    store::open(database).await?.close().await;
    print(&format!("The schema is up to date: {database}"));
    Ok(())
}
