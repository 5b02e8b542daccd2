//! The database: it answers, has our schema or room for it, and takes writes.

use super::{Finding, clock, good, wrong};
use crate::{
    accounts::AdminPassword,
    settings::Settings,
    store::{Inspection, Schema, inspect},
};
use sql_store::StoreUrl;
use std::path::Path;

const SUBJECT: &str = "database";

pub(super) async fn check(settings: &Settings) -> Vec<Finding> {
    let url = match settings.store_url() {
        Ok(url) => url,
        Err(error) => return vec![wrong(SUBJECT, error.to_string())],
    };
    if let StoreUrl::Sqlite(file) = &url
        && !file.exists()
    {
        return vec![new_file(file), admin(settings, false)];
    }
    match inspect(&url).await {
        Ok(found) => {
            let mut findings = vec![good(SUBJECT, format!("{url} answers"))];
            findings.extend(judge(&found));
            findings.push(clock::check(found.clock));
            findings.push(admin(settings, found.has_admin));
            findings
        }
        Err(error) => vec![wrong(SUBJECT, format!("{url} cannot be used: {error}"))],
    }
}

fn new_file(file: &Path) -> Finding {
    let folder = file.parent().filter(|path| !path.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let path = file.display();
    if folder.is_dir() {
        good(SUBJECT, format!("{path} does not exist yet; the first start makes it"))
    } else {
        let folder = folder.display();
        wrong(SUBJECT, format!("{path} cannot be made: there is no folder {folder}"))
    }
}

fn judge(found: &Inspection) -> Vec<Finding> {
    let schema = match found.schema {
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
        Schema::Foreign(why) => wrong(SUBJECT, format!("the schema is not ours: {why}")),
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
