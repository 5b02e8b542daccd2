//! The program posts-service and its commands. Each command reads the settings of `serve`.
//!
//! [`migrate`], [`skip_ids`] and [`accept_history`] need only the database, so the program rolegate also offers them.

use crate::{
    host::{self, HostOptions},
    settings::Settings,
    store,
};
use clap::Subcommand;
use rolegate_auth_client::ClientTls;
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
use rolegate_proto::posts_v1::SERVICE_NAME;
use rolegate_sql_store::{DatabaseUrl, Store as _, check_database};

/// The commands of posts-service besides `serve`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Wait for the database, migrate its schema, and exit
    Migrate,
    /// Skip post ids after a restore, so that no new post gets the id of a lost one
    SkipIds,
    /// Accept the users that auth-service has now instead of the history that was followed so far; posts of authors who
    /// are not among them are deleted or lose their author
    AcceptHistory,
}

impl Program for Settings {
    const PROGRAM: &'static str = "posts-service";
    type Command = Command;

    fn profile(&self) -> Profile<'_> {
        Profile {
            common: &self.host.common,
            ops_listen_addr: self.ops_listen_addr,
            listeners: vec![("POSTS_LISTEN_ADDR", self.posts_listen_addr)],
            trusted_networks: ("TRUSTED_GATEWAYS", &self.host.trusted_gateways),
            warnings: Vec::new(),
        }
    }

    /// Serves posts until `shutdown`. Readiness depends on the store and not on auth-service. So during an outage of
    /// auth-service, callers get an error that names the outage instead of a refused connection.
    async fn serve(self, shutdown: Shutdown) -> Result<(), Failure> {
        let reload_signal = ReloadSignal::listen();
        let database = self.database.url()?;
        let tls = self.tls.load()?;
        let user_changes_key = self.user_changes_key()?;
        let (auth, auth_tls) = self.auth_tls.client(&self.auth_service_url)?;
        let has_files = tls.is_some() || auth_tls.is_some();
        let program = ServiceProgram {
            headline: format!(
                "Rolegate posts-service {}, posts in {database}, auth-service at {}",
                env!("CARGO_PKG_VERSION"),
                self.auth_service_url
            ),
            service: SERVICE_NAME,
            grpc_setting: "POSTS_LISTEN_ADDR",
            grpc_address: self.posts_listen_addr,
            tls,
            ops: self.ops_listen_addr,
            log_format: self.host.common.telemetry.log_format,
        };
        let options = HostOptions {
            trusted_gateways: self.host.trusted_gateways,
            response_memory_mib: self.response_memory_mib,
            posts_of_deleted_users: self.posts_of_deleted_users,
            user_changes_key,
        };
        let open = host::open(&database, auth, options, &shutdown);
        let reload = |_: &_| {
            if !has_files {
                tracing::info!("SIGHUP: no files to reload");
            }
            auth_tls.iter().for_each(ClientTls::reload);
        };
        Box::pin(program.run(open, |server| server, reload_signal, reload, shutdown)).await
    }

    async fn check(&self, doctor: &mut Doctor) {
        doctor.tls("tls", self.tls.load());
        doctor.file_modes(&[
            ("DATABASE_URL_FILE", &self.database.database_url_file),
            ("USER_CHANGES_KEY_FILE", &self.user_changes_key_file),
            ("POSTS_TLS_KEY_FILE", &self.tls.posts_tls_key_file),
            (
                "AUTH_CLIENT_TLS_KEY_FILE",
                &self.auth_tls.auth_client_tls_key_file,
            ),
        ]);
        doctor.require("user changes", self.user_changes_key());
        match self.database.url() {
            Ok(url) => {
                let inspection = store::inspect(&url).await;
                check_database(doctor, "database", &url, inspection);
            }
            Err(error) => doctor.fail("database", error),
        }
        self.auth_tls.check(doctor, &self.auth_service_url).await;
        IGNORED_ADDRESSES
            .check(doctor, Exposure::Internal, self.ops_listen_addr)
            .await;
    }

    async fn execute(self, command: Command) -> Result<(), Failure> {
        let database = self.database.url()?;
        match command {
            Command::Migrate => migrate(&database).await,
            Command::SkipIds => skip_ids(&database).await,
            Command::AcceptHistory => accept_history(&database).await,
        }
    }
}

/// Waits for the database, migrates its schema, and prints the result.
pub async fn migrate(database: &DatabaseUrl) -> Result<(), Failure> {
    store::open(database).await?.close().await;
    print(&format!("The schema is up to date: {database}"));
    Ok(())
}

/// Skips ids of posts after a restore, so that no new post gets the id of a post that was created after the backup.
pub async fn skip_ids(database: &DatabaseUrl) -> Result<(), Failure> {
    require_current(database).await?;
    // The ids of the lost database are not known.
    store::skip_restored_ids(database, 0).await?;
    print(&format!(
        "New posts get higher ids than any lost one: {database}"
    ));
    Ok(())
}

/// Makes posts-service give up the history of users that it has followed. It then follows the users that auth-service
/// has now, beginning with a snapshot.
pub async fn accept_history(database: &DatabaseUrl) -> Result<(), Failure> {
    require_current(database).await?;
    let store = store::open(database).await?;
    let accepted = store::deleted_authors::accept_next_history(&store).await;
    store.close().await;
    accepted?;
    print(
        "Accepted. Within seconds, posts-service connects to auth-service again and follows the users that it has. \
         Posts of authors who are not among them are deleted or lose their author, as POSTS_OF_DELETED_USERS says.",
    );
    Ok(())
}

/// Fails if the database does not exist or has an older schema. Commands call this function before they open the
/// database, because opening a database creates or migrates it.
pub async fn require_current(database: &DatabaseUrl) -> Result<(), Failure> {
    Ok(database.require_current(&store::inspect(database).await?.schema)?)
}
