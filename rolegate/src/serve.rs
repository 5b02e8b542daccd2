//! Starts and serves the gateway, auth-service and posts-service, in the order that `docs/architecture.md` describes.

use crate::{
    banner::AdminPasswordFile,
    data_dir::{self, DataDir, SECOND_FACTOR_KEY, SIGNING_SECRET, secret_source},
    databases::Databases,
    in_memory::Connections,
    listeners::{Certificates, Listeners},
    services::Services,
    settings::Settings,
};
use rolegate_auth_service::{
    accounts::{AdminPassword, InitialPassword},
    host::Config,
};
use rolegate_http_server::{admin_server::AdminServer, readiness::Readiness};
use rolegate_program::{
    cidr_set::CidrSet, failure::Failure, reload_signal::ReloadSignal, settings::SettingError,
    shutdown::Shutdown,
};
use rolegate_sql_store::DatabaseUrl;

pub(crate) async fn serve(settings: Settings, shutdown: Shutdown) -> Result<(), Failure> {
    let reload_signal = ReloadSignal::listen();
    settings.public.validate()?;
    let databases = Databases::from_settings(&settings)?;
    let data_dir = DataDir::open(&settings.data_dir)?;
    // The mark is held until this function returns. Until then, another process that serves the folder logs a warning.
    let _folder_mark = if databases.is_embedded() {
        data_dir.mark_served()
    } else {
        None
    };
    let certificates = Certificates::load(&settings)?;
    let password_file = AdminPasswordFile::before_start(&settings, &data_dir);
    let config = auth_config(&settings, &data_dir, databases.users.clone())?;

    // `/livez` must answer while the databases are being opened, because a program that waits for its databases is
    // alive.
    let readiness = Readiness::new(&shutdown);
    let admin_server = AdminServer::start(settings.ops_listen_addr, readiness.clone()).await?;
    let connections = Connections::new(settings.posts);
    let auth_client = &connections.auth_client;
    let services = tokio::select! {
        opened = Services::open(config, &settings, &databases, auth_client, &shutdown) => opened?,
        () = shutdown.lame_duck() => return Ok(()),
    };
    // The addresses are bound only now, so that no client connects before the databases are open and the user admin
    // exists.
    let listeners = Listeners::bind(&settings, &certificates).await?;
    listeners.announce(&settings, &databases, &password_file, admin_server.address);

    let serve_all = services.serve(listeners, connections, readiness, &shutdown);
    let reload = || {
        services.auth.reload();
        certificates.reload();
    };
    let outcome = tokio::select! {
        outcome = serve_all => outcome,
        never = reload_signal.on_each(reload) => match never {},
    };
    admin_server.stop().await;
    outcome
}

/// Returns the configuration of auth-service. Secrets and the password of the user admin that are not set are generated
/// into `data_dir`.
fn auth_config(
    settings: &Settings,
    data_dir: &DataDir,
    database: DatabaseUrl,
) -> Result<Config, SettingError> {
    let mut service = settings.service.clone();
    let keys = service.key_source(|| {
        let file = data_dir.secret(SIGNING_SECRET)?;
        Ok(secret_source(&file))
    })?;
    if !settings.has_second_factor_key() {
        service.second_factor_key_file = Some(data_dir.secret(SECOND_FACTOR_KEY)?);
    }
    let embedded = settings.data_dir.join(data_dir::USERS);
    let is_of_another_database = embedded.exists()
        && !database.is_same_file_as(&DatabaseUrl::from_file("DATA_DIR", embedded));
    let mut config = service.config(database, keys, CidrSet::default())?;
    let password_file = data_dir.initial_admin_password();
    if matches!(config.admin_password, AdminPassword::Missing) {
        config.admin_password = AdminPassword::GeneratedInto(password_file.clone());
    }
    // A password file that belongs to another database is kept, because its password may still be valid there.
    if !is_of_another_database {
        config.initial_password = InitialPassword::in_file(password_file);
    }
    Ok(config)
}
