//! Builds the service from its configuration, for the program `auth-service` and for rolegate.
//!
//! [`AuthService::open`] reads keys and files, opens and migrates the database, checks that the
//! settings fit the stored users, and creates the user `admin` if there is none. It binds no
//! socket: the caller serves [`AuthService::server`]. [`AuthService::reload`] reads keys and the
//! blocklist again after SIGHUP.

use crate::{
    accounts::{AccountError, AdminPassword, InitialPassword, Policy, SeedError, Services, Users},
    grpc::AuthGrpc,
    metrics,
    password::{BlocklistFile, Hasher, Peppers},
    roles::Roles,
    second_factor::{Mode, SecondFactorPolicy},
    store::{self, UserStore},
    tokens::{self, AccessTokens, KeySource},
};
use rolegate_grpc_server::GrpcServer;
use rolegate_program::{
    cidr_set::CidrSet, failure::Failure, logs::error_chain, settings::SettingError,
};
use rolegate_proto::{AUTH_DESCRIPTORS, SERVICE_NAME};
use rolegate_sign_in::sign_in::SignIn;
use rolegate_sql_store::{Backoff, DatabaseUrl};
use std::{path::PathBuf, pin::Pin, sync::Arc, thread};
use tokio::task::spawn_blocking;

/// Everything that the service needs to start; the settings are already parsed and checked.
pub struct Config {
    pub(crate) database: DatabaseUrl,
    pub(crate) keys: KeySource,
    /// The source of the password for a new user `admin`.
    pub admin_password: AdminPassword,
    /// The file with a generated password of `admin`, which is removed when `admin` gets another
    /// password.
    pub initial_password: InitialPassword,
    /// The bcrypt cost of new password hashes, as a base-2 logarithm of the rounds.
    pub(crate) bcrypt_cost: u32,
    pub(crate) peppers: Peppers,
    pub(crate) engine: rolegate_bcrypt_lanes::Settings,
    pub(crate) policy: Policy,
    pub(crate) blocklist: Option<PathBuf>,
    /// The networks of callers whose request ids, client addresses and traces are accepted.
    pub(crate) trusted_gateways: CidrSet,
    /// The settings of the sign-in page for applications behind Envoy; `None` if people cannot sign
    /// in there.
    pub(crate) sign_in: Option<SignIn>,
    /// The DNS names in client certificates of services that may follow the changes of users.
    pub(crate) watchers: Vec<String>,
    /// The age, in days, after which rows of the record are removed.
    pub(crate) audit_retention_days: u32,
}

/// The service, ready to be served: its database is migrated, and the user `admin` exists.
pub struct AuthService {
    /// Serves the calls, and closes the store when it stops.
    pub server: GrpcServer,
    keys: KeySource,
    tokens: AccessTokens,
    blocklist: Option<Arc<BlocklistFile>>,
}

impl AuthService {
    /// Reads keys and files, opens the database, migrates it, and creates the user `admin` if there
    /// is none. Waits for a PostgreSQL that does not accept connections yet. Fails if the settings
    /// do not fit the stored users. Binds no socket.
    #[must_use]
    pub fn open(config: Config) -> Pin<Box<dyn Future<Output = Result<Self, Failure>>>> {
        // The future is boxed, so that crates that call this function do not compile the service
        // again.
        Box::pin(Self::start(config))
    }

    async fn start(config: Config) -> Result<Self, Failure> {
        let keyring = config.keys.read()?;
        let blocklist = match config.blocklist {
            Some(path) => {
                let blocklist = spawn_blocking(move || BlocklistFile::load(&path)).await??;
                blocklist.log();
                Some(Arc::new(blocklist))
            }
            None => None,
        };
        let mut policy = config.policy;
        policy.passwords.blocklist.clone_from(&blocklist);
        if !tokens::self_test() {
            return Err("the HS256 self-test of RFC 7515 failed".into());
        }
        let hasher = Hasher::start(config.bcrypt_cost, config.engine, config.peppers)?;
        let store = store::open(&config.database).await?;
        register_metrics(&hasher, &store);
        raise_failed_check_cost(&hasher, &store).await;
        check_roles(&policy.roles, &store).await?;
        tracing::info!(
            signing = keyring.signing_kid(),
            accepted = ?keyring.kids().collect::<Vec<_>>(),
            "loaded the keys of access tokens"
        );
        check_second_factors(&policy.second_factor, &store).await?;
        let tokens = AccessTokens::new(keyring);
        let services = Services::new(
            Arc::clone(&store),
            hasher,
            tokens.clone(),
            policy,
            config.initial_password,
        )?;
        seed(&services.users, &config.admin_password).await?;
        services
            .record
            .start_maintenance(config.audit_retention_days);
        let end_of_watches = services.record.end_of_watches();
        let recorder = services.recorder.clone();
        let calls = AuthGrpc::new(services, config.sign_in, config.watchers);
        let methods = AuthGrpc::methods().bind(calls);
        let mut server = GrpcServer::new(
            methods,
            SERVICE_NAME,
            AUTH_DESCRIPTORS,
            config.trusted_gateways,
            store,
        )
        .await;
        server.end_of_streams = end_of_watches;
        server.before_close = Box::new(move || recorder.record_refusal_count());
        Ok(Self {
            server,
            keys: config.keys,
            tokens,
            blocklist,
        })
    }

