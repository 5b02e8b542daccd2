//! The checks of `doctor` that concern users, for auth-service and for rolegate.
//!
//! `check_settings` needs no database. `check_users` opens the database and changes nothing in it.

use crate::{
    accounts::AdminPassword,
    second_factor::Mode,
    settings::ServiceSettings,
    store::{self, UnsealedRows},
    tokens::KeySource,
};
use rolegate_program::{doctor::Doctor, settings::SettingError};
use rolegate_sql_store::{DatabaseUrl, check_database};

/// The number of seconds that a row may wait to be sealed before `doctor` reports it. A running
/// service seals a row within a second.
const MAX_UNSEALED_SECONDS: i64 = 60;

/// Warns operators who set ends of accounts, because a command cannot see the versions of the replicas.
pub(super) const OLD_REPLICAS_IGNORE_ENDS: &str = "a replica of a release without ends of accounts still admits a user \
                                             whose account has ended, so every replica must be of this release";

/// Checks the settings that need no database, such as TLS, the secrets and the modes of their
/// files. `keys` are the keys of access tokens; `None` if the first start generates the signing
/// key.
pub fn check_settings(
    doctor: &mut Doctor,
    service: &ServiceSettings,
    keys: Option<Result<KeySource, SettingError>>,
) {
    doctor.tls("tls", service.tls());
    match keys {
        Some(keys) => {
            let keyring = keys.and_then(|keys| keys.read());
            let accepted = keyring.map(|keyring| format!("{} accepted", keyring.kids().count()));
            doctor.report("keys", accepted);
        }
        None => doctor.ok("keys", "there is none yet; the first start generates it"),
    }
    let peppers = service
        .peppers()
        .map(|peppers| format!("{} given", peppers.count()));
    doctor.report("pepper", peppers);
    let factors = service
        .second_factors()
        .map(|policy| match (policy.mode, policy.keys) {
            (Mode::Off, _) => "off",
            (_, None) => "nobody can turn one on without SECOND_FACTOR_KEY",
            (_, Some(_)) => "users can turn one on",
        });
    doctor.report("factors", factors);
    doctor.require("sessions", service.sessions());
    doctor.require("user changes", service.watchers());
    doctor.require("sign-in", service.sign_in.read());
    let blocklist = service.password_rules().map(|rules| {
        let count = rules.blocklist.map_or(0, |blocklist| blocklist.count());
        format!("{count} passwords refused")
    });
    doctor.report("blocklist", blocklist);
    doctor.file_modes(&[
        ("SIGNING_SECRET_FILE", &service.signing_secret_file),
        (
            "SIGNING_SECRETS_ACCEPTED_FILE",
            &service.signing_secrets_accepted_file,
        ),
        ("SECOND_FACTOR_KEY_FILE", &service.second_factor_key_file),
        (
            "SECOND_FACTOR_KEYS_ACCEPTED_FILE",
            &service.second_factor_keys_accepted_file,
        ),
        ("PASSWORD_PEPPER_FILE", &service.password_pepper_file),
        ("AUTH_TLS_KEY_FILE", &service.auth_tls_key_file),
        (
            "DEFAULT_ADMIN_PASSWORD_FILE",
            &service.default_admin_password_file,
        ),
    ]);
}

/// Checks the database of users, and that its content fits the settings: roles, second factors, and
/// the user `admin`, who must exist unless the first start can create that user. Also reports users
/// who cannot log in, and rows of the record that wait too long to be sealed.
///
/// `check` is the name under which the check of the database is reported.
pub async fn check_users(
    doctor: &mut Doctor,
    check: &str,
    service: &ServiceSettings,
    database: Result<DatabaseUrl, SettingError>,
    admin: Result<AdminPassword, SettingError>,
) {
    let database = match database.and_then(|database| service.with_reads(database)) {
        Ok(database) => database,
        Err(error) => return doctor.fail(check, error),
    };
    let inspected = store::inspect(&database).await;
    let Some(inspection) = check_database(doctor, check, &database, inspected) else {
        return;
    };
    let facts = inspection.facts;
    let locked_out = facts.locked_out_users;
    if locked_out > 0 {
        doctor.fail(
            "logins",
            format!(
                "the clock of the database is behind the last revocation of {locked_out} user(s), \
                 who cannot log in; correct the clock, or run user revoke-tokens"
            ),
        );
    }
    if let Some(rows) = &facts.unsealed_rows {
        check_sealing(doctor, rows);
    }
    let roles = &service.extra_roles;
    doctor.require("roles", roles.check(facts.roles_in_use));
    doctor.require("groups", roles.check_groups(&facts.group_names));
    if facts.users_with_end > 0 {
        let users = facts.users_with_end;
        doctor.note(
            "ends",
            format!("the accounts of {users} user(s) have an end; {OLD_REPLICAS_IGNORE_ENDS}"),
        );
    }
    // A policy that cannot be read is not reported here, because `check_settings` reports it.
    if let Ok(policy) = service.second_factors()
        && let Err(error) = policy.check_stored(&facts.second_factor_key_ids)
    {
        doctor.fail("factors", error);
    }
    check_admin(doctor, admin, facts.admin_exists);
}

/// Reports rows of the record that have waited too long to be sealed: as a failure if a service
/// seems to be running, otherwise as a note.
fn check_sealing(doctor: &mut Doctor, rows: &UnsealedRows) {
    let UnsealedRows { oldest_age, span } = *rows;
    if oldest_age <= MAX_UNSEALED_SECONDS {
        return;
    }
    let text = format!(
        "the oldest row of the record that is not sealed has waited for {oldest_age} seconds"
    );
    // If old and new rows wait together, a service is running but does not seal: a stopped service
    // would not write new rows.
    let newest_age = oldest_age - span;
    if span > MAX_UNSEALED_SECONDS && newest_age < MAX_UNSEALED_SECONDS {
        doctor.fail(
            "record",
            format!("{text}, and newer ones were written; see the warnings of auth-service"),
        );
    } else {
        doctor.note(
            "record",
            format!("{text}; the next start of auth-service seals it"),
        );
    }
}

fn check_admin(doctor: &mut Doctor, password: Result<AdminPassword, SettingError>, exists: bool) {
    match password {
        Err(error) => doctor.fail("admin", error),
        Ok(_) if exists => doctor.ok("admin", "the user admin exists"),
        Ok(AdminPassword::Missing) => doctor.fail(
            "admin",
            "DEFAULT_ADMIN_PASSWORD: is required, because the user admin does not exist yet",
        ),
        Ok(_) => doctor.ok(
            "admin",
            "there is no user admin yet; the first start creates it",
        ),
    }
}
