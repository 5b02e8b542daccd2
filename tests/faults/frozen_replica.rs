//! Tests two auth-services of which one is frozen: the other makes the decisions.

use e2e::{
    ADMIN_PASSWORD, Api, Process, Replicas, Store, TestSetup, TestUser, answered_calls, eventually,
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinHandle;

/// The longest time for a decision while a replica is frozen.
const MAX_DURATION: Duration = Duration::from_millis(1500);

struct TwoReplicas {
    replicas: Replicas,
    _gateway: Process,
    admin: Api,
}

impl TwoReplicas {
    async fn start() -> Self {
        let replicas = Replicas::start(TestSetup::split(Store::Postgres), 2).await;
        let gateway = replicas.gateway().await;
        let bearer = Api::at(&gateway.address("bearer"));
        let admin = TestUser::log_in(&bearer, "admin", ADMIN_PASSWORD).await;
        let admin = bearer.with_token(&admin.token);
        Self {
            replicas,
            _gateway: gateway,
            admin,
        }
    }

    /// Waits until a replica has answered more decisions than before.
    async fn wait_for_decisions(&self, replica: usize) {
        let decisions = || answered_calls(&self.replicas.auths[replica], "Authorize");
        let before = decisions().await;
        eventually("decisions of a replica", async || {
            (decisions().await > before).then_some(())
        })
        .await;
    }
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
        let (answered, longest) = (
            Arc::<AtomicUsize>::default(),
            Arc::<Mutex<Duration>>::default(),
        );
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
        Self {
            stop,
            answered,
            longest,
            tasks,
        }
    }

    async fn wait_for_responses(&self, count: usize) {
        let before = self.answered.load(Relaxed);
        eventually("responses", async || {
            let failed = self.tasks.iter().any(JoinHandle::is_finished);
            (failed || self.answered.load(Relaxed) >= before + count).then_some(())
        })
        .await;
    }

    /// Returns the duration of the longest request since the last call, and resets it.
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
    deployment.replicas.auths[0].freeze();
    clients.wait_for_responses(1000).await;
    clients.stop().await;
    let longest = clients.take_longest();
    // The addition leaves room for pauses that the machine makes even without a frozen replica.
    assert!(
        longest <= MAX_DURATION + 2 * usual,
        "{longest:?}; before the freeze {usual:?}"
    );
    deployment.replicas.auths[0].thaw();
    let mut clients = Clients::start(&deployment.admin);
    deployment.wait_for_decisions(0).await;
    clients.stop().await;
}
