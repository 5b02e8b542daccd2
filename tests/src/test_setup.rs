//! Describes the deployment that a test wants: which store, which processes, which settings.

use crate::{Authority, Certificate, Program, Store, TestDatabase, program::HASH_COST};
use reqwest::Url;
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

/// The password of the user `admin`.
pub const ADMIN_PASSWORD: &str = "the password of the admin";

/// The secret with which access tokens are signed.
pub const SIGNING_SECRET: &str = "a signing secret of more than 32 bytes";

/// The key with which the secrets of second factors are encrypted.
pub const SECOND_FACTOR_KEY: &str = "a key of second factors of more than 32 bytes";

/// A deployment to start.
#[derive(Clone, Debug)]
pub struct TestSetup {
    pub(crate) store: Store,
    pub(crate) is_all_in_one: bool,
    pub(crate) has_fast_hashes: bool,
    pub(crate) has_database_proxy: bool,
    /// The URL of the PostgreSQL server; `None` for the server that tests share.
    pub(crate) server: Option<Url>,
    pub(crate) settings: BTreeMap<String, String>,
}

impl TestSetup {
    /// Returns `rolegate` on this store, with everything in one process.
    #[must_use]
    pub fn all_in_one(store: Store) -> Self {
        Self {
            store,
            is_all_in_one: true,
            has_fast_hashes: true,
            has_database_proxy: false,
            server: None,
            settings: BTreeMap::new(),
        }
    }

    /// Returns auth-service, posts-service and gateway on this store, each in its own process.
    #[must_use]
    pub fn split(store: Store) -> Self {
        Self {
            is_all_in_one: false,
            ..Self::all_in_one(store)
        }
    }

    /// Adds a setting of every program.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.settings.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Encrypts all gRPC. Services present `own`, and accept only callers with a certificate from
    /// `authority`. Rolegate's programs present `caller` when they call.
    #[must_use]
    pub fn with_tls(self, authority: &Authority, own: &Certificate, caller: &Certificate) -> Self {
        let ca_file = authority.file();
        ["AUTH", "POSTS"].into_iter().fold(self, |setup, service| {
            [
                ("TLS_CERT_FILE", &own.certificate),
                ("TLS_KEY_FILE", &own.key),
                ("TLS_CLIENT_CA_FILE", &ca_file),
                ("CLIENT_TLS_CERT_FILE", &caller.certificate),
                ("CLIENT_TLS_KEY_FILE", &caller.key),
                ("CLIENT_TLS_CA_FILE", &ca_file),
            ]
            .into_iter()
            .fold(setup, |setup, (name, path)| {
                setup.with_file(&format!("{service}_{name}"), path)
            })
        })
    }

    /// Adds a setting of every program whose value is a path.
    #[must_use]
    pub fn with_file(self, name: &str, path: &Path) -> Self {
        self.with(name, &path.display().to_string())
    }

