//! The service as a library: opened, seeded, then served over one or more transports.

use crate::{
    accounts::{Accounts, AdminPassword, InitialPassword, Policy, SeedError},
    clock::SystemClock,
    grpc::AuthGrpc,
    metrics,
    password::{Hasher, core_dumps},
    store::{self, UserStore},
    token::{self, KeySource, Tokens},
};
use rolegate_grpc_server::{Connections, GrpcServer};
use rolegate_proto::{
    AUTH_DESCRIPTORS, SERVICE_NAME, auth_v1::auth_service_server::AuthServiceServer,
};
use rolegate_service_runtime::{
    cidr_set::CidrSet, program::Failure, readiness::Readiness, settings::SettingError,
    shutdown::Shutdown,
};
use rolegate_sql_store::DatabaseUrl;
use std::sync::Arc;
use tonic::service::Routes;

/// The largest message that is read: room for a batch of the longest tokens, no more.
const LARGEST_MESSAGE: usize = 2 * 1024 * 1024;

/// What the service stands on.
#[derive(Debug)]
pub struct Config {
    /// Where users are kept.
    pub store_url: DatabaseUrl,
    /// Where the keys of access tokens are.
    pub keys: KeySource,
    /// Where the first admin's password comes from.
    pub admin_password: AdminPassword,
    /// Where a generated one was left; forgotten when `admin` gets another one.
    pub initial_password: InitialPassword,
    /// Cost of new password hashes: base-2 logarithm of the rounds.
    pub bcrypt_cost: u32,
    /// Threads and lanes of the password engine.
    pub engine: rolegate_bcrypt_lanes::Settings,
    /// The operator's decisions.
    pub policy: Policy,
    /// Callers whose word about the end user's address is believed.
    pub trusted_gateways: CidrSet,
}

/// The service, ready to be served: its store is open and up to date, its admin exists.
pub struct AuthService {
    server: GrpcServer,
    store: Arc<dyn UserStore>,
    keys: KeySource,
    tokens: Tokens,
}

impl AuthService {
    /// Opens the store (waiting for a PostgreSQL that is not there yet), brings it up to date and
    /// seeds the admin. Binds nothing.
    pub async fn open(foundation: Config) -> Result<Self, Failure> {
        let keyring = foundation.keys.read()?;
        if !token::self_test() {
            return Err(Failure::Other("HS256 does not compute what RFC 7515 says it must".into()));
        }
        if !foundation.policy.basic_cache_ttl.is_zero()
            && let Err(error) = core_dumps::disable()
        {
            return Err(Failure::Other(format!("cannot turn core dumps off: {error}").into()));
        }
        let hasher = Hasher::start(foundation.bcrypt_cost, foundation.engine)
            .map_err(|error| Failure::Other(Box::new(error)))?;
        let store = store::open(&foundation.store_url).await?;
        metrics::register(&hasher, &store);
        tracing::info!(
            signs = keyring.signing_kid(),
            accepts = ?keyring.kids().collect::<Vec<_>>(),
            "the keys of access tokens"
        );
        let tokens = Tokens::new(keyring, Arc::new(SystemClock));
        let (policy, initial_password) = (foundation.policy, foundation.initial_password);
        let accounts =
            Accounts::new(Arc::clone(&store), hasher, tokens.clone(), policy, initial_password)
                .map_err(|error| Failure::Other(Box::new(error)))?;
        accounts.seed_admin(&foundation.admin_password).await.map_err(|error| match error {
            SeedError::PasswordMissing | SeedError::PasswordInvalid(_) => {
                SettingError::new("DEFAULT_ADMIN_PASSWORD", error.to_string()).into()
            }
            other => Failure::Other(Box::new(other)),
        })?;
        let trusted = foundation.trusted_gateways;
        let grpc = AuthServiceServer::new(AuthGrpc::new(accounts, trusted.clone()))
            .max_decoding_message_size(LARGEST_MESSAGE);
        let server = GrpcServer::new(Routes::new(grpc), SERVICE_NAME, AUTH_DESCRIPTORS).await;
        let server = server.trusting(&trusted);
        Ok(Self { server, store, keys: foundation.keys, tokens })
    }

    /// Reads the keys of access tokens again. What cannot be read, or is no key, changes nothing.
    pub fn read_keys_again(&self) {
        if !self.keys.is_reloadable() {
            tracing::warn!(
                "the keys of access tokens stay: they are values of the environment, not files"
            );
            return;
        }
        match self.keys.read() {
            Ok(keyring) => self.tokens.replace_keys(keyring),
            Err(error) => {
                tracing::error!(%error, "the keys of access tokens stay as they were");
            }
        }
    }

    /// Serves calls from `connections` until `shutdown` says stop and what is in flight is finished.
    pub async fn serve(&self, connections: Connections, shutdown: Shutdown) -> Result<(), Failure> {
        self.server.serve(connections, shutdown).await
    }

    /// Keeps `readiness` and the gRPC health service true to the store: see
    /// [`GrpcServer::monitor_store`].
    pub async fn monitor_store(
        &self,
        readiness: Readiness,
        shutdown: &Shutdown,
        last_call: &Shutdown,
    ) {
        self.server.monitor_store(|| self.store.ping(), readiness, shutdown, last_call).await;
    }

    /// Closes the store. Nothing is served any more.
    pub async fn close(&self) {
        self.store.close().await;
    }
}

impl std::fmt::Debug for AuthService {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("AuthService").finish_non_exhaustive()
    }
}
