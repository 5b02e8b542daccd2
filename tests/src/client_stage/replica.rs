//! Starts a replica of auth-service on the database of the deployment.

use crate::{Process, TestSetup};
use tempfile::TempDir;

pub(super) async fn start(
    setup: &TestSetup,
    database_url: &str,
    address: &str,
    port: u16,
    folder: &TempDir,
) -> Process {
    let mut settings = setup.auth_settings(database_url);
    settings.insert("AUTH_LISTEN_ADDR".to_owned(), format!("{address}:{port}"));
    let replica = Process::start(setup.auth_program(), &settings, folder.path())
        .ready()
        .await;
    replica.wait_for_readiness(200).await;
    replica
}
