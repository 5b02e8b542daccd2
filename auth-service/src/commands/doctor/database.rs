//! The database: it answers, has our schema or room for it, and takes writes.

use super::{Finding, clock, good, wrong};
use crate::{
    accounts::AdminPassword,
    settings::Settings,
    store::{Inspection, NotInspected, inspect},
};
use service_runtime::settings::SettingError;
use sql_store::{NotOpened, Place, Schema, StoreUrl, sqlite};

const SUBJECT: &str = "database";

pub(super) async fn check(settings: &Settings) -> Vec<Finding> {
    let url = match settings.store_url() {
        Ok(url) => url,
        Err(error) => return vec![wrong(SUBJECT, error.to_string())],
    };
    if let Place::Sqlite(file) = url.place() {
        match sqlite::is_there(file) {
            Ok(true) => {}
            Ok(false) => {
                let new =
                    format!("{} does not exist yet; the first start makes it", file.display());
                return vec![good(SUBJECT, new), admin(settings, false)];
            }
            Err(problem) => return vec![setting(&url.wrong(problem))],
        }
    }
    match inspect(&url).await {
        Ok(found) => {
            let mut findings = vec![good(SUBJECT, format!("{url} answers"))];
            findings.extend(judge(&url, &found));
            findings.push(clock::check(found.clock));
            if !matches!(found.schema, Schema::Foreign(_)) {
                findings.push(admin(settings, found.has_admin));
            }
            findings
        }
        Err(NotInspected::NotOpened(NotOpened::Setting(error))) => vec![setting(&error)],
        Err(error) => vec![wrong(SUBJECT, error.to_string())],
    }
}

/// In the words of a start.
fn setting(error: &SettingError) -> Finding {
    wrong(SUBJECT, error.to_string())
}

fn judge(url: &StoreUrl, found: &Inspection) -> Vec<Finding> {
    let schema = match &found.schema {
        Schema::Current => good(SUBJECT, "the schema is up to date"),
        Schema::Missing { may_be_made: true } => {
            good(SUBJECT, "there is no schema yet; migrate or the first start makes it")
        }
        Schema::Missing { may_be_made: false } => wrong(
            SUBJECT,
            "there is no schema yet, and this database user may not make it; \
             GRANT CREATE on the schema, or let the user own the database",
        ),
        Schema::Older { missing } => good(
            SUBJECT,
            format!("{missing} migration(s) are missing; migrate or the next start applies them"),
        ),
        Schema::Newer => good(SUBJECT, "a newer Rolegate made the schema; this one works with it"),
        Schema::Foreign(why) => setting(&url.foreign(why)),
    };
    let writes = (!found.takes_writes).then(|| {
        wrong(SUBJECT, "it takes no writes (a standby, or a read-only file); use the primary")
    });
    [Some(schema), writes].into_iter().flatten().collect()
}

fn admin(settings: &Settings, exists: bool) -> Finding {
    if exists {
        return good("admin", "the user admin exists");
    }
    match settings.service.admin_password() {
        Ok(AdminPassword::Missing) => {
            wrong("admin", "there is no user admin; DEFAULT_ADMIN_PASSWORD is needed to create it")
        }
        Ok(_) => good("admin", "there is no user admin yet; the first start creates it"),
        Err(_) => wrong("admin", "there is no user admin, and no password to create it with"),
    }
}
