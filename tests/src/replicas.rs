//! Several auth-services behind one name.

use crate::{Api, Process, Program, TestDatabase, TestSetup};
use std::fs;
use tempfile::TempDir;

/// Several auth-services that share a database, and any number of gateways that find them by one
/// name.
#[derive(Debug)]
pub struct Replicas {
    /// The processes of the auth-services.
    pub auths: Vec<Process>,
    setup: TestSetup,
    folder: TempDir,
    /// The database. The last field, so that it is dropped after the processes that use it.
    _database: TestDatabase,
}

impl Replicas {
    /// Starts this many auth-services with these settings. Works only on Linux, because of the
    /// addresses.
    pub async fn start(setup: TestSetup, count: u8) -> Self {
        let (database, folder) = (setup.create_database().await, tempfile::tempdir());
        let folder = folder.expect("a temporary folder");
        let (mut auths, mut port) = (Vec::new(), 0);
        let mut hosts = String::new();
        for last in 2..2 + count {
            let mut settings = setup.auth_settings(&database.url());
            // All auth-services listen on one port, because a name can have many addresses but only
            // one port.
            settings.insert(
                "AUTH_LISTEN_ADDR".to_owned(),
                format!("127.0.0.{last}:{port}"),
            );
            let auth = Process::start(setup.auth_program(), &settings, folder.path())
                .ready()
                .await;
            port = auth.socket_address("grpc").port();
            hosts += &["127.0.0.", &last.to_string(), " auth.test\n"].concat();
            auths.push(auth);
        }
        fs::write(folder.path().join("hosts"), hosts).expect("a writable folder");
        Self {
            auths,
            setup,
            folder,
            _database: database,
        }
    }

    /// Starts a gateway that calls all of the auth-services.
    pub async fn gateway(&self) -> Process {
        let address = self.auths[0].socket_address("grpc");
        let mut settings = self.setup.gateway_settings(address, None);
        let url = format!("http://auth.test:{}", address.port());
        settings.insert("AUTH_SERVICE_URL".to_owned(), url);
        let (folder, hosts) = (self.folder.path(), self.folder.path().join("hosts"));
        Process::start_with_hosts(Program::Gateway, &settings, folder, &hosts)
            .ready()
            .await
    }
}

/// Returns how many calls an auth-service has answered, of methods with this text in their name.
pub async fn answered_calls(auth: &Process, method: &str) -> u64 {
    let metrics = Api::at(&auth.address("ops")).get("/metrics").await;
    let is_of_method = |line: &&str| {
        line.starts_with("rolegate_grpc_requests_total") && line.contains(&format!(r#"{method}""#))
    };
    let count = |line: &str| {
        line.rsplit(' ')
            .next()
            .and_then(|count| count.parse::<u64>().ok())
    };
    metrics
        .body
        .lines()
        .filter(is_of_method)
        .filter_map(count)
        .sum()
}