    /// Reads the files again after SIGHUP: the keys of access tokens at once, and the blocklist of
    /// passwords in the background. If a file cannot be read, the error is logged and its previous
    /// content stays in use.
    pub fn reload(&self) {
        if let Some(blocklist) = self.blocklist.clone() {
            // This is a thread and not a blocking task of tokio, because the program would wait for
            // such a task before it exits.
            let thread = thread::Builder::new().name("blocklist".to_owned());
            if let Err(error) = thread.spawn(move || blocklist.reload()) {
                tracing::error!(%error, "cannot reload the blocklist of passwords; keeping the old one");
            }
        }
        self.reload_keys();
    }

    fn reload_keys(&self) {
        if !self.keys.is_reloadable() {
            tracing::warn!("cannot reload the keys of access tokens: no file contains them");
            return;
        }
        match self.keys.read() {
            Ok(keyring) => {
                tracing::info!("read {}", self.keys.describe());
                self.tokens.replace_keys(keyring);
            }
            Err(error) => {
                tracing::error!(%error, "cannot reload the keys of access tokens; keeping the old ones");
            }
        }
    }
}

fn register_metrics(hasher: &Hasher, store: &Arc<UserStore>) {
    let engine = hasher.clone();
    metrics::register(move || engine.stats());
    rolegate_sql_store::register_metrics(store::NAME, store);
}

/// Refuses to start if a user or an API key has a role that the settings do not contain, or if a group
/// has the name of a role. If the stored names cannot be read, only a warning is logged.
async fn check_roles(roles: &Roles, store: &UserStore) -> Result<(), Failure> {
    match store.roles_in_use().await {
        Ok(in_use) => roles.check(in_use)?,
        Err(error) => tracing::warn!(%error, "cannot read which roles users have"),
    }
    match store.existing_groups(&roles.extra_names()).await {
        Ok(names) => roles.check_groups(&names)?,
        Err(error) => tracing::warn!(%error, "cannot read which groups exist"),
    }
    Ok(())
}

/// Makes a failed login for an unknown name take as long as one for a known name, even after the
/// bcrypt cost was lowered. It reads the highest stored cost from the database. If this read fails,
/// it logs a warning, and the hasher learns higher costs when users log in.
async fn raise_failed_check_cost(hasher: &Hasher, store: &UserStore) {
    match store.highest_password_cost().await {
        Ok(Some(cost)) => hasher.raise_failed_check_cost(cost),
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "cannot read the costs of the stored passwords"),
    }
}

/// Refuses to start if the second factor of a user could be bypassed or not verified. Waits while
/// the database is unavailable.
async fn check_second_factors(
    policy: &SecondFactorPolicy,
    store: &UserStore,
) -> Result<(), Failure> {
    if policy.mode != Mode::Off && policy.keys.is_none() {
        tracing::info!(
            "users cannot turn on a second factor, because SECOND_FACTOR_KEY is not set"
        );
    }
    let mut backoff = Backoff::default();
    loop {
        match store.second_factor_key_ids().await {
            Err(error) if error.is_transient() => {
                tracing::warn!(
                    error = error_chain(&error),
                    "waiting for the database: cannot read who has a second factor"
                );
            }
            key_ids => return Ok(policy.check_stored(&key_ids?)?),
        }
        backoff.wait().await;
    }
}

/// Creates the user `admin` if there is none. Retries while the store is unavailable, with a log
/// line each time.
async fn seed(users: &Users, password: &AdminPassword) -> Result<(), Failure> {
    let mut backoff = Backoff::default();
    loop {
        match users.seed_admin(password).await {
            Err(SeedError::Account(AccountError::Store(error))) if error.is_transient() => {
                tracing::warn!(
                    error = error_chain(&error),
                    "waiting for the database: cannot create the user admin yet"
                );
            }
            Err(SeedError::Password(problem)) => {
                return Err(SettingError::new("DEFAULT_ADMIN_PASSWORD", problem).into());
            }
            outcome => return Ok(outcome?),
        }
        backoff.wait().await;
    }
}
