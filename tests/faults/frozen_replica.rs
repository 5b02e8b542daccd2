//! One of two auth-services is frozen: decisions go on at the other.

use e2e::{
    ADMIN_PASSWORD, Api, Process, Program, Store, TestDatabase, TestSetup, TestUser, eventually,
};
use std::{
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// For a decision while a replica is frozen.
const MAX_DURATION: Duration = Duration::from_millis(1500);

struct TwoReplicas {
    replicas: [Process; 2],
    _gateway: Process,
    admin: Api,
    _folder: TempDir,
    _database: TestDatabase,
}

impl TwoReplicas {
    async fn start() -> Self {
        let setup = TestSetup::split(Store::Postgres);
        let (database, folder) = (TestDatabase::create(setup.store()).await, tempfile::tempdir());
        let folder = folder.expect("a temporary folder");
        let replica = async |address: String| {
            let mut settings = setup.auth_settings(&database.url());
            settings.insert("AUTH_LISTEN_ADDR".to_owned(), address);
            Process::start(setup.auth_program(), &settings, folder.path()).ready().await
        };
        // A name has addresses and one port.
        let first = replica("127.0.0.2:0".to_owned()).await;
        let port = first.socket_address("grpc").port();
        let second = replica(format!("127.0.0.3:{port}")).await;
        let hosts = folder.path().join("hosts");
        fs::write(&hosts, "127.0.0.2 auth.test\n127.0.0.3 auth.test\n").expect("a writable folder");
        let mut settings = setup.gateway_settings(first.socket_address("grpc"), None);
        settings.insert("AUTH_SERVICE_URL".to_owned(), format!("http://auth.test:{port}"));
        let gateway = Process::start_with_hosts(Program::Gateway, &settings, folder.path(), &hosts);
        let gateway = gateway.ready().await;
        let bearer = Api::at(&gateway.address("bearer"));
        let admin = TestUser::log_in(&bearer, "admin", ADMIN_PASSWORD).await;
        let admin = bearer.with_token(&admin.token);
        let replicas = [first, second];
        Self { replicas, _gateway: gateway, admin, _folder: folder, _database: database }
    }

    /// Waits until a replica answers more decisions.
    async fn wait_for_decisions(&self, replica: usize) {
        let before = decisions(&self.replicas[replica]).await;
        eventually("decisions of a replica", async || {
            (decisions(&self.replicas[replica]).await > before).then_some(())
        })
        .await;
    }
}

/// Calls with decisions that a replica answered.
async fn decisions(replica: &Process) -> u64 {
    let metrics = Api::at(&replica.address("ops")).get("/metrics").await;
    let is_decision = |line: &&str| {
        line.starts_with("rolegate_grpc_requests_total") && line.contains(r#"Authorize""#)
    };
    let count = |line: &str| line.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok());
    metrics.body.lines().filter(is_decision).filter_map(count).sum()
}

/// Clients that send one request after the other.
struct Clients {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    longest: Arc<Mutex<Duration>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Clients {
    fn start(admin: &Api) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let (answered, longest) =
            (Arc::<AtomicUsize>::default(), Arc::<Mutex<Duration>>::default());
        let client = |_| {
            let (stop, answered, longest) = (stop.clone(), answered.clone(), longest.clone());
            let admin = admin.clone();
            tokio::spawn(async move {
                while !stop.load(Relaxed) {
                    let started = Instant::now();
                    admin.get("/admin").await.expect_message("Welcome Admin!");
                    let mut longest = longest.lock().expect("no panic");
                    *longest = started.elapsed().max(*longest);
                    answered.fetch_add(1, Relaxed);
                }
            })
        };
        let tasks = (0..16).map(client).collect();
        Self { stop, answered, longest, tasks }
    }

    async fn wait_for_responses(&self, count: usize) {
        let before = self.answered.load(Relaxed);
        eventually("responses", async || {
            let failed = self.tasks.iter().any(JoinHandle::is_finished);
            (failed || self.answered.load(Relaxed) >= before + count).then_some(())
        })
        .await;
    }

    /// The longest request since the last question.
    fn take_longest(&self) -> Duration {
        std::mem::take(&mut *self.longest.lock().expect("no panic"))
    }

    /// Waits for the requests in flight.
    async fn stop(&mut self) {
        self.stop.store(true, Relaxed);
        for task in self.tasks.drain(..) {
            task.await.expect("every decision was made");
        }
    }
}

#[tokio::test]
async fn no_decision_fails_or_waits_while_one_of_two_replicas_is_frozen() {
    let deployment = TwoReplicas::start().await;
    let mut clients = Clients::start(&deployment.admin);
    for replica in 0..2 {
        deployment.wait_for_decisions(replica).await;
    }
    clients.wait_for_responses(500).await;
    let usual = clients.take_longest();
    deployment.replicas[0].freeze();
    clients.wait_for_responses(1000).await;
    clients.stop().await;
    let longest = clients.take_longest();
    // Leaves room for pauses that this machine makes by itself.
    assert!(longest <= MAX_DURATION + 2 * usual, "{longest:?}; before the freeze {usual:?}");
    deployment.replicas[0].thaw();
    let mut clients = Clients::start(&deployment.admin);
    deployment.wait_for_decisions(0).await;
    clients.stop().await;
}
