//! The steps of `doctor`.

use crate::{data_dir::DataDir, databases::Databases, settings::Settings};
use rolegate_auth_service::{
    accounts::AdminPassword,
    commands::doctor::{check_settings, check_users},
};
use rolegate_gateway::IGNORED_ADDRESSES;
use rolegate_posts_service::store;
use rolegate_program::{doctor::Doctor, settings::SettingError};
use rolegate_sql_store::{DatabaseTarget, DatabaseUrl, check_database};

/// Runs the steps of `serve` in its order, and goes on after a failure.
pub(super) async fn check(settings: &Settings, doctor: &mut Doctor) {
    let mut data_dir = None;
    let inspected = DataDir::inspect(&settings.data_dir).map(|found| {
        data_dir = found;
        let is_there = "is private";
        let is_new = "does not exist yet; the first start creates it";
        let state = if data_dir.is_some() { is_there } else { is_new };
        format!("DATA_DIR: {} {state}", settings.data_dir.display())
    });
    doctor.report("data", inspected);
    let generated = data_dir.and_then(|data_dir| data_dir.existing_signing_secret());
    let keys = (generated.is_some() || settings.has_signing_secret()).then(|| {
        let missing = SettingError::new("SIGNING_SECRET", "is required");
        settings.service.key_source(|| generated.ok_or(missing))
    });
    check_settings(doctor, &settings.service, keys);
    doctor.tls("posts tls", settings.posts_tls.load());
    doctor.tls("forward tls", settings.public.forward_auth_tls());
    doctor.file_modes(&[
        ("FORWARD_AUTH_TLS_KEY_FILE", &settings.public.forward_auth_tls_key_file),
        ("POSTS_TLS_KEY_FILE", &settings.posts_tls.posts_tls_key_file),
        ("DATABASE_URL_FILE", &settings.database_url_file),
        ("POSTS_DATABASE_URL_FILE", &settings.posts_database_url_file),
    ]);
    match Databases::from_settings(settings) {
        Ok(databases) => check_databases(settings, databases, doctor).await,
        Err(error) => doctor.fail("users", error),
    }
    if let Err(error) = settings.public.validate() {
        doctor.fail("addresses", error);
    }
    IGNORED_ADDRESSES.check(doctor, true, settings.ops_listen_addr).await;
}

async fn check_databases(
    settings: &Settings,
    Databases { users, posts }: Databases,
    doctor: &mut Doctor,
) {
    let data_dir = &settings.data_dir;
    let is_new = |database: &DatabaseUrl| {
        let DatabaseTarget::Sqlite(file) = database.target() else { return false };
        file.parent() == Some(data_dir) && !data_dir.exists()
    };
    // An unset password is generated.
    let admin = settings.service.admin_password().map(|password| match password {
        AdminPassword::Missing => AdminPassword::GeneratedInto(data_dir.clone()),
        given => given,
    });
    if is_new(&users) {
        let text = format!("{users}: the first start creates it, and the user admin");
        doctor.report("users", admin.map(|_| text));
    } else {
        check_users(doctor, "users", &settings.service, Ok(users), admin).await;
    }
    match posts {
        Some(posts) if is_new(&posts) => {
            doctor.ok("posts", format!("{posts}: the first start creates it"));
        }
        Some(posts) => drop(check_database(doctor, "posts", &posts, store::inspect(&posts).await)),
        None => {}
    }
}
