//! `posts-service doctor`.

use crate::{
    clock::{Clock, SystemClock},
    settings::Settings,
    store,
};
use rolegate_grpc_server::IGNORED_ADDRESSES;
use rolegate_http_server::doctor::Doctor;
use rolegate_program::program::Failure;
use rolegate_sql_store::check_database;

/// Runs the steps of `serve` in its order, and goes on after a failure.
pub(super) async fn run(settings: &Settings) -> Result<(), Failure> {
    let mut doctor = Doctor::default();
    doctor.open_files();
    doctor.tls("tls", settings.tls.load());
    doctor.file_modes(&[
        ("DATABASE_URL_FILE", settings.database.database_url_file.as_deref()),
        ("POSTS_TLS_KEY_FILE", settings.tls.posts_tls_key_file.as_deref()),
        ("AUTH_CLIENT_TLS_KEY_FILE", settings.auth_tls.auth_client_tls_key_file.as_deref()),
    ]);
    let now = SystemClock.unix_millis().unsigned_abs() / 1000;
    let report = |step: &str, outcome: Result<_, _>| doctor.report(step, outcome);
    check_database(report, "database", settings.database.url(), store::inspect, now).await;
    for line in settings.auth_tls.probe(&settings.auth_service_url).await {
        doctor.report("auth", line);
    }
    let grpc = ("POSTS_LISTEN_ADDR", settings.posts_listen_addr);
    doctor.addresses(&[grpc], settings.ops_listen_addr).await;
    doctor.ignored_addresses(&IGNORED_ADDRESSES, false, settings.ops_listen_addr).await;
    doctor.finish()
}
