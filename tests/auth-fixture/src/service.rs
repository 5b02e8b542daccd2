//! Starts auth-service on a database in a folder of its own.

use crate::{calls::Calls, layer::observe};
use clap::{Args as _, Command, FromArgMatches as _};
use rolegate_auth_client::{AuthClient, BalancedChannel, Stream};
use rolegate_auth_service::{AuthService, settings::ServiceSettings};
use rolegate_grpc_server::{InMemoryCallers, InMemoryStreams};
use rolegate_http_server::readiness::Readiness;
use rolegate_program::{
    cidr_set::CidrSet, failure::Failure, settings::SettingError, shutdown::Shutdown,
};
use rolegate_sql_store::DatabaseUrl;
use std::{
    io,
    path::Path,
    sync::Arc,
    thread::{self, JoinHandle},
};
use tempfile::TempDir;
use tokio::{
    io::{DuplexStream, duplex},
    join,
    runtime::Builder,
    sync::{mpsc, oneshot},
};

/// The maximum number of bytes in flight in each direction.
const BUFFER_SIZE: usize = 256 * 1024;

/// The settings that every test needs. A password hash of this cost takes about a millisecond.
const FLAGS: [&str; 4] = [
    "--signing-secret=signing secret of the tests of clients",
    "--second-factor-key=second-factor key of the tests of clients",
    "--extra-roles=editor",
    "--bcrypt-threads=1",
];
const BCRYPT_COST: u32 = 4;

/// A running auth-service. It has a thread of its own, and stops when this value and its clients are dropped.
pub struct AuthFixture {
    /// The calls that the service receives.
    pub calls: Calls,
    connector: Arc<Connector>,
}

/// Opens connections to a service.
struct Connector {
    streams: mpsc::Sender<io::Result<DuplexStream>>,
    /// Stops the service when it is dropped.
    _running: oneshot::Sender<()>,
}

impl AuthFixture {
    /// Starts a service on the database in a folder, with these flags besides those that every test needs. Returns its
    /// thread, too, which returns the folder after the service has stopped.
    pub(crate) fn start(folder: TempDir, flags: &[&str]) -> (Self, JoinHandle<TempDir>) {
        let calls = Calls::default();
        let (sender, streams) = mpsc::channel(1);
        let (running, stopped) = oneshot::channel::<()>();
        let settings = settings(flags);
        let observer = calls.clone();
        let thread = thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build();
            let service = serve(&settings, folder.path(), &observer, streams, stopped);
            runtime
                .and_then(|runtime| runtime.block_on(service).map_err(io::Error::other))
                .expect("the service runs");
            folder
        });
        let connector = Arc::new(Connector {
            streams: sender,
            _running: running,
        });
        (Self { calls, connector }, thread)
    }

    /// Returns a new client of the service. The caller must be inside a tokio runtime.
    #[must_use]
    pub fn client(&self) -> AuthClient {
        let connector = Arc::clone(&self.connector);
        let channel = BalancedChannel::with_connector(AuthClient::SERVICE, move || {
            let connector = Arc::clone(&connector);
            async move { connector.connect().await }
        });
        AuthClient::new(channel.clone(), channel)
    }
}

impl Connector {
    async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        let (near, far) = duplex(BUFFER_SIZE);
        let closed = |_| io::Error::from(io::ErrorKind::ConnectionRefused);
        self.streams.send(Ok(far)).await.map_err(closed)?;
        Ok(Box::new(near))
    }
}

/// Parses flags, without the variables of the environment.
fn settings(flags: &[&str]) -> ServiceSettings {
    let command = ServiceSettings::augment_args(Command::new("auth-service"));
    let matches = command
        .mut_args(|flag| flag.env(None))
        .try_get_matches_from(["auth-service"].iter().chain(&FLAGS).chain(flags));
    let mut settings =
        ServiceSettings::from_arg_matches(&matches.expect("flags")).expect("settings");
    settings.bcrypt_cost = BCRYPT_COST;
    settings
}

/// Serves until the clients are dropped.
async fn serve(
    settings: &ServiceSettings,
    folder: &Path,
    calls: &Calls,
    streams: InMemoryStreams,
    stopped: oneshot::Receiver<()>,
) -> Result<(), Failure> {
    let keys = settings.key_source(|| Err(SettingError::new("SIGNING_SECRET", "is required")))?;
    let database = DatabaseUrl::from_file("DATABASE_URL", folder.join("users.db"));
    let config = settings.config(database, keys, CidrSet::default())?;
    let mut service = AuthService::open(config).await?;
    observe(&mut service.server, calls);
    let shutdown = Shutdown::new();
    let callers = InMemoryCallers {
        streams,
        shutdown: shutdown.clone(),
    };
    let readiness = Readiness::new(&shutdown);
    let stop = async {
        // The sender is never used, so this ends when it is dropped with the clients.
        let _ = stopped.await;
        shutdown.stop_now();
    };
    let (outcome, ()) = join!(
        service
            .server
            .serve(None, Some(callers), readiness, &shutdown),
        stop
    );
    outcome
}
