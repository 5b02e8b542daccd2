//! `auth-service doctor`: everything that would keep this auth-service from working, at one look.
//! Changes nothing, and goes on after what is wrong.

mod database;
mod secrets;

use crate::settings::Settings;
use rolegate_service_runtime::{
    doctor::{self, addresses},
    program::Failure,
};

/// Prints a line for each check; fails when one found something wrong.
pub(super) async fn run(settings: &Settings) -> Result<(), Failure> {
    let mut findings = secrets::check(settings);
    findings.extend(database::check(settings).await);
    let grpc = ("AUTH_LISTEN_ADDR", settings.service.auth_listen_addr);
    findings.extend(addresses(grpc, settings.ops_listen_addr).await);
    doctor::report(&findings)
}
