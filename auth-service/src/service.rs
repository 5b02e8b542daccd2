//! The service as a library: opened, seeded, then served over one or more transports.

use crate::{
    accounts::{Accounts, AdminPassword, Policy, SeedError},
    clock::SystemClock,
    grpc::AuthGrpc,
    password::{Hasher, core_dumps},
    server::{Connections, GrpcServer},
    store::{self, StoreUrl, UserStore},
    token::{self, Keyring, Tokens},
};
use service_runtime::{
    networks::Networks, program::Failure, readiness::Readiness, settings::SettingError,
    shutdown::Shutdown,
};
use std::{sync::Arc, time::Duration};

/// How often the store is asked whether it answers.
const STORE_CHECK: Duration = Duration::from_secs(1);

/// What the service stands on.
#[derive(Debug)]
pub struct Foundation {
    /// Where users are kept.
    pub store_url: StoreUrl,
    /// The keys of access tokens.
    pub keyring: Keyring,
    /// Where the first admin's password comes from.
    pub admin_password: AdminPassword,
    /// Cost of new password hashes: base-2 logarithm of the rounds.
    pub bcrypt_cost: u32,
    /// Threads and lanes of the password engine.
    pub engine: bcrypt_lanes::Settings,
    /// The operator's decisions.
    pub policy: Policy,
    /// Callers whose word about the end user's address is believed.
    pub trusted_gateways: Networks,
}

/// The service, ready to be served: its store is open and up to date, its admin exists.
pub struct AuthService {
    server: GrpcServer,
    store: Arc<dyn UserStore>,
}

impl AuthService {
    /// Opens the store (waiting for a PostgreSQL that is not there yet), brings it up to date and
    /// seeds the admin. Binds nothing.
    pub async fn open(foundation: Foundation) -> Result<Self, Failure> {
        if !token::self_test() {
            return Err(Failure::Other("HS256 does not compute what RFC 7515 says it must".into()));
        }
        if !foundation.policy.basic_memory.is_zero()
            && let Err(error) = core_dumps::turn_off()
        {
            return Err(Failure::Other(format!("cannot turn core dumps off: {error}").into()));
        }
        let hasher = Hasher::start(foundation.bcrypt_cost, foundation.engine)
            .map_err(|error| Failure::Other(Box::new(error)))?;
        let store = store::open(&foundation.store_url).await.map_err(|error| {
            tracing::error!(store = %foundation.store_url, %error, "cannot open the store");
            Failure::Other(format!("cannot open {}: {error}", foundation.store_url).into())
        })?;
        let tokens = Tokens::new(foundation.keyring, Arc::new(SystemClock));
        let accounts = Accounts::new(Arc::clone(&store), hasher, tokens, foundation.policy)
            .map_err(|error| Failure::Other(Box::new(error)))?;
        accounts.seed_admin(&foundation.admin_password).await.map_err(|error| match error {
            SeedError::PasswordMissing | SeedError::PasswordInvalid(_) => {
                SettingError::new("DEFAULT_ADMIN_PASSWORD", error.to_string()).into()
            }
            other => Failure::Other(Box::new(other)),
        })?;
        let server = GrpcServer::new(AuthGrpc::new(accounts, foundation.trusted_gateways)).await;
        Ok(Self { server, store })
    }

    /// Serves calls from `connections` until `shutdown` says stop and what is in flight is finished.
    pub async fn serve(&self, connections: Connections, shutdown: Shutdown) -> Result<(), Failure> {
        self.server
            .serve(connections, shutdown)
            .await
            .map_err(|error| Failure::Other(Box::new(error)))
    }

    /// Keeps `readiness` and the gRPC health service true to the store, until it
    /// stops; in the lame-duck time neither is ready any more. Whoever watches the
    /// health is let go when `last_call` stops: the life of the last caller who is still served.
    pub async fn watch_store(
        &self,
        readiness: Readiness,
        shutdown: &Shutdown,
        last_call: &Shutdown,
    ) {
        let mut was_able = true;
        let mut lame_duck = std::pin::pin!(shutdown.lame_duck());
        loop {
            let answer = self.store.ping().await;
            let able = answer.is_ok();
            if let (Err(error), true) = (&answer, was_able) {
                tracing::error!(%error, "not ready: the store does not answer");
            } else if able && !was_able {
                tracing::info!("ready: the store answers again");
            }
            was_able = able;
            readiness.set_able(able);
            self.server.report(readiness.is_ready()).await;
            tokio::select! {
                () = &mut lame_duck => break,
                () = tokio::time::sleep(STORE_CHECK) => {}
            }
        }
        self.server.report(false).await;
        last_call.stopping().await;
        // Watchers wait for the next change for ever; told that there is none, they go, and the
        // server can end.
        self.server.forget().await;
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
