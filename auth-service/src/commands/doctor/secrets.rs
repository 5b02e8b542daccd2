//! The secrets: there, long enough, and nobody else's to read.

use crate::{accounts::AdminPassword, settings::Settings};
use rolegate_service_runtime::{
    doctor::{Check, certificate, secret_files},
    settings::SettingError,
};

const SUBJECT: &str = "secrets";

pub(super) fn check(settings: &Settings) -> Vec<Check> {
    let service = &settings.service;
    let missing = || Err(SettingError::new("SIGNING_SECRET", "is required and not set"));
    let signing = match service.key_source(missing).and_then(|keys| keys.read()) {
        Ok(keyring) => {
            let accepted = keyring.kids().count();
            Check::ok(SUBJECT, format!("SIGNING_SECRET is long enough; keys accepted: {accepted}"))
        }
        Err(error) => Check::failed(SUBJECT, error.to_string()),
    };
    let tls = certificate(service.tls());
    let admin = match service.admin_password() {
        Ok(AdminPassword::Missing) => Check::ok(
            SUBJECT,
            "DEFAULT_ADMIN_PASSWORD is not set: needed until the user admin exists",
        ),
        Ok(_) => Check::ok(SUBJECT, "DEFAULT_ADMIN_PASSWORD can be a password"),
        Err(error) => Check::failed(SUBJECT, error.to_string()),
    };
    let files = secret_files(&[
        ("SIGNING_SECRET_FILE", service.signing_secret_file.as_deref()),
        ("SIGNING_SECRETS_ACCEPTED_FILE", service.signing_secrets_accepted_file.as_deref()),
        ("AUTH_TLS_KEY_FILE", service.auth_tls_key_file.as_deref()),
        ("DEFAULT_ADMIN_PASSWORD_FILE", service.default_admin_password_file.as_deref()),
        ("DATABASE_URL_FILE", settings.database_url_file.as_deref()),
    ]);
    [signing, admin].into_iter().chain(tls).chain(files).collect()
}
