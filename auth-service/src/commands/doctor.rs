//! `doctor`.

use crate::{
    accounts::AdminPassword,
    clock::system_time,
    host::failed,
    password::HashCounts,
    settings::{ServiceSettings, Settings},
    store::{self, Transfer},
    token::KeySource,
};
use rolegate_grpc_server::IGNORED_ADDRESSES;
use rolegate_http_server::doctor::Doctor;
use rolegate_program::{program::Failure, settings::SettingError};
use rolegate_sql_store::{DatabaseUrl, Schema, check_database};
use secrecy::ExposeSecret;

/// Runs the steps of `serve` in its order, and goes on after a failure.
pub(super) async fn run(settings: &Settings) -> Result<(), Failure> {
    let mut doctor = Doctor::default();
    doctor.open_files();
    let (database, service) = (&settings.database, &settings.service);
    check_settings(&mut doctor, service, Some(settings.keys()));
    doctor.file_modes(&[("DATABASE_URL_FILE", database.database_url_file.as_deref())]);
    check_users(&mut doctor, "database", service, database.url(), service.admin_password()).await;
    let grpc = ("AUTH_LISTEN_ADDR", settings.auth_listen_addr);
    doctor.addresses(&[grpc], settings.ops_listen_addr).await;
    doctor.ignored_addresses(&IGNORED_ADDRESSES, false, settings.ops_listen_addr).await;
    doctor.finish()
}

/// Checks TLS, the secrets, and the modes of their files. `keys`: `None` if the first start generates
/// them.
pub fn check_settings(
    doctor: &mut Doctor,
    service: &ServiceSettings,
    keys: Option<Result<KeySource, SettingError>>,
) {
    doctor.tls("tls", service.tls());
    let keys = match keys {
        Some(keys) => keys
            .and_then(|keys| keys.read())
            .map(|ring| format!("{} accepted", ring.kids().count())),
        None => Ok("there is none yet; the first start generates it".to_owned()),
    };
    doctor.report("keys", keys);
    if service.password_pepper.is_some() || service.password_pepper_file.is_some() {
        let peppers = service.peppers();
        doctor.report("pepper", peppers.map(|peppers| format!("{} given", peppers.count())));
    }
    if service.password_blocklist_file.is_some() {
        let rules = service.password_rules();
        let count = rules.map(|rules| rules.blocklist.map_or(0, |list| list.count()));
        doctor.report("blocklist", count.map(|count| format!("{count} passwords refused")));
    }
    doctor.file_modes(&[
        ("SIGNING_SECRET_FILE", service.signing_secret_file.as_deref()),
        ("SIGNING_SECRETS_ACCEPTED_FILE", service.signing_secrets_accepted_file.as_deref()),
        ("PASSWORD_PEPPER_FILE", service.password_pepper_file.as_deref()),
        ("AUTH_TLS_KEY_FILE", service.auth_tls_key_file.as_deref()),
        ("DEFAULT_ADMIN_PASSWORD_FILE", service.default_admin_password_file.as_deref()),
    ]);
}

/// Checks the database of users, as `step`, and whether the user admin exists or can be created.
pub async fn check_users(
    doctor: &mut Doctor,
    step: &str,
    service: &ServiceSettings,
    database: Result<DatabaseUrl, SettingError>,
    admin: Result<AdminPassword, SettingError>,
) {
    let database = database.and_then(|database| service.with_reads(database));
    let url = database.as_ref().ok().cloned();
    let found = check_database(
        |step, outcome| doctor.report(step, outcome),
        step,
        database,
        store::inspect,
        system_time(),
    )
    .await;
    if let Some(locked_out @ 1..) = found.as_ref().and_then(|found| found.count) {
        let problem = format!(
            "the clock of the database is behind the last revocation of {locked_out} user(s), who cannot \
             log in; correct the clock, or run user revoke-tokens"
        );
        doctor.report("logins", Err::<&str, _>(problem));
    }
    if let (Some(url), Some(Schema::Current)) = (url, found.as_ref().map(|found| &found.schema)) {
        check_hashes(doctor, &url).await;
    }
    match admin {
        Ok(password) => {
            if let Some(found) = found {
                doctor.report("admin", check_admin(found.answer == Some(true), &password));
            }
        }
        Err(error) => doctor.report("admin", Err::<&str, _>(error)),
    }
}

/// Notes imported hashes that are weak, and users without one.
async fn check_hashes(doctor: &mut Doctor, url: &DatabaseUrl) {
    match count_hashes(url).await {
        Ok(counts) => counts.sentences().iter().for_each(|text| Doctor::note("passwords", text)),
        Err(error) => doctor.report("passwords", Err::<&str, _>(error)),
    }
}

/// Opens the database only where that changes nothing.
async fn count_hashes(url: &DatabaseUrl) -> Result<HashCounts, Failure> {
    let transfer = Transfer::open(url).await?;
    let mut counts = HashCounts::default();
    let mut users = transfer.export().await.map_err(failed)?;
    loop {
        let page = users.next_page().await.map_err(failed)?;
        if page.is_empty() {
            break;
        }
        for user in &page {
            counts.add(user.password_hash.expose_secret());
        }
    }
    drop(users);
    transfer.close().await;
    Ok(counts)
}

/// Whether the user admin exists or can be created.
fn check_admin(exists: bool, password: &AdminPassword) -> Result<&'static str, &'static str> {
    match password {
        _ if exists => Ok("the user admin exists"),
        AdminPassword::Missing => {
            Err("DEFAULT_ADMIN_PASSWORD: is required, because the user admin does not exist yet")
        }
        _ => Ok("there is no user admin yet; the first start creates it"),
    }
}