    /// Removes a setting.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.settings.remove(name);
        self
    }

    /// Uses the programs as released, with hashes of the default cost.
    #[must_use]
    pub fn with_real_hashes(self) -> Self {
        Self {
            has_fast_hashes: false,
            ..self
        }
    }

    /// Uses hashes of this bcrypt cost.
    #[must_use]
    pub fn with_hash_cost(self, cost: u32) -> Self {
        self.with(HASH_COST, &cost.to_string())
    }

    /// Uses hashes that take at least `time` and at most twice as long on this machine, as measured
    /// now with this deployment.
    pub async fn with_hash_time(self, time: Duration) -> Self {
        const PROBE_COST: u32 = 9;
        const PROBES: u32 = 3;
        let probe = self.clone().with_hash_cost(PROBE_COST).start().await;
        let started = Instant::now();
        for number in 0..PROBES {
            probe
                .try_log_in(&format!("stranger {number}"), "wrong")
                .await
                .expect(401);
        }
        let mut cost = PROBE_COST;
        let mut measured = started.elapsed() / PROBES;
        while measured < time {
            // Each step doubles the work.
            cost += 1;
            measured *= 2;
        }
        self.with_hash_cost(cost)
    }

    /// Puts a proxy between the services and PostgreSQL.
    #[must_use]
    pub fn with_database_proxy(self) -> Self {
        Self {
            has_database_proxy: true,
            ..self
        }
    }

    /// Uses a database on this PostgreSQL server instead of the shared one.
    #[must_use]
    pub fn on_server(self, server: Url) -> Self {
        Self {
            server: Some(server),
            ..self
        }
    }

    /// Creates an empty database for this setup.
    pub(crate) async fn create_database(&self) -> TestDatabase {
        match &self.server {
            Some(server) => TestDatabase::create_on(server.clone()).await,
            None => TestDatabase::create(self.store).await,
        }
    }

    /// Returns the store.
    #[must_use]
    pub fn store(&self) -> Store {
        self.store
    }

    /// Returns whether everything is in one process.
    #[must_use]
    pub fn is_all_in_one(&self) -> bool {
        self.is_all_in_one
    }

    /// Returns the program that serves auth.
    #[must_use]
    pub fn auth_program(&self) -> Program {
        match (self.is_all_in_one, self.has_fast_hashes) {
            (true, true) => Program::FastHashRolegate,
            (true, false) => Program::Rolegate,
            (false, true) => Program::FastHashAuthService,
            (false, false) => Program::AuthService,
        }
    }

    /// Returns the settings of [`TestSetup::auth_program`] on this database.
    #[must_use]
    pub fn auth_settings(&self, database_url: &str) -> BTreeMap<String, String> {
        let mut settings = listeners(&["AUTH", "OPS"]);
        if self.is_all_in_one {
            settings.append(&mut listeners(&[
                "BEARER",
                "BASIC",
                "FORWARD_AUTH",
                "POSTS",
            ]));
        }
        settings.extend(
            [
                ("DATABASE_URL", database_url),
                ("SIGNING_SECRET", SIGNING_SECRET),
                ("SECOND_FACTOR_KEY", SECOND_FACTOR_KEY),
                ("DEFAULT_ADMIN_PASSWORD", ADMIN_PASSWORD),
                ("LAME_DUCK_SECONDS", "0"),
                // The limit is off, because most tests fail logins on purpose.
                ("LOGIN_FAILURE_LIMIT", "0"),
            ]
            .map(owned),
        );
        settings.extend(self.settings.clone());
        if settings.contains_key("SIGNING_SECRET_FILE") {
            settings.remove("SIGNING_SECRET");
        }
        settings
    }

    /// Returns the settings of posts-service on this database, with this auth-service.
    #[must_use]
    pub fn posts_settings(&self, database_url: &str, auth: SocketAddr) -> BTreeMap<String, String> {
        let mut settings = listeners(&["POSTS", "OPS"]);
        settings.extend([("DATABASE_URL", database_url), ("LAME_DUCK_SECONDS", "0")].map(owned));
        settings.insert("AUTH_SERVICE_URL".to_owned(), self.url("AUTH", auth));
        settings.extend(self.settings.clone());
        settings
    }

    /// Returns the settings of a gateway that calls this auth-service and this posts-service.
    #[must_use]
    pub fn gateway_settings(
        &self,
        auth: SocketAddr,
        posts: Option<SocketAddr>,
    ) -> BTreeMap<String, String> {
        let mut settings = listeners(&["BEARER", "BASIC", "FORWARD_AUTH", "OPS"]);
        settings.extend([("LAME_DUCK_SECONDS", "0")].map(owned));
        settings.insert("AUTH_SERVICE_URL".to_owned(), self.url("AUTH", auth));
        let posts = posts.map(|posts| ("POSTS_SERVICE_URL".to_owned(), self.url("POSTS", posts)));
        settings.extend(posts);
        settings.extend(self.settings.clone());
        settings
    }

    /// Returns the URL at which callers reach a service.
    fn url(&self, service: &str, address: SocketAddr) -> String {
        let ca_file = format!("{service}_CLIENT_TLS_CA_FILE");
        let is_encrypted = self.settings.contains_key(&ca_file);
        format!(
            "{}://{address}",
            if is_encrypted { "https" } else { "http" }
        )
    }
}

fn listeners(names: &[&str]) -> BTreeMap<String, String> {
    names
        .iter()
        .map(|name| (format!("{name}_LISTEN_ADDR"), "127.0.0.1:0".to_owned()))
        .collect()
}

pub(crate) fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}
