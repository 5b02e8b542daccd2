//! A replica with mutual TLS, and the files of good and bad clients.

use super::replica::start;
use crate::{Authority, Process, TestSetup, Validity};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The address of the replica, and the names that resolve to it: the one in its certificate, and
/// another.
const ADDRESS: &str = "127.0.9.4";
const HOST: &str = "tls.test";
const OTHER_HOST: &str = "wrong.test";

/// Both names, in the format of `/etc/hosts`.
pub(super) const HOSTS: &str = "127.0.9.4 tls.test\n127.0.9.4 wrong.test\n";

/// A replica that speaks TLS and requires a client certificate.
#[derive(Debug)]
pub struct TlsReplica {
    process: Process,
    authority: Authority,
    stranger: Authority,
}

impl TlsReplica {
    pub(super) async fn start(setup: &TestSetup, database_url: &str, folder: &TempDir) -> Self {
        let (authority, stranger) = (Authority::new(), Authority::new());
        let own = authority.issue("auth-service", &[HOST], Validity::Current);
        let setup = setup
            .clone()
            .with_file("AUTH_TLS_CERT_FILE", &own.certificate)
            .with_file("AUTH_TLS_KEY_FILE", &own.key)
            .with_file("AUTH_TLS_CLIENT_CA_FILE", &authority.file());
        let process = start(&setup, database_url, ADDRESS, 0, folder).await;
        Self {
            process,
            authority,
            stranger,
        }
    }

    /// Describes the replica in JSON: its URLs, and PEM files by their purpose.
    pub fn describe(&self) -> Value {
        let url = |host| {
            format!(
                "https://{host}:{}",
                self.process.socket_address("grpc").port()
            )
        };
        let certificate = |issuer: &Authority, name, validity| {
            let files = issuer.issue(name, &[], validity);
            json!({ "cert": files.certificate, "key": files.key })
        };
        json!({
            "url": url(HOST),
            "url_of_another_name": url(OTHER_HOST),
            "ca": self.authority.file(),
            "client": certificate(&self.authority, "client", Validity::Current),
            "expired_client": certificate(&self.authority, "expired", Validity::Expired),
            "another_ca": self.stranger.file(),
            "client_of_another_ca": certificate(&self.stranger, "stranger", Validity::Current),
        })
    }
}
