//! The database, and the user `admin` in it.

use crate::{
    accounts::AdminPassword,
    clock::{Clock, SystemClock},
    settings::Settings,
    store::examine,
};
use rolegate_service_runtime::doctor::Check;

pub(super) async fn check(settings: &Settings) -> Vec<Check> {
    let url = match settings.store_url() {
        Ok(url) => url,
        Err(error) => return vec![Check::failed("database", error.to_string())],
    };
    let examined = examine(&url, SystemClock.unix_seconds()).await;
    let mut findings = examined.findings;
    findings.extend(examined.answer.map(|exists| admin(settings, exists)));
    findings
}

fn admin(settings: &Settings, exists: bool) -> Check {
    const SUBJECT: &str = "admin";
    if exists {
        return Check::ok(SUBJECT, "the user admin exists");
    }
    match settings.service.admin_password() {
        Ok(AdminPassword::Missing) => Check::failed(
            SUBJECT,
            "there is no user admin; DEFAULT_ADMIN_PASSWORD is needed to create it",
        ),
        Ok(_) => Check::ok(SUBJECT, "there is no user admin yet; the first start creates it"),
        Err(_) => {
            Check::failed(SUBJECT, "there is no user admin, and no password to create it with")
        }
    }
}
