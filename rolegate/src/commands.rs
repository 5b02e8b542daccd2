//! The program `rolegate`: its commands, and its steps of `doctor`. Every command reads the settings of `serve`.

mod backup;

use crate::{
    data_dir::{DataDir, SECOND_FACTOR_KEY, SIGNING_SECRET, secret_source},
    databases::Databases,
    serve,
    settings::Settings,
};
use backup::{Backup, Restore};
use clap::Subcommand;
use rolegate_auth_service::{
    accounts::AdminPassword,
    commands::{
        database_command::DatabaseCommand,
        doctor::{check_settings, check_users},
        user::UserCommand,
    },
    secret_generation,
    settings::ServiceSettings,
};
use rolegate_gateway::IGNORED_ADDRESSES;
use rolegate_http_server::ignored_address::Exposure;
use rolegate_posts_service::{commands, store};
use rolegate_program::{
    doctor::Doctor,
    failure::Failure,
    program::{Profile, Program},
    settings::{ListenAddress, SettingError},
    shutdown::Shutdown,
};
use rolegate_sql_store::{DatabaseUrl, check_database};
use std::path::Path;

/// The commands that only rolegate has.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Wait for the databases, migrate their schemas, and exit, without creating a user
    Migrate,
    /// The commands on the database of users.
    #[command(flatten)]
    Database(DatabaseCommand),
    /// Copy the databases of users and posts into new files, even while they are served
    Backup(Backup),
    /// Replace the databases that the settings name by those of a backup, and end all sessions, access tokens and password links; API keys stay
    Restore(Restore),
    /// Accept the database of users as it is now, although the posts have followed another history of users; posts whose author it does not have are deleted or lose their author
    AcceptHistory,
}

impl Program for Settings {
    const PROGRAM: &'static str = "rolegate";
    type Command = Command;

    fn profile(&self) -> Profile<'_> {
        let mut listeners = self.public.listeners();
        for (name, ListenAddress(address)) in [
            ("AUTH_LISTEN_ADDR", self.auth_listen_addr),
            ("POSTS_LISTEN_ADDR", self.posts_listen_addr()),
        ] {
            if let Some(address) = address {
                listeners.push((name, address.into()));
            }
        }
        Profile {
            common: &self.common,
            ops_listen_addr: self.ops_listen_addr,
            listeners,
            trusted_networks: ("TRUSTED_PROXIES", &self.public.trusted_proxies),
            warnings: self.service.sign_in.warnings(),
        }
    }

    async fn serve(self, shutdown: Shutdown) -> Result<(), Failure> {
        Box::pin(serve::serve(self, shutdown)).await
    }

    /// Checks the steps of `serve` in their order, and continues after a failure.
    async fn check(&self, doctor: &mut Doctor) {
        let data_dir = self.check_data_dir(doctor);
        let generated = data_dir
            .as_ref()
            .and_then(|folder| folder.existing_secret(SIGNING_SECRET))
            .map(|file| secret_source(&file));
        let keys = if generated.is_some() || self.has_signing_secret() {
            let missing = SettingError::new("SIGNING_SECRET", "is required");
            Some(self.service.key_source(|| generated.ok_or(missing)))
        } else {
            None
        };
        let service = self.service_with_second_factor_key(data_dir.as_ref());
        check_settings(doctor, &service, keys);
        doctor.tls("posts tls", self.posts_tls.load());
        doctor.tls("forward tls", self.public.forward_auth_tls());
        doctor.file_modes(&[
            (
                "FORWARD_AUTH_TLS_KEY_FILE",
                &self.public.forward_auth_tls_key_file,
            ),
            ("POSTS_TLS_KEY_FILE", &self.posts_tls.posts_tls_key_file),
            ("DATABASE_URL_FILE", &self.database_url_file),
            ("POSTS_DATABASE_URL_FILE", &self.posts_database_url_file),
        ]);
        match Databases::from_settings(self) {
            Ok(databases) => check_databases(&service, &self.data_dir, databases, doctor).await,
            Err(error) => doctor.fail("users", error),
        }
        doctor.require("addresses", self.public.validate());
        IGNORED_ADDRESSES
            .check(doctor, Exposure::Public, self.ops_listen_addr)
            .await;
    }

    async fn execute(self, command: Command) -> Result<(), Failure> {
        let databases = Databases::from_settings(&self)?;
        match command {
            Command::Migrate => migrate(&self, &databases).await,
            Command::Database(command) => {
                let posts = match command {
                    DatabaseCommand::User(UserCommand::EndAll { .. }) => databases.posts.as_ref(),
                    _ => None,
                };
                if let Some(posts) = posts {
                    commands::require_current(posts).await?;
                }
                command.run(&self.service, Ok(databases.users)).await?;
                match posts {
                    Some(posts) => commands::skip_ids(posts).await,
                    None => Ok(()),
                }
            }
            Command::Backup(backup) => backup.run(&databases).await,
            Command::Restore(restore) => restore.run(&self, &databases).await,
            Command::AcceptHistory => match &databases.posts {
                Some(posts) => commands::accept_history(posts).await,
                None => Err(SettingError::new("POSTS", "is off, so there are no posts").into()),
            },
        }
    }
}

