//! Checks that no request fails when a replica is replaced behind a load balancer that watches `/readyz`.

use e2e::{
    Api, Process, TcpProxy, TestSetup, eventually, for_split_deployments, for_two_deployments,
    proof,
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};
use tokio::task::JoinHandle;

for_two_deployments!(replacing_the_gateway_fails_no_request);
for_split_deployments!(replacing_auth_service_fails_no_request);

/// The lame-duck time, in which the load balancer notices. Each test waits until it is over.
const LAME_DUCK_SECONDS: &str = "8";

/// Clients that send one request after the other until they are stopped.
struct Clients {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    tasks: Vec<JoinHandle<()>>,
}

impl Clients {
    fn start(api: &Api) -> Self {
        let (stop, answered) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicUsize::new(0)),
        );
        let tasks = (0..8)
            .map(|_| {
                let (api, stop, answered) = (api.clone(), Arc::clone(&stop), Arc::clone(&answered));
                tokio::spawn(async move {
                    while !stop.load(Relaxed) {
                        api.get("/admin").await.expect_message("Welcome Admin!");
                        answered.fetch_add(1, Relaxed);
                    }
                })
            })
            .collect();
        Self {
            stop,
            answered,
            tasks,
        }
    }

    async fn wait_for_responses(&self) {
        let before = self.answered.load(Relaxed);
        eventually("more responses", async || {
            let failed = self.tasks.iter().any(JoinHandle::is_finished);
            (failed || self.answered.load(Relaxed) > before + 50).then_some(())
        })
        .await;
    }

    async fn stop(self) {
        self.stop.store(true, Relaxed);
        let mut failed = 0;
        for task in self.tasks {
            // The panic of a client is printed, so it is only counted here.
            failed += usize::from(task.await.is_err());
        }
        assert_eq!(failed, 0, "every request was answered with success");
        let tried = [
            ("replacements", 1),
            ("requests meanwhile", self.answered.load(Relaxed)),
        ];
        proof("restart", &tried, &[("failed", failed)]);
    }
}

/// Replaces a program as an orchestrator and a load balancer do.
async fn replace(old: Process, new: &Process, proxy: &TcpProxy, listener: &str) {
    new.wait_for_readiness(200).await;
    old.terminate();
    old.wait_for_readiness(503).await;
    proxy.retarget(new.socket_address(listener));
    let exit = old.exit().await;
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
}

async fn replacing_the_gateway_fails_no_request(setup: TestSetup) {
    let mut app = setup
        .with("LAME_DUCK_SECONDS", LAME_DUCK_SECONDS)
        .start()
        .await;
    let admin = app.admin().await;
    let proxy = TcpProxy::to(app.gateway().socket_address("bearer"));
    let base = format!("http://{}", proxy.address());
    let clients = Clients::start(&Api::at(&base).with_token(&admin.token));
    clients.wait_for_responses().await;
    let old = app.start_second_gateway().await;
    replace(old, app.gateway(), &proxy, "bearer").await;
    clients.wait_for_responses().await;
    clients.stop().await;
}

async fn replacing_auth_service_fails_no_request(setup: TestSetup) {
    let mut app = setup
        .with("LAME_DUCK_SECONDS", LAME_DUCK_SECONDS)
        .start()
        .await;
    let admin = app.admin().await;
    let clients = Clients::start(&app.bearer.with_token(&admin.token));
    clients.wait_for_responses().await;
    let old = app.start_second_auth().await;
    let (new, proxy) = app.auth_and_proxy();
    replace(old, new, proxy, "grpc").await;
    clients.wait_for_responses().await;
    clients.stop().await;
}
