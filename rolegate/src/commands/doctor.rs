//! `doctor`.

use crate::{data_dir::DataDir, databases::Databases, settings::Settings};
use rolegate_auth_service::{
    accounts::AdminPassword,
    clock::system_time,
    commands::doctor::{check_settings, check_users},
};
use rolegate_gateway::IGNORED_ADDRESSES;
use rolegate_http_server::doctor::Doctor;
use rolegate_posts_service::store;
use rolegate_program::{
    bind_address::BindAddress,
    program::{Failure, ProgramSettings as _},
    settings::SettingError,
};
use rolegate_sql_store::{DatabaseTarget, DatabaseUrl, check_database};

/// Runs the steps of `serve` in its order, and goes on after a failure.
pub(super) async fn run(settings: &Settings) -> Result<(), Failure> {
    let mut doctor = Doctor::default();
    doctor.open_files();
    let data_dir = check_data_dir(&mut doctor, settings);
    let service = &settings.service;
    let generated = data_dir.as_ref().and_then(DataDir::existing_signing_secret);
    if generated.is_some() || settings.has_signing_secret() {
        let missing = SettingError::new("SIGNING_SECRET", "is required");
        let keys = service.key_source(|| generated.ok_or(missing));
        check_settings(&mut doctor, service, Some(keys));
    } else {
        check_settings(&mut doctor, service, None);
    }
    doctor.tls("posts tls", settings.posts_tls.load());
    doctor.tls("forward tls", settings.public.forward_auth_tls());
    doctor.file_modes(&[
        ("FORWARD_AUTH_TLS_KEY_FILE", settings.public.forward_auth_tls_key_file.as_deref()),
        ("POSTS_TLS_KEY_FILE", settings.posts_tls.posts_tls_key_file.as_deref()),
        ("DATABASE_URL_FILE", settings.database_url_file.as_deref()),
        ("POSTS_DATABASE_URL_FILE", settings.posts_database_url_file.as_deref()),
    ]);
    check_databases(&mut doctor, settings).await;
    let addresses = settings.client_addresses().into_iter();
    let addresses: Vec<_> =
        addresses.map(|(name, address)| (name, BindAddress::Address(address))).collect();
    if let Err(error) = settings.public.validate() {
        doctor.report("addresses", Err::<&str, _>(error));
    }
    doctor.addresses(&addresses, settings.ops_listen_addr).await;
    doctor.ignored_addresses(&IGNORED_ADDRESSES, true, settings.ops_listen_addr).await;
    doctor.finish()
}

fn check_data_dir(doctor: &mut Doctor, settings: &Settings) -> Option<DataDir> {
    const STEP: &str = "data";
    let folder = settings.data_dir.display();
    match DataDir::inspect(&settings.data_dir) {
        Ok(Some(found)) => {
            doctor.report(STEP, Ok::<_, &str>(format!("DATA_DIR: {folder} is private")));
            Some(found)
        }
        Ok(None) => {
            let text = format!("DATA_DIR: {folder} does not exist yet; the first start creates it");
            doctor.report(STEP, Ok::<_, &str>(text));
            None
        }
        Err(error) => {
            doctor.report(STEP, Err::<&str, _>(error));
            None
        }
    }
}

async fn check_databases(doctor: &mut Doctor, settings: &Settings) {
    let databases = match Databases::from_settings(settings) {
        Ok(databases) => databases,
        Err(error) => return doctor.report("users", Err::<&str, _>(error)),
    };
    let service = &settings.service;
    // An unset password is generated.
    let admin = service.admin_password().map(|password| match password {
        AdminPassword::Missing => AdminPassword::GeneratedInto(settings.data_dir.clone()),
        given => given,
    });
    let is_new = |database: &DatabaseUrl| match database.target() {
        DatabaseTarget::Sqlite(file) => {
            file.parent() == Some(&settings.data_dir) && !settings.data_dir.exists()
        }
        DatabaseTarget::Postgres(_) => false,
    };
    let Databases { users, posts } = databases;
    if is_new(&users) {
        let text = format!("{users}: the first start creates it, and the user admin");
        doctor.report("users", admin.map(|_| text));
    } else {
        check_users(doctor, "users", service, Ok(users), admin).await;
    }
    let Some(posts) = posts else { return };
    if is_new(&posts) {
        doctor.report("posts", Ok::<_, &str>(format!("{posts}: the first start creates it")));
    } else {
        let report = |step: &str, outcome: Result<_, _>| doctor.report(step, outcome);
        check_database(report, "posts", Ok(posts), store::inspect, system_time()).await;
    }
}