impl Settings {
    /// Reports on the data folder. Returns `None` if it does not exist, or is not as `serve` requires.
    fn check_data_dir(&self, doctor: &mut Doctor) -> Option<DataDir> {
        let found = match DataDir::inspect(&self.data_dir) {
            Ok(found) => found,
            Err(error) => {
                doctor.fail("data", error);
                return None;
            }
        };
        let state = match found {
            Some(_) => "is private",
            None => "does not exist yet; the first start creates it",
        };
        let folder = self.data_dir.display();
        doctor.ok("data", format!("DATA_DIR: {folder} {state}"));
        found
    }

    /// Returns the settings of auth-service with the second-factor key that `serve` would use.
    fn service_with_second_factor_key(&self, data_dir: Option<&DataDir>) -> ServiceSettings {
        let mut service = self.service.clone();
        if self.has_second_factor_key() {
            return service;
        }
        service.second_factor_key_file =
            data_dir.and_then(|folder| folder.existing_secret(SECOND_FACTOR_KEY));
        if service.second_factor_key_file.is_none() {
            // A start would generate a key, so the checks use a new one that is not stored.
            service.second_factor_key = secret_generation::generate_signing_secret().ok();
        }
        service
    }
}

/// Migrates the databases. Creates the data folder first, as `serve` does.
async fn migrate(settings: &Settings, databases: &Databases) -> Result<(), Failure> {
    DataDir::open(&settings.data_dir)?;
    rolegate_auth_service::commands::migrate(&databases.users).await?;
    match &databases.posts {
        Some(posts) => commands::migrate(posts).await,
        None => Ok(()),
    }
}

async fn check_databases(
    service: &ServiceSettings,
    data_dir: &Path,
    Databases { users, posts }: Databases,
    doctor: &mut Doctor,
) {
    let is_new = |database: &DatabaseUrl| {
        let folder = database.sqlite_file().and_then(Path::parent);
        folder == Some(data_dir) && !data_dir.exists()
    };
    // A start generates the password if it is not set.
    let admin = service.admin_password().map(|password| match password {
        AdminPassword::Missing => AdminPassword::GeneratedInto(data_dir.to_owned()),
        given => given,
    });
    if is_new(&users) {
        let text = format!("{users}: the first start creates it, and the user admin");
        doctor.report("users", admin.map(|_| text));
    } else {
        check_users(doctor, "users", service, Ok(users), admin).await;
    }
    match posts {
        Some(posts) if is_new(&posts) => {
            doctor.ok("posts", format!("{posts}: the first start creates it"));
        }
        Some(posts) => {
            let inspection = store::inspect(&posts).await;
            check_database(doctor, "posts", &posts, inspection);
        }
        None => {}
    }
}
